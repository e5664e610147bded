"""Plans an instruction, carries it out and tests what was made, on the code of its pull request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agents.llm.models import ModelTier, Unusable
from agents.loop.loop import Done
from domain.runs.patches import ChangeSet
from domain.runs.plan import Plan, Planned, RatedPlan
from domain.runs.run import Phase, ReasonCode, RunState
from messages import instructions as texts
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.draft_commits import BuiltChange, DraftCommits
from pipeline.issue.implementation import Implementation
from pipeline.issue.instruction.draft_tests import DraftTests, TestedDraft
from pipeline.issue.instruction.proven_tests import ProvenTests
from pipeline.issue.instruction.start import Start
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.plan_approval import GrantedPaths, approve_plan
from pipeline.issue.planning import load_plan, run_planner, save_plan
from pipeline.issue.status_comment import RunEnd, end_unfinished
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import enter_phase, leave_phase
from safety.plan_risk import is_small, list_grantable, needs_approval


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
