"""Reads untrusted reports of every form in which a runner says how each of its tests ended.

A file that could not be loaded is a case of its own, whose id is its path.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from agents.testing import junit
from agents.testing.junit import join_names, keep_ends, to_one_line, to_repository_path
from agents.testing.runners.json_reports import read_jest, read_mocha, read_node, read_rspec, read_trx
from agents.testing.runners.outcomes import Ended
from agents.testing.runners.printed import read_ava, read_cargo, read_go, read_minitest, read_tap
from agents.testing.runners.runner import ReportFormat
from domain.errors import ToolError
from domain.runs.testing import (
    LAST_LINE,
    LONGEST_DETAILS,
    LONGEST_ID,
    LONGEST_MESSAGE,
    LONGEST_PATH,
    TestCase,
    keep_worst,
)


@dataclass(frozen=True)
class RepositoryPlace:
    """Where the tests ran.

    :param root: absolute path of the repository, as they saw it.
    :param paths: the files of tests in it.
    :param sources: path → content, of those whose tests can only be found by their text.
    """

    root: str
    paths: Collection[str] = ()
    sources: Mapping[str, str] = field(default_factory=dict[str, str])


def parse(form: ReportFormat, document: bytes, place: RepositoryPlace) -> tuple[TestCase, ...]:
    """The tests of a report, each once, in its order.

    :raises ToolError: it is not of this form, or is too large.
    """
    if form == "junit":
        return keep_worst(_complete(case, place) for case in junit.parse(document, place.root))
    return keep_worst(_bound(_READERS[form](document, place.paths, place.sources), place))


_READERS: Mapping[str, Callable[[bytes, Collection[str], Mapping[str, str]], Iterator[Ended]]] = {
    "jest": lambda document, _paths, _sources: read_jest(document),
    "mocha": lambda document, _paths, _sources: read_mocha(document),
    "node": lambda document, _paths, _sources: read_node(document),
    "rspec": lambda document, _paths, _sources: read_rspec(document),
    "trx": lambda document, _paths, _sources: read_trx(document),
    "go": read_go,
    "cargo": read_cargo,
    "minitest": read_minitest,
    "ava": lambda document, _paths, _sources: read_ava(document),
    "tap": lambda document, _paths, _sources: read_tap(document),
}


def _bound(ended: Iterator[Ended], place: RepositoryPlace) -> Iterator[TestCase]:
    """The cases, with everything in them made short and harmless."""
    names, texts = junit.Room(junit.MOST_NAMES), junit.Room(junit.MOST_TEXTS)
    for count, each in enumerate(ended):
        if count >= junit.MOST_CASES:
            raise ToolError(f"The report has more than {junit.MOST_CASES:,} tests.")
        path = to_repository_path(each.path, place.root, LONGEST_PATH) if each.path else None
        identity = join_names((path or "", *each.names), LONGEST_ID)
        if not names.takes(identity + (path or "")):
            raise ToolError(f"The names in the report take more than {junit.MOST_NAMES:,} bytes.")
        said = each.message.strip() or next(iter(each.details.strip().splitlines()), "")
        message, details = to_one_line(said, LONGEST_MESSAGE), keep_ends(each.details, LONGEST_DETAILS)
        yield _complete(
            TestCase(
                id=identity,
                path=path,
                line=each.line if each.line and 0 < each.line <= LAST_LINE else None,
                outcome=each.outcome,
                message=message if texts.takes(message) else "",
                details=details if texts.takes(details) else "",
            ),
            place,
        )


def _complete(case: TestCase, place: RepositoryPlace) -> TestCase:
    """The case with the path of its file, where its report names only a class or the end of the path."""
    if case.path in place.paths or (case.path is None and "::" not in case.id):
        return case
    group = case.path or case.id.partition("::")[0]
    ends = [group] if case.path else _list_ends(group)
    for end in ends:
        found = [path for path in place.paths if path == end or f"/{path}".endswith(f"/{end}")]
        if len(found) == 1:
            rest = case.id.removeprefix(f"{case.path}::") if case.path else case.id
            return case.model_copy(update={"path": found[0], "id": keep_ends(f"{found[0]}::{rest}", LONGEST_ID)})
    return case


def _list_ends(group: str) -> list[str]:
    """The ends of paths at which a class may stand: its whole name as folders, then only its last part."""
    outer = re.split(r"[$+]", group)[0].replace(".", "/")
    whole = [f"{outer}.{kind}" for kind in ("java", "kt", "groovy", "scala")]
    return [*whole, *(f"{PurePosixPath(outer).name}.{kind}" for kind in ("java", "kt", "scala", "cs", "fs", "vb"))]
