"""Reads untrusted JUnit reports: their size is bounded, and their paths stay inside the repository.

There is no standard. It accepts what pytest, unittest-xml-reporting, jest-junit, vitest, Node's runner,
go-junit-report, gotestsum, cargo-nextest and Surefire write.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from xml.parsers import expat

from domain.errors import ToolError
from domain.runs.testing import (
    LAST_LINE,
    LONGEST_DETAILS,
    LONGEST_ID,
    LONGEST_MESSAGE,
    LONGEST_PATH,
    LONGEST_RUN,
    CaseOutcome,
    TestCase,
    keep_worst,
)

MOST_BYTES = 16_000_000
_DEEPEST = 64
_MOST_ELEMENTS = 3_000_000
_KEPT = 10_000  # characters of one element's text, from its beginning and from its end
Start = Callable[[str, Mapping[str, str]], None]
End = Callable[[str, str], None]
_TERMINAL = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]?|#x1B\[[0-9;]*m")

MOST_CASES = 20_000
MOST_NAMES = 12_000_000  # bytes of all names together, as JSON
MOST_TEXTS = 10_000_000  # of all messages and details

_OUTCOMES = {"failure": CaseOutcome.failed, "error": CaseOutcome.error, "skipped": CaseOutcome.skipped}
_EXPECTED = frozenset({"pytest.xfail", "unittest.expectedFailure"})
"""The types of what is reported as skipped, and ran: it failed, as its author expects."""
_WEIGHT = {CaseOutcome.passed: 0, CaseOutcome.skipped: 1, CaseOutcome.error: 2, CaseOutcome.failed: 3}
_LOOKS_LIKE_A_FILE = re.compile(r"[^\s:]*[^\s:/]\.(py|[cm]?[jt]sx?|go|rs|java|kt|rb|php|bats)")


def parse(document: bytes, root: str) -> tuple[TestCase, ...]:
    """The tests of a report, each once, in its order.

    :param root: absolute path of the folder that the tests ran in, as they saw it.
    :raises ToolError: it is not a JUnit report, or is too large.
    """
    report = _Report(root)
    parse_xml(document, "The JUnit report", report.start, report.end)
    return keep_worst(report.cases)


@dataclass
class _Suite:
    name: str
    file: str


@dataclass
class _Case:
    """A test while its element is open."""

    attributes: Mapping[str, str]
    outcome: CaseOutcome = CaseOutcome.passed
    message: str = ""
    details: str = ""
    is_expected: bool = False


class _Report:
    """What was read so far."""

    def __init__(self, root: str) -> None:
        self.cases: list[TestCase] = []
        self._root = root
        self._depth = 0
        self._suites: list[_Suite] = []
        self._case: _Case | None = None
        self._result: tuple[CaseOutcome, str, bool] | None = None
        self._names, self._texts = Room(MOST_NAMES), Room(MOST_TEXTS)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if not self._depth and name not in {"testsuites", "testsuite"}:
            raise ToolError("The JUnit report does not begin with the element testsuites or testsuite.")
        self._depth += 1
        if name in {"testsuites", "testsuite"}:
            file = attributes.get("file") or attributes.get("filepath") or ""
            self._suites.append(_Suite(attributes.get("name", ""), file or self._file_above))
        elif name == "testcase":
            self._case = _Case(attributes)
        elif name in _OUTCOMES and self._case is not None:
            said = attributes.get("message") or attributes.get("type") or ""
            self._result = _OUTCOMES[name], said, name == "skipped" and attributes.get("type") in _EXPECTED

    def end(self, name: str, text: str) -> None:
        self._depth -= 1
        if name in {"testsuites", "testsuite"} and self._suites:
            self._suites.pop()
        elif name == "testcase" and self._case is not None:
            self._close(self._case)
            self._case = None
        elif name in _OUTCOMES and self._case is not None and self._result is not None:
            self._note(self._case, *self._result, text)
            self._result = None

    @property
    def _file_above(self) -> str:
        return self._suites[-1].file if self._suites else ""

    def _note(self, case: _Case, outcome: CaseOutcome, said: str, is_expected: bool, text: str) -> None:
        """Keep the worst outcome reported for a test."""
        if _WEIGHT[outcome] > _WEIGHT[case.outcome]:
            case.outcome, case.is_expected = outcome, is_expected
            case.message = said or text.strip().partition("\n")[0]
            case.details = text

    def _close(self, case: _Case) -> None:
        if len(self.cases) >= MOST_CASES:
            raise ToolError(f"The JUnit report has more than {MOST_CASES:,} tests.")
        suite = self._suites[-1] if self._suites else _Suite("", "")
        path = self._path(case.attributes, suite)
        identity = _identity(case.attributes, suite, path)
        if not self._names.takes(identity + (path or "")):
            raise ToolError(f"The names in the JUnit report take more than {MOST_NAMES:,} bytes.")
        message, details = to_one_line(case.message, LONGEST_MESSAGE), keep_ends(case.details, LONGEST_DETAILS)
        self.cases.append(
            TestCase(
                id=identity,
                path=path,
                line=_line(case.attributes, suite),
                outcome=case.outcome,
                is_expected=case.is_expected,
                seconds=_seconds(case.attributes.get("time", "")),
                message=message if self._texts.takes(message) else "",
                details=details if self._texts.takes(details) else "",
            )
        )

    def _path(self, attributes: Mapping[str, str], suite: _Suite) -> str | None:
        named = attributes.get("file") or suite.file
        likely = [each for each in (attributes.get("classname", ""), suite.name) if _LOOKS_LIKE_A_FILE.fullmatch(each)]
        name = named or next(iter(likely), "")
        return to_repository_path(name, self._root, LONGEST_PATH) if name else None


class Room:
    """The room left in the answer of a worker.

    :param left: bytes.
    """

    def __init__(self, left: int) -> None:
        self._left = left

    def takes(self, text: str) -> bool:
        """Whether this text fits; if so, it uses up its part of the room."""
        size = len(json.dumps(text))
        if size > self._left:
            return False
        self._left -= size
        return True


def _identity(attributes: Mapping[str, str], suite: _Suite, path: str | None) -> str:
    """A name of the test that is the same in every run: pytest's id for Python, otherwise all names there are."""
    group, name = attributes.get("classname", ""), attributes.get("name", "")
    module = path.removesuffix(".py").replace("/", ".") if path and path.endswith(".py") else None
    if path and module is not None and (group == module or group.startswith(module + ".")):
        parts = [path, *group[len(module) + 1 :].split("."), name]
    elif path:
        parts = [path, "" if group == path else group, name]
    else:
        parts = [group or suite.name, name]
    return join_names(parts, LONGEST_ID)


