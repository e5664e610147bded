"""Plans an instruction, carries it out, tests what was made, and has new tests proven before they are handed in."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from agents.llm.models import ModelTier, Unusable
from agents.loop.loop import Done
from agents.testing.reproduction.new_tests import NewTests, cut_tests, prove_new_tests
from domain.runs.patches import MOST_FIXES, ChangedFile, ChangeSet, RequiredFix
from domain.runs.plan import Plan, Planned, RatedPlan
from domain.runs.run import Phase, ReasonCode, RunState
from messages import instructions as texts
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.draft_commits import BuiltChange, DraftCommits
from pipeline.issue.implementation import Implementation
from pipeline.issue.instruction.brief import measure_change
from pipeline.issue.instruction.draft_tests import DraftTests, TestedDraft
from pipeline.issue.instruction.start import Start
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.plan_approval import GrantedPaths, approve_plan
from pipeline.issue.planning import load_plan, run_planner, save_plan
from pipeline.issue.status_comment import RunEnd, end_unfinished
from pipeline.run_context import RunContext, run_while_current
from pipeline.runs.lifecycle import enter_phase, leave_phase
from safety.plan_risk import is_small, list_grantable, needs_approval

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
        tester = context.build_tester(mirror, self.start.configuration)
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


def _list_to_fix(proof: NewTests) -> Iterator[RequiredFix]:
    for path in proof.unknown:
        yield RequiredFix(path=path, rule=texts.UNPROVEN, message=texts.UNKNOWN_TESTS)
    for path, why in proof.failing.items():
        yield RequiredFix(path=path, rule=texts.UNPROVEN, message=texts.explain_failing(why))
    for path, tests in proof.idle.items():
        for test in tests:
            message = texts.explain_idle(test.name)
            yield RequiredFix(path=path, line=test.start or None, rule=texts.UNPROVEN, message=message)


def _tell_nothing(_where: str) -> str:
    return ""


@dataclass(frozen=True)
class Made:
    """What was made of an instruction.

    :param granted: what people decided about protected files.
    :param left: what is not done, and why.
    :param details: what became of each finding that it was to fix, in Markdown, from where the change is.
    :param count: how many became what, as a sentence; empty where it was to fix none.
    :param is_told: the summary says what became of it, also where nothing was changed.
    :param fixed: fingerprint → id of the findings that it fixes.
    :param log: what its commit says; empty for the summary.
    """

    plan: Plan
    change: ChangeSet
    summary: str
    tested: TestedDraft
    granted: GrantedPaths
    left: str = ""
    details: Callable[[str], str] = _tell_nothing
    count: str = ""
    is_told: bool = False
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])
    log: str = ""


@dataclass(frozen=True)
class InstructionWork:
    """The work on one instruction.

    :param context: of its run, whose head and base are the head on which it began.
    :param is_of_others: what is wanted is in the words of others, who name no protected files.
    :param how_to_answer: what it asks, in a line.
    """

    context: RunContext
    start: Start
    is_of_others: bool = False
    how_to_answer: str = ""

    async def make(self) -> Made | RunEnd | ReasonCode:
        """What was made, how the run ends without it, or why it has to wait.

        :raises WaitingForGate: a person has to decide first.
        """
        planned = await self._plan()
        if isinstance(planned, RunEnd):
            return planned
        # others name no protected files
        named = list_grantable(planned.plan.plan, planned.configuration) if self.is_of_others else ()
        if named:
            return RunEnd(RunState.completed, ReasonCode.unchanged, texts.refuse_protected(named))
        needs = needs_approval(planned.plan.level) or not self._is_small(planned.plan.plan)
        granted = await approve_plan(self.context, planned, is_asked=needs)
        if isinstance(granted, RunEnd):
            return granted
        locks = ContractLocks(self.context)
        held = await locks.take(planned.plan.plan.contracts)
        if isinstance(held, RunEnd):
            return held
        if held:
            return ReasonCode.contract
        async with locks.keep_renewed():
            return await self._carry_out(DraftCommits(self.context, planned, granted, locks))

    @property
    def tests(self) -> DraftTests:
        """The tests of what is made."""
        return DraftTests(self.context, self.start.configuration)

    @property
    def proofs(self) -> ProvenTests | None:
        """What proves what is made; None if nothing has to."""
        return ProvenTests(self.context, self.start) if self.start.brief.merge_base else None

    async def _plan(self) -> PlannedIssue | RunEnd:
        await enter_phase(self.context, Phase.planning)
        plan = await self.context.journal.step("is it planned", load_plan, self.context) or await self._make_plan()
        return plan if isinstance(plan, RunEnd) else PlannedIssue(self.start.input, plan)

    async def _make_plan(self) -> RatedPlan | RunEnd:
        """The plan, or how the run ends without one."""
        model = self.context.services.models.choose(ModelTier.strong)
        if isinstance(model, Unusable):
            return RunEnd(RunState.completed, ReasonCode.unchanged, texts.refuse_no_model(model.reason))
        match await run_planner(self.context, self.start.input, None, model):
            case Done(Planned(plan=Plan() as plan)):
                return await self._keep_plan(plan)
            case Done(Planned(nothing_to_do=str() as why)):
                text = texts.report_unchanged(why, "", await self.context.load_cost())
                return RunEnd(RunState.completed, ReasonCode.unchanged, text)
            case Done(planned):
                text = texts.report_questions(planned.questions, self.how_to_answer, await self.context.load_cost())
                asked = "\n".join(planned.questions)
                return RunEnd(RunState.completed, ReasonCode.questions, text, asked=asked)
            case unfinished:
                return await end_unfinished(self.context, unfinished)

    async def _keep_plan(self, plan: Plan) -> RatedPlan:
        areas = self.start.brief.areas
        plan = plan.model_copy(update={"allowed_areas": areas}) if areas else plan
        return await self.context.journal.step("keep the plan", save_plan, self.context, self.start.configuration, plan)

    def _is_small(self, plan: Plan) -> bool:
        """Whether it is carried out before people saw its plan."""
        return is_small(plan)

    async def _carry_out(self, commits: DraftCommits) -> Made | RunEnd:
        await enter_phase(self.context, Phase.implementation)
        made = await self._implement(commits, Implementation(self.context, commits))
        if isinstance(made, Made):
            await leave_phase(self.context, Phase.implementation)
        return made

    async def _implement(self, commits: DraftCommits, implementation: Implementation) -> Made | RunEnd:
        built = await implementation.build()
        if built.ended is not None:
            return built.ended
        tested = await self._test_built(built)
        if tested.to_fix:
            built = await implementation.fix(built, tested.send_back(built.tip), ())
            if built.ended is not None:
                return built.ended
            tested = await self._test_built(built)
        worked = [each.worked for each in built.finished]
        return Made(
            plan=commits.planned.plan.plan,
            change=built.whole,
            summary=" ".join(each.summary for each in worked),
            tested=tested,
            granted=commits.granted,
            left=" ".join(each.not_done for each in worked if each.not_done),
        )

    async def _test_built(self, built: BuiltChange) -> TestedDraft:
        if not built.whole.files:
            return TestedDraft(title="")
        return await (self.proofs or self.tests).run(built.tip)


def keep_proven(change: ChangeSet, proof: NewTests) -> ChangeSet:
    """What is handed in: the files that are proven, without their tests that show nothing, and what they use."""
    unproven = {*proof.failing, *proof.idle, *proof.unknown} - {*proof.proven}
    kept = [_cut(file, proof) for file in change.files if file.path not in unproven]
    return ChangeSet(files=tuple(kept) if proof.proven else ())


def _cut(file: ChangedFile, proof: NewTests) -> ChangedFile:
    tests = proof.idle.get(file.path, ())
    if not tests or file.after is None:
        return file
    return file.model_copy(update={"after": cut_tests(file.after.decode(), tests).encode()})


def list_left_out(proof: NewTests) -> dict[str, str]:
    """The names of the tests and files that are not handed in, each with the reason as a clause."""
    idle = [(path, test.name) for path, tests in proof.idle.items() for test in tests]
    return {
        **dict.fromkeys(proof.unknown, texts.UNKNOWN),
        **{path: texts.explain_failed(why) for path, why in proof.failing.items()},
        **{name if name.startswith(path) else f"{path}::{name}": texts.IDLE for path, name in idle},
    }
