"""The planning phase of an issue's run: a plan is made once, posted, and approved by people where its risk is high."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue

from agents import planner
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.loop.loop import Agent, Done, Stopped, Stuck, run_agent
from agents.loop.tools.files import make_file_tools
from agents.loop.turns import Assignment
from agents.planner import AuthoredText, PlanningTask
from domain.config.configuration import Configuration
from domain.errors import ForgeError
from domain.gates import Gate, GateRequest, GateState, digest
from domain.github.issues import Issue, IssueComment
from domain.globs import matches
from domain.money import Refusal
from domain.runs.plan import Plan, Planned, RatedPlan, find_mistakes
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.text.redaction import redact_outgoing
from memory.budgets import model_answers
from memory.repositories import permits
from memory.runs import checkpoints, outbox, runs
from memory.runs.checkpoints import PastPlan
from messages import plan as plan_texts
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import open_gate
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.recall import RecallTopic
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.runs.lifecycle import answer_nothing
from pipeline.steps import run_outside_journal
from pipeline.verdicts.settings import load_start_configuration
from safety.gates import build_request, default_options
from safety.guards import TaskKind
from safety.plan_risk import needs_approval, rate_plan
from workspace.snapshot import Snapshot

_MAX_AUTHORS = 20  # whose live role is asked: first of those who belong here, among them of who wrote last
_TASK_KEY = "what the planner is told"
_MEMBER_ASSOCIATIONS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


REFUSAL_REASONS = {
    GateState.rejected: ReasonCode.gate_rejected,
    GateState.expired: ReasonCode.gate_timeout,
    GateState.void: ReasonCode.gate_rejected,
}
"""Why a run ends whose question was answered like this."""


class IssueRunInput(BaseModel):
    """What a run was started with. ``paused_by`` and ``is_open`` are looked at before anything is spent.

    :param is_open: whether there is something to do: once there is a pull request, what became of that decides.
    """

    configuration: Configuration
    task: PlanningTask
    version: int
    is_open: bool
    paused_by: str | None


@dataclass(frozen=True)
class RunEnd:
    """How a run ends before it has what it was asked for.

    :param text: what its comment says.
    """

    state: RunState
    reason: ReasonCode
    text: str


class Planning:
    """The first phase of an issue's run: read the issue, have a plan made, post it, ask where its risk is high."""

    def __init__(self, services: Services, journal: WorkflowJournal, run: Run) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._status = IssueStatus(services, run)

    async def read_issue(self) -> JsonValue:
        """What the run is started with, as JSON of :class:`IssueRunInput`."""
        services, run = self._services, self._run
        known = await checkpoints.list_plans(services.database, run)
        configuration = (await load_start_configuration(services, run)).configuration
        issue = await services.host.issue(run.repository, run.number)
        issue = issue.model_copy(update=await model_answers.find(services.database, run, model_answers.ISSUE) or {})
        kept = await model_answers.find(services.database, run, _TASK_KEY)
        if kept is None:
            task = await self._build_task(issue, configuration, known[-1] if known else None)
            kept = task.model_dump(mode="json")
            await model_answers.keep(services.database, run, _TASK_KEY, kept, services.clock.now())
        begun = IssueRunInput(
            configuration=configuration,
            task=PlanningTask.model_validate(kept),
            version=len(known) + 1,
            is_open=issue.is_open or await outbox.find_proposal(services.database, run.id) is not None,
            paused_by=await permits.find_pauser(services.database, run.repository),
        )
        return begun.model_dump(mode="json")

    async def make_plan(self, begun: IssueRunInput) -> RatedPlan | RunEnd:
        """The plan of this run; it is made once."""
        kept = await self._journal.step("is it planned", self._load_plan)
        if kept is None:
            ended = await self._plan_and_keep(begun)
            if ended is not None:
                return ended
            kept = await self._journal.step("is it planned", self._load_plan)
        return RatedPlan.model_validate(kept)

    async def post_plan(self, begun: IssueRunInput, plan: RatedPlan) -> None:
        """Show the plan where nothing else was asked for."""
        await self._journal.step("post the plan", lambda: self._post_comment(begun, plan))

    async def ask_approval(self, begun: IssueRunInput, plan: RatedPlan) -> Gate | None:
        """Ask whether the plan may be carried out if its risk is high; the question, if there is one."""
        if not await self._journal.has_patch("plans stand in the comment of the run"):
            await self.post_plan(begun, plan)
        if not needs_approval(plan.level):
            return None  # the comment that says how far the run is shows the plan
        return Gate.model_validate(await self._journal.step("ask people", lambda: self._open_gate(begun, plan)))

    async def _plan_and_keep(self, begun: IssueRunInput) -> RunEnd | None:
        """Have a plan made and keep it; how the run ends, if none came of it."""
        model = self._services.models.choose(ModelTier.strong)
        if isinstance(model, Unusable):
            return RunEnd(RunState.failed, ReasonCode.error, plan_texts.no_model(model.reason))
        match await self._run_planner(begun, model):
            case Done(Planned(plan=Plan() as plan)):
                await self._journal.step("keep the plan", lambda: self._save_plan(begun, plan))
                return None
            case Done(planned):
                return await self._ask_questions(planned.questions)
            case unfinished:
                return await end_unfinished(self._status, unfinished)

    async def _run_planner(self, begun: IssueRunInput, model: LanguageModel) -> Done[Planned] | Stuck | Stopped:
        """Let the planner work on the code as it was when the run began."""
        tools = make_file_tools(
            await run_outside_journal(self._load_snapshot),
            never_send=begun.configuration.review.never_send,
            redact=redact_outgoing,
        )
        assignment = Assignment(
            key="plan",
            instructions=planner.load_instructions(),
            content=planner.build_content(begun.task, redact_outgoing),
        )
        about = RecallTopic(f"{begun.task.title}\n{begun.task.issue.text}")
        task = GuardedTask("plan ", TaskKind.research)
        paying = BudgetedCalls(
            self._services, self._journal, self._run, Phase.planning, begun.configuration, about, task
        )
        steps = AgentSteps(
            self._services, self._journal, self._run, Phase.planning, paying, assignment, Planned, tools, model
        )
        return await run_agent(Agent(Planned, tools, find_mistakes), steps)

    async def _ask_questions(self, questions: Sequence[str]) -> RunEnd:
        """The issue leaves open what is wanted: that is asked, not guessed."""
        text = plan_texts.render_questions(questions, spent=await self._status.load_cost())
        await self._journal.step("post the questions", lambda: answer_nothing(self._status.post("questions", text)))
        return RunEnd(RunState.completed, ReasonCode.questions, "")

    # --- steps -------------------------------------------------------------------------------------------------

    async def _build_task(self, issue: Issue, configuration: Configuration, earlier: PastPlan | None) -> PlanningTask:
        """What the planner is told; kept, since an edit of the issue in the middle must not change it."""
        host, run = self._services.host, self._run
        comments = [each for each in await self._load_comments() if not each.is_app]
        known = sorted(comments, key=lambda each: (each.author_association not in _MEMBER_ASSOCIATIONS, -each.id))
        roles = await self._load_roles([(issue.author_login, issue.author_id), *map(_get_author, known)])
        spoken = [
            (each, AuthoredText(login=each.author_login, role=roles.get(each.author_id, "none"), text=each.body))
            for each in comments
        ]
        since = None if earlier is None else earlier.at
        return PlanningTask(
            number=run.number,
            title=issue.title,
            issue=AuthoredText(login=issue.author_login, role=roles.get(issue.author_id, "none"), text=issue.body),
            comments=tuple(words for each, words in spoken if since is None or each.created_at <= since),
            default_branch=(await host.default_branch(run.repository)).name,
            entries=_list_top_level(await self._load_snapshot(), configuration.review.never_send),
            earlier=None if earlier is None else earlier.plan.plan,
            replies=tuple(words for each, words in spoken if since is not None and each.created_at > since),
        )

    async def _load_comments(self) -> list[IssueComment]:
        """What was said before the run began: what is said later, such as an answer to a gate, does not change it."""
        began = await runs.get_started_at(self._services.database, self._run.id)
        every = await self._services.host.issue_comments(self._run.repository, self._run.number)
        return [each for each in every if began is None or each.created_at <= began]

    async def _load_roles(self, authors: Sequence[tuple[str, int | None]]) -> dict[int | None, str]:
        """The live roles of those who wrote, as far as they are asked."""
        known = {account: login for login, account in reversed(authors) if account is not None}
        asked = list(known.items())[-_MAX_AUTHORS:]
        repository, host = self._run.repository, self._services.host
        return {account: await host.permission(repository, login, account) for account, login in asked}

    async def _load_snapshot(self) -> Snapshot:
        """The code as it was when the run was admitted."""
        return await Snapshot.of(await fetch_mirror(self._services, self._run), self._run.head_sha)

    async def _load_plan(self) -> JsonValue:
        plan = await checkpoints.load_plan(self._services.database, self._run)
        return None if plan is None else plan.model_dump(mode="json")

    async def _save_plan(self, begun: IssueRunInput, plan: Plan) -> JsonValue:
        services = self._services
        judged = rate_plan(plan, begun.configuration.paths)
        await checkpoints.save_plan(services.database, self._run, judged, services.clock.now())
        return judged.level.value

    async def _post_comment(self, begun: IssueRunInput, plan: RatedPlan) -> JsonValue:
        text = plan_texts.render_comment(plan, version=begun.version, spent=await self._status.load_cost())
        await self._status.post("plan", text)
        return None

    async def _open_gate(self, begun: IssueRunInput, plan: RatedPlan) -> JsonValue:
        gate = await open_gate(self._services, self._run, _build_request(self._run, plan, begun))
        return gate.model_dump(mode="json")