def _line(attributes: Mapping[str, str], suite: _Suite) -> int | None:
    """pytest counts lines from 0 (``_pytest.junitxml`` writes ``TestReport.location``), the others from 1."""
    line = parse_number(attributes.get("line"), LAST_LINE - 1)
    if line is None:
        return None
    return line + 1 if suite.name == "pytest" else line or None


def _seconds(text: str) -> float:
    """A plausible time; 0 for anything else. Surefire groups thousands by commas."""
    try:
        seconds = float(text[:40].replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and 0 <= seconds <= LONGEST_RUN else 0.0


def parse_xml(document: bytes, what: str, start: Start, end: End) -> None:
    """Walk through a document.

    :param what: how an error names it, e.g. ``The JUnit report``.
    :param start: called for each element as it opens, with its name (without a namespace) and its attributes.
    :param end: called for each element as it closes, with its name and the text directly in it.
    :raises ToolError: it is not XML, declares a document type, or is too large.
    """
    check_size(document, what)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    walk = _Walk(what, start, end)
    parser.StartElementHandler = walk.open_element
    parser.EndElementHandler = walk.close_element
    parser.CharacterDataHandler = walk.add_text
    parser.StartDoctypeDeclHandler = walk.refuse
    parser.EntityDeclHandler = walk.refuse
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        raise ToolError(
            f"{what} is not well-formed XML: {expat.ErrorString(error.code)}, line {error.lineno}."
        ) from None
    except (LookupError, ValueError):  # an encoding that Python does not have, or that expat cannot use
        raise ToolError(f"{what} is in an encoding that cannot be read.") from None


def check_size(document: bytes, what: str) -> None:
    """Refuse a document that is too large.

    :raises ToolError: it is.
    """
    if len(document) > MOST_BYTES:
        raise ToolError(f"{what} has {len(document):,} bytes; more than {MOST_BYTES:,} are not read.")


@dataclass
class _Open:
    name: str
    text: str = ""


class _Walk:
    """The state of a walk through a document."""

    def __init__(self, what: str, start: Start, end: End) -> None:
        self._what = what
        self._start, self._end = start, end
        self._open: list[_Open] = []
        self._elements = 0

    def open_element(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > _MOST_ELEMENTS:
            raise ToolError(f"{self._what} has more than {_MOST_ELEMENTS:,} elements.")
        if len(self._open) >= _DEEPEST:
            raise ToolError(f"{self._what} is nested more than {_DEEPEST} elements deep.")
        self._open.append(_Open(name.rpartition(":")[2]))
        self._start(self._open[-1].name, attributes)

    def close_element(self, name: str) -> None:
        element = self._open.pop()
        self._end(element.name, element.text)

    def add_text(self, text: str) -> None:
        element = self._open[-1]
        element.text += text
        if len(element.text) > 3 * _KEPT:
            element.text = f"{element.text[:_KEPT]}\n…\n{element.text[-_KEPT:]}"

    def refuse(self, *_: object) -> None:
        raise ToolError(f"{self._what} declares a document type or entities, which are never read.")


def to_one_line(text: str, limit: int) -> str:
    """The beginning of a text as one line of at most ``limit`` characters; invisible ones are escaped."""
    shown = _escape(" ".join(text[: 4 * limit].split()))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def keep_ends(text: str, limit: int) -> str:
    """Beginning and end of a text, at most ``limit`` characters; invisible ones are escaped, line breaks stay."""
    shown = _escape(_cut_middle(text.strip(), 4 * limit))
    return _cut_middle(shown, limit)


def join_names(names: Iterable[str], limit: int) -> str:
    """The id of a test of its names, on one line; those that differ in spaces only stay two tests."""
    whole = "::".join(filter(None, names))
    return keep_ends(re.sub(r"[^\S ]", " ", whole[:100_000]), limit) or "unnamed"


def _cut_middle(text: str, limit: int) -> str:
    half = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[:half]}…{text[-half:]}"


def _escape(text: str) -> str:
    if text.isprintable():
        return text
    plain = _TERMINAL.sub("", text)
    return "".join(char if char.isprintable() or char in "\n\t" else _escape_char(char) for char in plain)


def parse_number(text: str | None, most: int) -> int | None:
    """A whole number from 0 to ``most``; None for anything else."""
    if text is None or not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        return None
    value = int(text)
    return value if value <= most else None


def to_repository_path(path: str, root: str, longest: int) -> str | None:
    """The path relative to the repository; None if it leads elsewhere or is no valid name of a file.

    :param root: absolute path of the repository, as the program saw it.
    """
    name = path.removeprefix("file://").removeprefix(root.rstrip("/") + "/")
    if name.startswith(("/", "~")) or "\\" in name or ":" in name[:3] or not name.isprintable() or len(name) > longest:
        return None
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def _escape_char(char: str) -> str:
    return char.encode("unicode_escape").decode()
