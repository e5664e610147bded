"""Tests a commit in the sandbox: chooses the tests, runs the repository's commands, reads what they report.

Exit statuses decide; reports, which code of others writes, only explain them.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.checks.toolbox import Toolbox
from agents.testing import detection
from agents.testing.detection import MANIFESTS, Command, Detected
from agents.testing.reading import read_cobertura, read_junit, select_tests
from agents.testing.selection import MOST_SOURCES, Selection
from domain.changes import Change
from domain.configuration import Commands
from domain.errors import CodeAccessError, ToolError
from domain.neutral import visible
from domain.redaction import outgoing
from domain.review import RiskLevel
from domain.testing import (
    LONGEST_OUTPUT,
    CommandResult,
    Coverage,
    Kind,
    TestCase,
    TestRun,
    diff_coverage,
    merge,
)
from workspace.bubblewrap import PATH
from workspace.checkout import Checkout, checked_out
from workspace.mirror import Mirror
from workspace.snapshot import Snapshot

_REPORT = 20_000_000  # bytes of one report
_SOURCES = 50_000_000  # bytes of all Python files that are looked through for imports
_CUT_LINE = 4_000  # characters of a command line

Tell = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Bounds:
    """How long commands may take, in seconds.

    :param command: each of them; :param retry: the failed tests once more.
    """

    command: float = 900.0
    retry: float = 300.0


@dataclass(frozen=True)
class Tester:
    """Tests commits of one repository.

    :param commands: what its configuration says, from its default branch.
    :param tell: is told in a few words what is being done.
    """

    mirror: Mirror
    toolbox: Toolbox
    commands: Commands
    tell: Tell
    bounds: Bounds = field(default=Bounds())

    async def test(self, change: Change, level: RiskLevel) -> TestRun:
        """Test the head of a change; never an error: what could not be run is said.

        :param level: the risk of the change, which decides how many tests are run.
        """
        try:
            return await self._tested(change, level)
        except (ToolError, CodeAccessError) as error:
            return TestRun(not_run=str(error)[:1_000])

    async def _tested(self, change: Change, level: RiskLevel) -> TestRun:
        head = change.head_sha
        await self.tell("Checking out")
        async with checked_out(self.mirror, head, self.toolbox.sandbox) as checkout:  # from now on every blob is here
            paths = tuple((await Snapshot.of(self.mirror, head)).files)
            manifests = await self._texts(head, [path for path in MANIFESTS if path in set(paths)])
            detected = detection.detect(paths, manifests, self.commands, str(checkout.results_seen))
            if not detected.tests:
                return TestRun(selection=detected.reason[:1_000])
            chosen = await self._chosen(head, paths, change, level)
            if not chosen.runs_all and not chosen.tests:
                return TestRun(selection=chosen.reason, is_unconcerned=True)
            run = await _Running(self, checkout, paths).all(detected, chosen)
        added = {file.path: frozenset(file.added_lines) for file in change.files}
        measured = None if run.coverage is None else diff_coverage(run.coverage, added)
        reason = f"{chosen.reason} {detected.reason}"
        return run.model_copy(update={"diff_coverage": measured, "selection": reason[:1_000]})

    async def _chosen(self, head: str, paths: Sequence[str], change: Change, level: RiskLevel) -> Selection:
        await self.tell("Choosing the tests")
        sources = [path for path in paths if path.endswith(".py")]
        texts: Mapping[str, str] = await self._texts(head, sources) if len(sources) <= MOST_SOURCES else {}
        return await select_tests(paths, texts, change.paths, level, {}, self.toolbox.pool)

    async def _texts(self, head: str, paths: Collection[str]) -> Mapping[str, str]:
        """The contents of text files, as far as there is room for them."""
        contents = await self.mirror.read(head, [*paths])
        room = _SOURCES
        texts: dict[str, str] = {}
        for path, content in contents.items():
            room -= len(content)
            if room >= 0:
                texts[path] = content.decode(errors="replace")
        return texts


class _Running:
    """Runs commands in one checkout."""

    def __init__(self, tester: Tester, checkout: Checkout, paths: Sequence[str]) -> None:
        self._tester = tester
        self._checkout = checkout
        self._paths = paths
        self._coverage: Coverage | None = None

    async def all(self, detected: Detected, chosen: Selection) -> TestRun:
        """Everything in its order; nothing after a set-up that failed, and no measuring without a test."""
        results: list[CommandResult] = []
        again: list[CommandResult] = []
        ran: list[Command] = []
        for each in detected.commands:
            command = detection.narrowed(each, chosen)
            if command is None or (command.kind == "coverage" and not ran):
                continue
            result = await self._one(command)
            results.append(result)
            if command.kind == "setup" and not result.succeeded:
                break
            if command.kind == "test":
                ran.append(command)
                again += await self._retried(command, result)
        run = TestRun(commands=tuple(results), coverage=self._coverage)
        return merge(run, TestRun(commands=tuple(again))) if again else run

    async def _retried(self, command: Command, result: CommandResult) -> list[CommandResult]:
        """The tests that failed once more: what passes then is flaky."""
        failed = [case for case in result.cases if case.outcome.is_bad]
        if not failed:
            return []
        return [await self._one(detection.again(command, failed))]

    async def _one(self, command: Command) -> CommandResult:
        tester = self._tester
        await tester.tell(_DOING[command.kind])
        await self._checkout.run(("rm", "-rf", *map(self._result, _REPORTS)), seconds=30)
        seconds = tester.bounds.retry if command.kind == "retry" else tester.bounds.command
        tools = tester.toolbox.reads
        environment = {**dict(command.environment), "PATH": ":".join([*(f"{tool}/bin" for tool in tools), PATH])}
        asks = command.kind == "setup" and tester.commands.network
        lacks = self._checkout.why_no_network(tester.toolbox.proxy) if asks else ""
        proxy = tester.toolbox.proxy if asks and not lacks else None
        done = await self._checkout.run(
            command.words, seconds=seconds, environment=environment, reads=tools, proxy=proxy
        )
        printed = b"\n".join(part.data for part in (done.stdout, done.stderr) if part.total)
        cases, problem = await self._cases(command)
        problem = lacks or problem or await self._measure(command)
        return CommandResult(
            kind=command.kind,
            line=command.line[:_CUT_LINE],
            framework=command.framework,
            exit_status=done.status,
            output=_end(printed),
            seconds=done.seconds,
            cases=cases,
            writes_report=command.writes_report,
            report_problem=problem[:500],
        )

    async def _cases(self, command: Command) -> tuple[tuple[TestCase, ...], str]:
        """The cases of its report; and what is wrong with it, if something is."""
        if command.kind not in {"test", "retry"}:
            return (), ""
        try:
            document = await self._checkout.result("junit.xml", _REPORT)
            if document is None:
                return (), "It left no report." if command.writes_report else ""
            root = str(self._checkout.seen)
            cases = await read_junit(document, root, self._tester.toolbox.pool)
        except ToolError as error:
            return (), str(error)
        return tuple(_without_secrets(case) for case in cases), ""

    async def _measure(self, command: Command) -> str:
        """Take in the coverage it left; what is wrong with that, if something is."""
        if command.kind not in {"test", "coverage"}:
            return ""
        try:
            document = await self._checkout.result("coverage.xml", _REPORT)
            if document is not None:
                root = str(self._checkout.seen)
                self._coverage = await read_cobertura(document, root, self._paths, self._tester.toolbox.pool)
        except ToolError as error:
            return str(error)
        return ""

    def _result(self, name: str) -> str:
        return str(Path(self._checkout.results_seen, name))


_REPORTS = ("junit.xml", "coverage.xml")
_DOING: Mapping[Kind, str] = {
    "setup": "Setting up",
    "build": "Building",
    "lint": "Checking the style",
    "typecheck": "Checking the types",
    "test": "Running the tests",
    "retry": "Running failed tests once more",
    "coverage": "Measuring what the tests ran",
}


def _end(printed: bytes) -> str:
    """The end of an output, in which nothing is hidden and no credential is left."""
    text = outgoing(visible(printed[-4 * LONGEST_OUTPUT :].decode(errors="replace")))
    return text[-LONGEST_OUTPUT:]


def _without_secrets(case: TestCase) -> TestCase:
    return case.model_copy(update={"message": outgoing(case.message)[:500], "details": outgoing(case.details)[:4_000]})