async def end_unfinished(status: IssueStatus, unfinished: Stuck | Stopped) -> RunEnd:
    """How a run ends whose agent does not get on, or may not."""
    spent = await status.load_cost()
    match unfinished:
        case Stuck(why):
            return RunEnd(RunState.failed, ReasonCode.stuck, plan_texts.report_stuck(why, spent=spent))
        case Stopped(_, Refusal() as refusal):
            return RunEnd(RunState.failed, ReasonCode.breaker, plan_texts.report_refusal(refusal, spent=spent))
        case Stopped(why):
            text = plan_texts.report_failure(ForgeError(why), status.run.id, spent=spent)
            return RunEnd(RunState.failed, ReasonCode.error, text)


def _build_request(run: Run, plan: RatedPlan, begun: IssueRunInput) -> GateRequest:
    """Bound to the code it was made for and to every word of the plan."""
    subject = digest("architecture_approval", run.base_sha, plan.model_dump_json())
    prompt = f"The risk of this plan is {plan.level.value}. May it be carried out?"
    options = default_options("architecture_approval", "the run ends, and nothing is changed")
    name, phase = "architecture_approval", Phase.planning
    shows = plan_texts.render_question(plan, version=begun.version)
    return build_request(name, phase, subject, prompt, plan.reasons, begun.configuration, options=options, shows=shows)


def _get_author(comment: IssueComment) -> tuple[str, int | None]:
    return comment.author_login, comment.author_id


def _list_top_level(snapshot: Snapshot, never_send: Sequence[str]) -> tuple[str, ...]:
    """The entries of the topmost folder, without what is never sent; folders end with a slash."""
    names = (path.partition("/") for path in snapshot.files if not matches(path, never_send))
    return tuple(dict.fromkeys(f"{name}{slash}" for name, slash, _ in names))
