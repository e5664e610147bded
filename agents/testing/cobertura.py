"""Reads untrusted coverage reports in Cobertura's format, as coverage.py writes it."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agents.testing.junit import parse_number, parse_xml, to_repository_path
from domain.errors import ToolError
from domain.runs.testing import LAST_LINE, LONGEST_PATH, Coverage, FileCoverage

MOST_FILES = 20_000
MOST_LINES = 1_000_000
_MOST_SOURCES = 50
_BRANCHES = re.compile(r"\((\d{1,6})/(\d{1,6})\)", re.ASCII)


def parse(document: bytes, root: str, paths: Collection[str] = ()) -> Coverage:
    """The coverage of the files inside the repository. The report's own totals are not trusted but computed anew.

    :param root: absolute path of the folder that the tests ran in, as they saw it.
    :param paths: the files of the repository, if they are known; others are left out.
    :raises ToolError: it is not a Cobertura report, or is too large.
    """
    report = _Report(root, frozenset(paths))
    parse_xml(document, "The coverage report", report.start, report.end)
    return Coverage(files=tuple(file.to_coverage(path) for path, file in sorted(report.files.items())))


@dataclass
class _File:
    """What was read of one file so far; it may be spread over several classes."""

    hits: dict[int, bool] = field(default_factory=dict[int, bool])
    branches: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    functions: list[bool] = field(default_factory=list[bool])

    def to_coverage(self, path: str) -> FileCoverage:
        ran = sum(self.functions)
        return FileCoverage(
            path=path,
            covered=tuple(sorted(line for line, hit in self.hits.items() if hit)),
            missed=tuple(sorted(line for line, hit in self.hits.items() if not hit)),
            branches_covered=sum(covered for covered, _ in self.branches.values()),
            branches=sum(total for _, total in self.branches.values()),
            functions_covered=ran if self.functions else None,
            functions=len(self.functions) or None,
        )


class _Report:
    """What was read so far."""

    def __init__(self, root: str, paths: frozenset[str]) -> None:
        self.files: dict[str, _File] = {}
        self._root, self._paths = root, paths
        self._depth = 0
        self._lines = 0
        self._sources: list[str] = []
        self._file: _File | None = None
        self._in_function = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if not self._depth and name != "coverage":
            raise ToolError("The coverage report does not begin with the element coverage.")
        self._depth += 1
        if name == "class":
            self._file = self._find_file(attributes.get("filename", ""))
        elif name == "method" and self._file is not None:
            self._in_function = True
            self._file.functions.append(False)
            self._count()
        elif name == "line" and self._file is not None:
            self._add_line(self._file, attributes)

    def end(self, name: str, text: str) -> None:
        self._depth -= 1
        if name == "source" and len(self._sources) < _MOST_SOURCES:
            self._sources.append(text.strip())
        elif name == "class":
            self._file = None
        elif name == "method":
            self._in_function = False

    def _find_file(self, name: str) -> _File | None:
        """The file of a class; None if the repository has no such file."""
        path = self._path(name)
        if path is None:
            return None
        if path not in self.files and len(self.files) >= MOST_FILES:
            raise ToolError(f"The coverage report has more than {MOST_FILES:,} files.")
        return self.files.setdefault(path, _File())

    def _path(self, name: str) -> str | None:
        """The path of a file in the repository; its name is relative to one of the sources, not known which."""
        if not name:
            return None
        if name.startswith("/"):
            candidates = [name]
        else:
            candidates = [f"{source.rstrip('/')}/{name}" if source else name for source in self._sources] or [name]
        found = [
            path
            for path in (to_repository_path(each, self._root, LONGEST_PATH) for each in candidates)
            if path is not None
        ]
        if self._paths:
            found = [path for path in found if path in self._paths]
        return found[0] if found else None

    def _add_line(self, file: _File, attributes: Mapping[str, str]) -> None:
        line = parse_number(attributes.get("number"), LAST_LINE)
        if not line:
            return
        ran = attributes.get("hits", "0").strip("0") != "" and attributes.get("hits", "").isdecimal()
        if line not in file.hits:
            self._count()
        file.hits[line] = file.hits.get(line, False) or ran
        if self._in_function and ran:
            file.functions[-1] = True
        if attributes.get("branch") == "true" and (match := _BRANCHES.search(attributes.get("condition-coverage", ""))):
            covered, total = int(match[1]), int(match[2])
            if covered <= total:
                file.branches[line] = covered, total

    def _count(self) -> None:
        self._lines += 1
        if self._lines > MOST_LINES:
            raise ToolError(f"The coverage report has more than {MOST_LINES:,} lines and functions.")
