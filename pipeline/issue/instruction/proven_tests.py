"""Has new tests proven before they are handed in: they pass with the pull request's change, and fail without it."""

from collections.abc import Iterator
from dataclasses import dataclass

from agents.testing.reproduction.new_tests import NewTests, cut_tests, prove_new_tests
from agents.testing.tester import Tester
from domain.runs.patches import MOST_FIXES, ChangedFile, ChangeSet, RequiredFix
from messages import instructions as texts
from pipeline.issue.instruction.brief import measure_change
from pipeline.issue.instruction.draft_tests import TestedDraft
from pipeline.issue.instruction.start import Start
from pipeline.run_context import RunContext, run_while_current

_SECONDS = 600.0  # of the sandbox, for one proof


@dataclass(frozen=True)
class ProvenTests:
    """The proof of what one ``/forge tests`` made.

    :param context: of its run, whose head is the one on which it began.
    """

    context: RunContext
    start: Start

    async def run(self, tip: str) -> TestedDraft:
        """What has to be mended before a commit is handed in; which other tests fail with it shows only then."""
        proof = await self.prove(tip)
        return TestedDraft(title="", to_fix=tuple(_list_to_fix(proof))[:MOST_FIXES], proof=proof)

    async def prove(self, tip: str) -> NewTests:
        """What the new tests of a commit show of the change."""
        return await self.context.journal.step("prove the tests", self._prove, tip)

    async def describe_coverage(self, tip: str) -> str:
        """How much of the change's lines tests run, before and now; empty if that is not known."""
        before = self.start.brief.coverage
        if before is None:
            return ""
        return await self.context.journal.step("what tests run now", self._describe_coverage, tip)

    # --- steps -------------------------------------------------------------------------------------------------

    async def _prove(self, tip: str) -> NewTests:
        context, base = self.context, self.start.brief.merge_base
        mirror = await context.fetch_mirror()
        changed = await mirror.change(context.run.head_sha, tip)
        tester = Tester(mirror, context.services.toolbox, self.start.configuration.commands)
        proving = prove_new_tests(tester, base, context.run.head_sha, tip, list(changed.paths), _SECONDS)
        return await run_while_current(context.services, context.run, proving)

    async def _describe_coverage(self, tip: str) -> str:
        context, before = self.context, self.start.brief.coverage
        mirror = await context.fetch_mirror()
        change = await mirror.change(self.start.brief.merge_base, context.run.head_sha)
        now = await measure_change(context, self.start.configuration, mirror, change, tip)
        if before is None or now is None:
            return ""
        return texts.describe_coverage(before.covered, now.covered, now.total)


def keep_proven(change: ChangeSet, proof: NewTests) -> ChangeSet:
    """What is handed in: the files that are proven, without their tests that show nothing, and what they use."""
    unproven = {*proof.failing, *proof.idle, *proof.unknown} - {*proof.proven}
    kept = [_cut(file, proof) for file in change.files if file.path not in unproven]
    return ChangeSet(files=tuple(kept) if proof.proven else ())


def list_left_out(proof: NewTests) -> dict[str, str]:
    """The names of the tests and files that are not handed in, each with the reason as a clause."""
    idle = [(path, test.name) for path, tests in proof.idle.items() for test in tests]
    return {
        **dict.fromkeys(proof.unknown, texts.UNKNOWN),
        **{path: texts.explain_failed(why) for path, why in proof.failing.items()},
        **{name if name.startswith(path) else f"{path}::{name}": texts.IDLE for path, name in idle},
    }


def _cut(file: ChangedFile, proof: NewTests) -> ChangedFile:
    tests = proof.idle.get(file.path, ())
    if not tests or file.after is None:
        return file
    return file.model_copy(update={"after": cut_tests(file.after.decode(), tests).encode()})


def _list_to_fix(proof: NewTests) -> Iterator[RequiredFix]:
    for path in proof.unknown:
        yield RequiredFix(path=path, rule=texts.UNPROVEN, message=texts.UNKNOWN_TESTS)
    for path, why in proof.failing.items():
        yield RequiredFix(path=path, rule=texts.UNPROVEN, message=texts.explain_failing(why))
    for path, tests in proof.idle.items():
        for test in tests:
            message = texts.explain_idle(test.name)
            yield RequiredFix(path=path, line=test.start or None, rule=texts.UNPROVEN, message=message)
