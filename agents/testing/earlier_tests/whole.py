"""Asks a command that runs all tests, and says no more than whether they pass, what the tests of before say."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.syntax.tests import TestText
from agents.testing.absence import WAY_OUT, find_absence
from agents.testing.command_detection import detect
from agents.testing.earlier_tests.choice import Entry
from agents.testing.earlier_tests.gone import GoneNames
from agents.testing.earlier_tests.names import misfits_call
from agents.testing.earlier_tests.outcomes import OUTPUT, SharedChange, cut_lines, find_cause
from agents.testing.earlier_tests.reading import Reader, list_shared_changes
from agents.testing.earlier_tests.running import TOO_LONG, FileRunner, Sides, name_call
from agents.testing.earlier_tests.texts import Version
from agents.testing.runners.runner import ProjectCommand, list_needed
from agents.testing.tester import Tester
from domain.config.configuration import Commands
from domain.runs.earlier_tests import EarlierOutcome, EarlierTest, EarlierTests, Fate
from domain.runs.testing import Framework
from workspace.commits import write_tree

_NAMED = 3
_LINES = 6
_UNKNOWN = (
    "{} {}, so Forge cannot say whether what was tested there before still holds. Name what runs all tests in "
    "`commands.test`: Forge then runs it with the tests of before, too, and goes by its exit status."
)
_NO_RUNNER = "No runner that Forge knows takes"
_NO_MODULE = "The code of before has no `go.mod`, without which Forge does not run"
_LACKS_MODULE = "the code has no `go.mod`, without which Forge runs no test of Go"
_LACKS_COMMAND = "it knows none here, and `commands.test` names nothing that runs any"
_FAILED_BEFORE = "`{}` fails here on the code of before, so it tells nothing of {}; it printed: {}"
_FLAKY = "`{}` failed and passed on the same code, so it tells nothing of {}."

Build = Callable[[str], ProjectCommand | None]
"""The folder for results → the command."""


async def find_lack(reader: Reader, commands: Commands, commit: str, files: Collection[str]) -> str:
    """Why no test of a commit can run, as a clause; empty if one can, as far as the names of its files tell."""
    if detect(files, await reader.read(commit, list_needed(files)), commands, "").tests:
        return ""
    return _LACKS_MODULE if any(path.endswith("_test.go") for path in files) else _LACKS_COMMAND


@dataclass(frozen=True)
class _Ended:
    """How a command ended, each time.

    :param why: it did not run, one sentence; empty if it did.
    """

    line: str
    passed: bool
    output: str = ""
    why: str = ""


@dataclass(frozen=True)
class WholeCommand:
    """A command that runs all tests of one change."""

    tester: Tester
    runner: FileRunner
    reader: Reader
    sides: Sides

    async def ask(self, unknown: Sequence[str]) -> EarlierTests:
        """What it says of files that no runner takes by themselves.

        :param unknown: their paths, at least one.
        """
        sides, named = self.sides, _name(unknown)
        before = await self._find(sides.old, sides.base)
        now = await self._find(sides.new, sides.head)
        if before is None or now is None:
            of_go = all(path.endswith("_test.go") for path in unknown) and "go.mod" not in sides.base
            return _say(_UNKNOWN.format(_NO_MODULE if of_go else _NO_RUNNER, named))
        await self.tester.tell("Running all tests of before on the new code")
        first = await self._run(sides.tree, before)
        if first.why or first.passed:
            return _say(first.why) if first.why else EarlierTests()
        old = await self._run(sides.old, before, 2)
        if old.why or not old.passed:
            return _say(old.why or _FAILED_BEFORE.format(first.line, named, find_cause(old.output)))
        if (await self._run(sides.tree, before)).passed:
            return _say(_FLAKY.format(first.line, named))
        return EarlierTests(tests=(await self._judge(first, unknown, now),))

    async def _judge(self, failed: _Ended, unknown: Sequence[str], now: Build) -> EarlierTest:
        sides = self.sides
        before, after = await self.reader.read(sides.old, unknown), await self.reader.read(sides.new, unknown)
        changes = list_shared_changes(before, after)
        removed = [line for each in changes for line in each.removed]
        added = [line for each in changes for line in each.added]
        names, is_blind = await self._find_gone(failed.output, changes), False
        if not (await self._run(sides.new, now)).passed:
            outcome = EarlierOutcome.open
        elif names or misfits_call(failed.output):
            outcome = EarlierOutcome.gone
        else:
            under = await write_tree(self.tester.mirror.git, sides.old, sides.underlay)
            is_blind = (await self._run(under, now, 2)).passed
            outcome = EarlierOutcome.lost if is_blind else EarlierOutcome.changed
        return EarlierTest(
            id=failed.line[:200],
            path=unknown[0],
            outcome=outcome,
            fate=Fate.rewritten if after else Fate.removed,
            demanded=cut_lines(removed[:_LINES]),
            now=cut_lines(added[:_LINES]),
            is_blind=is_blind,
            output=failed.output[-OUTPUT:],
            names=names if outcome is EarlierOutcome.gone else (),
            head_path=unknown[0] if unknown[0] in after else None,
            head_line=1 if unknown[0] in after else None,
        )

    async def _find_gone(self, output: str, changes: Sequence[SharedChange]) -> tuple[str, ...]:
        """What the tests name and the program has no more, by what they printed and what of them is gone."""
        sides = self.sides
        gone = await GoneNames.of(self.reader, (sides.old, sides.new), sides.base, sides.head)
        found = [
            name
            for each in changes
            for name in await gone.find_in(_quote(each, each.removed), _quote(each, each.added))
        ]
        return tuple(dict.fromkeys([*gone.verify(output), *found]))

    async def _find(self, commit: str, files: Mapping[str, Entry]) -> Build | None:
        """The command of a commit of which Forge knows no more than its exit status; None if it has none."""
        manifests = await self.reader.read(commit, list_needed(files))

        def build(results: str) -> ProjectCommand | None:
            tests = detect(files, manifests, self.tester.commands, results).tests
            return next((each for each in tests if each.framework is Framework.other), None)

        return None if build("") is None else build

    async def _run(self, tree: str, build: Build, times: int = 1) -> _Ended:
        """How it ended, several times in one checkout."""
        run = await self.runner.run_command(tree, lambda results: [each for each in [build(results)] if each], times)
        if run.not_run or len(run.commands) < times:
            return _Ended("", passed=False, why=run.not_run)
        for result in run.commands:
            absence = find_absence(result)
            why = f"{absence} {WAY_OUT}" if absence else ""
            why = why or (TOO_LONG.format(name_call(result)) if result.exit_status is None else "")
            if why or not result.is_successful:
                return _Ended(result.line, passed=False, output=result.output, why=why)
        return _Ended(run.commands[0].line, passed=True)


def _quote(change: SharedChange, lines: Sequence[str]) -> Version:
    return Version(change.path, TestText(name=change.path, start=1, end=max(1, len(lines))), tuple(lines))


def _name(paths: Sequence[str]) -> str:
    named = ", ".join(f"`{path}`" for path in paths[:_NAMED])
    return f"{named} and {len(paths) - _NAMED} more" if len(paths) > _NAMED else named


def _say(why: str) -> EarlierTests:
    return EarlierTests(not_run=(why[:1_000],))
