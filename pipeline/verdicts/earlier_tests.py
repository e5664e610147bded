"""Asks the tests of before what they say of the new code, keeps it, and makes findings of what they say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from agents.testing.earlier_tests.choice import is_mixed, is_of_tests, is_script
from agents.testing.earlier_tests.run import name_removed, run_earlier_tests
from agents.testing.tester import Tell, Tester
from domain.config.configuration import Configuration
from domain.config.sections import AvoidanceReaction
from domain.gates import digest
from domain.github.pull_requests import PullRequest
from domain.review.avoidance import AvoidanceKind
from domain.review.changes import Change, FileChange
from domain.review.findings import (
    Category,
    Finding,
    Layer,
    Severity,
    compute_secondary_fingerprint,
    compute_test_fingerprint,
    place_on_diff,
)
from domain.runs.earlier_tests import NOTHING_EARLIER, BaseRun, EarlierTest, EarlierTests
from domain.runs.patches import RequiredFix
from domain.runs.run import Run, Trigger
from memory import gates
from memory.learned import feedback
from memory.repositories import permits
from memory.runs import checkpoints, outbox
from messages import earlier_tests as texts
from pipeline.context import Services
from pipeline.run_context import describe_place
from workspace.mirror import Mirror

_VERSION, _BASE_VERSION = 5, 1  # of what is asked; a new one asks anew
_KEPT = timedelta(days=1)
_AFTER = re.compile(r"::|#| > |(?<=\w)[./](?=\w)")  # what stands before the name of a test in its id
_SHORTEST = 4  # characters of a name that words may mean
RULE = AvoidanceKind.failure_hidden.rule


@dataclass(frozen=True)
class EarlierTestRuns:
    """The tests of before on the changes of one run.

    :param tell: called with what is being done, in a few words; not if there is nothing to do.
    """

    services: Services
    run: Run
    configuration: Configuration
    tell: Tell | None = None

    async def find_or_run(self, mirror: Mirror, change: Change) -> EarlierTests:
        """What they say: kept from whoever asked about the same code before, or run now. Raises no errors of tests."""
        if self.configuration.testing.runner == "actions":
            if not touches_tests(change):
                return NOTHING_EARLIER
            return await name_removed(mirror, self.services.toolbox, change, texts.ACTIONS)
        services, run = self.services, self.run
        key = await self._build_key(mirror, change)
        kept = await checkpoints.find_shared(services.database, run.repository.id, key, EarlierTests)
        if kept is not None:
            return kept
        keeper = _KeptBaseRuns(self, await mirror.tree_of(change.merge_base))
        said = await run_earlier_tests(self._build_tester(mirror), change, keeper=keeper)
        is_whole = not (said.not_run or said.left_out or said.untold)  # somebody may have mended what is lacking
        if said != NOTHING_EARLIER and is_whole:
            await checkpoints.keep_shared(services.database, run, key, said, services.clock.now())
        return said

    def _build_tester(self, mirror: Mirror) -> Tester:
        tester = partial(Tester, mirror, self.services.toolbox, self.configuration.commands)
        return tester() if self.tell is None else tester(self.tell)

    async def _build_key(self, mirror: Mirror, change: Change) -> str:
        trees = [await mirror.tree_of(each) for each in (change.merge_base, change.head_sha)]
        return digest(_VERSION, *trees, *describe_place(self.services, self.configuration))


@dataclass(frozen=True)
class _KeptBaseRuns:
    """Keeps how tests ended before a change, for the next push or change with the same base.

    Not for long: what a set-up brings from outside is not in the key.

    :param tree: of the base.
    """

    asking: EarlierTestRuns
    tree: str

    async def find(self, files: Sequence[str]) -> BaseRun | None:
        services, run = self.asking.services, self.asking.run
        key, since = self._build_key(files), services.clock.now() - _KEPT
        return await checkpoints.find_shared(services.database, run.repository.id, key, BaseRun, since)

    async def save(self, files: Sequence[str], base: BaseRun) -> None:
        services, run = self.asking.services, self.asking.run
        await checkpoints.keep_shared(services.database, run, self._build_key(files), base, services.clock.now())

    def _build_key(self, files: Sequence[str]) -> str:
        place = describe_place(self.asking.services, self.asking.configuration)
        return digest(_BASE_VERSION, self.tree, *files, *place)


def touches_tests(change: Change) -> bool:
    """Whether a change touches tests, or something that only tests need."""
    return any(is_of_tests(path) for file in change.files for path in (file.path, file.old_path) if path)


async def refuse_fork(services: Services, run: Run, pull_request: PullRequest, change: Change) -> EarlierTests | None:
    """What is said in place of running the tests of a fork for which nobody gave an ok; None if they may run."""
    repository, head = run.repository, run.head_sha
    if not pull_request.is_from_fork(repository.id):
        return None
    if await permits.has_ok(services.database, repository, pull_request.number, head):
        return None
    may_hold_more = any(is_mixed(file.path) or is_script(file.path) for file in change.files)
    concerns_tests = touches_tests(change) or may_hold_more
    return EarlierTests(not_run=(texts.UNASKED_FORK,)) if concerns_tests else NOTHING_EARLIER


@dataclass(frozen=True)
class AcceptedLosses:
    """What people said of tests that fail.

    :param fingerprints: of those that ``destructive`` was approved for, or that are dismissed, at whatever head.
    :param words: with which people let an agent of Forge go on; a test that they name may go.
    """

    fingerprints: frozenset[str] = frozenset()
    words: str = ""

    def names(self, test: EarlierTest) -> bool:
        """Whether the words name the test."""
        name = _AFTER.split(test.id.partition("[")[0].strip())[-1]
        return len(name) >= _SHORTEST and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.words) is not None

    def covers(self, test: EarlierTest) -> bool:
        """Whether people said that it was meant to go."""
        return name_test(test) in self.fingerprints or self.names(test)


async def load_accepted(services: Services, run: Run, said: EarlierTests) -> AcceptedLosses:
    """What people said of the tests that fail, of a pull request or of an issue's run.

    An answer covers the same test at later heads.
    """
    database, number, owner = services.database, run.number, run.id
    if not said.obligations:
        return AcceptedLosses()
    if run.trigger is Trigger.issue:
        number = await outbox.find_proposal(database, run.id)
    else:
        opened_by = await outbox.find_proposing_run(database, run.repository.id, run.number)
        owner = "" if opened_by is None else opened_by.id
    known = await gates.list_for_run(database, owner)
    words = "\n".join(gate.conditions for gate in known if gate.conditions)
    if number is None:
        return AcceptedLosses(words=words)
    dismissed = await feedback.find_dismissed(database, run.repository, number, list(map(name_test, said.obligations)))
    approved = await load_approved(services, run, number)
    return AcceptedLosses(frozenset({*dismissed, *approved}), words)


async def load_approved(services: Services, run: Run, number: int) -> set[str]:
    """The fingerprints of all findings for which ``destructive`` was approved in a pull request.

    :param run: of its review, to whose base branch that is restricted, or of the issue behind it.
    """
    where = (services.database, run.repository.id, number)
    approved = await gates.list_approved(*where, {"destructive"}, run.base_ref)
    return {each for gate in approved for each in gate.request.findings}


def name_test(test: EarlierTest) -> str:
    """The fingerprint of the finding about it."""
    return compute_test_fingerprint(RULE, test.path, test.id)


async def find_lost_tests(
    services: Services, run: Run, configuration: Configuration, change: Change, said: EarlierTests
) -> tuple[Finding, ...]:
    """The tests of a pull request that fail and that nothing stands in for, as findings.

    Of Forge's own changes they always block, and so do those whose other expectation held before, too, unless people
    said that they were meant to go; what an agent was told to drop is no finding.
    """
    accepted = await load_accepted(services, run, said)
    owned = await outbox.find_proposing_run(services.database, run.repository.id, run.number) is not None
    if configuration.avoidance.of(AvoidanceKind.failure_hidden) is AvoidanceReaction.off and not owned:
        return ()
    return tuple(
        _build_finding(each, change, blocks=owned and name_test(each) not in accepted.fingerprints)
        for each in (said.obligations if owned else said.lost)
        if not accepted.names(each)
    )


def build_fix(test: EarlierTest, change: Change) -> RequiredFix:
    """What an agent is told of such a test."""
    path, line = _find_place(test, change)
    return RequiredFix(
        path=path, line=line, rule=RULE, message=texts.explain_lost(test), demanded=test.demanded, output=test.output
    )


def _build_finding(test: EarlierTest, change: Change, *, blocks: bool) -> Finding:
    path, line = _find_place(test, change)
    finding = Finding(
        rule=RULE,
        category=Category.avoidance,
        severity=Severity.error if blocks else Severity.warning,
        confidence=1.0,
        path=path,
        line=line,
        end_line=line,
        message=texts.explain_lost(test),
        layer=Layer.static,
        fingerprint=name_test(test),
        trail=compute_secondary_fingerprint(RULE, test.path, test.id),
    )
    return place_on_diff(finding, change)


def _find_place(test: EarlierTest, change: Change) -> tuple[str, int | None]:
    """Where people look for it at head: where it stands, or stood until the change took it away."""
    if test.head_path is not None and test.head_line is not None:
        return test.head_path, test.head_line
    file = next((each for each in change.files if test.path in {each.path, each.old_path}), None)
    if file is None or test.line is None:
        return test.path, None
    return file.path, _find_gap(file, test.line)


def _find_gap(file: FileChange, line: int) -> int | None:
    """The line at head before a line that is gone, within the diff."""
    for hunk in file.hunks:
        if not hunk.old_start <= line < hunk.old_start + hunk.old_length:
            continue
        last = None
        for old, new, _ in hunk.number_lines():
            last = last if new is None else new
            if old == line:
                return last
    return None
