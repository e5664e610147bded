"""Reads untrusted reports of every form in which a runner says how each of its tests ended.

A file that could not be loaded is a case of its own, whose id is its path.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated, TypeVar

from pydantic import Base64UrlBytes, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from agents.testing import junit
from agents.testing.junit import join_names, keep_ends, read_xml, to_one_line, to_repository_path
from agents.testing.runners.printed import Ended, read_ava, read_cargo, read_go, read_ruby, read_tap
from agents.testing.runners.runner import ReportFormat
from domain.errors import ToolError
from domain.runs.testing import (
    LAST_LINE,
    LONGEST_DETAILS,
    LONGEST_ID,
    LONGEST_MESSAGE,
    LONGEST_PATH,
    CaseOutcome,
    TestCase,
    keep_worst,
)
from domain.value import Value

_TRX_OUTCOMES = {"Passed": CaseOutcome.passed, "Failed": CaseOutcome.failed, "Error": CaseOutcome.error}


def read_trx(document: bytes) -> Iterator[Ended]:
    """The tests of .NET; the class of each is named apart from how it ended."""
    found = read_xml(document, "The report of dotnet", ("TestRun",), {"UnitTestResult", "UnitTest"})
    elements = [each for _, each in found]
    units = [each for each in elements if each.tag == "UnitTest"]
    classes = {each.get("id", ""): method.get("className", "") for each in units for method in each.iter("TestMethod")}
    for result in (each for each in elements if each.tag == "UnitTestResult"):
        group = classes.get(result.get("testId", ""), "").partition(",")[0]
        name = result.get("testName", "").removeprefix(f"{group}.")
        message, trace = (next((each.text or "" for each in result.iter(tag)), "") for tag in ("Message", "StackTrace"))
        outcome = _TRX_OUTCOMES.get(result.get("outcome", ""), CaseOutcome.skipped)
        at = re.search(r":line (\d{1,8})", trace)
        yield Ended("", (group, name), outcome, int(at[1]) if at else None, message, f"{message}\n{trace}".strip())


Form = TypeVar("Form", bound=BaseModel)
_OUTCOMES = {"passed": CaseOutcome.passed, "failed": CaseOutcome.failed}
_MOCHA_STARTS = b'{\n  "stats"'


def read_jest(document: bytes) -> Iterator[Ended]:
    """The tests of jest, and of vitest, which writes the same."""
    for file in _load(_JestReport, document).test_results:
        if file.status == "failed" and not any(test.status == "failed" for test in file.assertion_results):
            yield Ended(file.name, (), CaseOutcome.error, details=file.message or "")
        for test in file.assertion_results:
            details = "\n".join(test.failure_messages or ())
            line = int(test.location.line) if test.location is not None and test.location.line else None
            outcome = _OUTCOMES.get(test.status, CaseOutcome.skipped)
            yield Ended(file.name, (test.full_name,), outcome, line, details=details)


def read_mocha(document: bytes) -> Iterator[Ended]:
    """The tests of mocha, and its hooks that failed; what tests print may stand around a report that is printed."""
    start, end = document.rfind(_MOCHA_STARTS), document.rfind(b"\n}")
    report = _load(_MochaReport, document[start : end + 2] if 0 <= start < end else document)
    for tests, outcome in (
        (report.passes, CaseOutcome.passed),
        (report.pending, CaseOutcome.skipped),
        (report.failures, CaseOutcome.failed),
    ):
        for test in tests:
            said = test.err
            yield Ended(test.file or "", (test.full_title,), outcome, None, said.message or "", said.stack or "")


def read_node(document: bytes) -> Iterator[Ended]:
    """The tests of Node's own runner, by the reporter that Forge gives it: a line of JSON for each."""
    for line in document.splitlines():
        test = _load(_NodeTest, line)
        last = test.names[-1] if test.names else ""
        if last.startswith("/") and test.file in {"", last}:  # Node's stand-in for a file that ended badly
            yield Ended(last, (), CaseOutcome.error, message=test.message, details=test.details)
            continue
        outcome = _OUTCOMES.get(test.outcome, CaseOutcome.skipped)
        yield Ended(test.file, tuple(test.names), outcome, test.line, test.message, test.details)


def read_rspec(document: bytes) -> Iterator[Ended]:
    """The examples of rspec, and the files that it could not load."""
    report = _load(_RspecReport, document)
    for said in report.messages:
        if named := re.search(r"An error occurred while loading (\S{1,500}?)\.?(\n|$)", said):
            yield Ended(named[1], (), CaseOutcome.error, details=said)
    for each in report.examples:
        error = each.exception or _RspecException()
        details = "\n".join([error.message or "", *(error.backtrace or ())[:20]])
        outcome = _OUTCOMES.get(each.status, CaseOutcome.skipped)
        name, line = each.full_description, each.line_number
        yield Ended(each.file_path, (name,), outcome, line, (error.message or "").strip(), details)


@dataclass(frozen=True)
class RepositoryPlace:
    """Where the tests ran.

    :param root: absolute path of the repository, as they saw it.
    :param paths: the files of tests in it.
    :param sources: path → content, of those whose tests can only be found by their text.
    """

    root: str
    paths: Sequence[str] = ()
    sources: Mapping[str, str] = field(default_factory=dict[str, str])


def parse(
    form: ReportFormat, document: Base64UrlBytes, place: RepositoryPlace
) -> Annotated[tuple[TestCase, ...], Field(max_length=junit.MOST_CASES)]:
    """The tests of a report, each once, in its order.

    :param document: its bytes, of any encoding.
    :raises ToolError: it is not of this form, or is too large.
    """
    junit.check_size(document, "The report of the tests")
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
    "minitest": read_ruby,
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


class _Location(Value):
    line: float | None = None


class _Camel(Value):
    model_config = ConfigDict(alias_generator=to_camel)


class _JestTest(_Camel):
    full_name: str
    status: str
    failure_messages: list[str] | None = None
    location: _Location | None = None


class _JestFile(_Camel):
    name: str
    status: str = ""
    message: str | None = None
    assertion_results: list[_JestTest] = []


class _JestReport(_Camel):
    test_results: list[_JestFile]


class _MochaError(_Camel):
    message: str | None = None
    stack: str | None = None


class _MochaTest(_Camel):
    full_title: str
    file: str | None = None
    err: _MochaError = _MochaError()


class _MochaReport(_Camel):
    passes: list[_MochaTest] = []
    pending: list[_MochaTest] = []
    failures: list[_MochaTest] = []


class _NodeTest(Value):
    file: str
    names: list[str]
    line: int | None
    outcome: str
    message: str
    details: str


class _RspecException(Value):
    message: str | None = None
    backtrace: list[str] | None = None


class _RspecExample(Value):
    full_description: str
    status: str
    file_path: str = ""
    line_number: int | None = None
    exception: _RspecException | None = None


class _RspecReport(Value):
    examples: list[_RspecExample]
    messages: list[str] = []


def _load(form: type[Form], document: bytes) -> Form:
    try:
        return form.model_validate_json(document)
    except ValidationError:
        raise ToolError("The report is not the JSON that this runner writes.") from None
