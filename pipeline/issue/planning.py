"""The planning phase of an issue's run: a plan is made once, posted, and approved by people where its risk is high."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue

from agents import planner
from agents.llm.models import LanguageModel, Task, Unusable
from agents.loop.loop import Agent, Done, Stopped, Stuck, work
from agents.loop.tools.files import reading
from agents.loop.turns import Assignment
from agents.planner import PlanningTask, Said
from domain.config.configuration import Configuration
from domain.errors import ForgeError
from domain.gates import Gate, GateRequest, GateState, digest
from domain.github.issues import Issue, IssueComment
from domain.globs import matches
from domain.money import Refusal
from domain.runs.plan import Plan, Planned, Weighed, mistakes
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.text.redaction import outgoing
from memory.budgets import model_answers
from memory.repositories import permits
from memory.runs import checkpoints, outbox, runs
from memory.runs.checkpoints import PastPlan
from messages import plan as plan_texts
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import ask
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import Paying
from pipeline.model_calls.guards import Guarded
from pipeline.model_calls.recall import About
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.runs.lifecycle import said
from pipeline.steps import surely
from pipeline.verdicts.settings import began_with
from safety.gates import request, usual
from safety.guards import TaskKind
from safety.plan_risk import needs_approval, weighed
from workspace.snapshot import Snapshot

_MOST_AUTHORS = 20  # whose live role is asked: first of those who belong here, among them of who wrote last
_TASK = "what the planner is told"
_OURS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


REFUSED = {
    GateState.rejected: ReasonCode.gate_rejected,
    GateState.expired: ReasonCode.gate_timeout,
    GateState.void: ReasonCode.gate_rejected,
}
"""Why a run ends whose question was answered like this."""


class Begun(BaseModel):
    """What a run was started with. ``paused_by`` and ``is_open`` are looked at before anything is spent.

    :param is_open: whether there is something to do: once there is a pull request, what became of that decides.
    """

    configuration: Configuration
    task: PlanningTask
    version: int
    is_open: bool
    paused_by: str | None


@dataclass(frozen=True)
class Ended:
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

    async def read(self) -> JsonValue:
        """What the run is started with, as JSON of :class:`Begun`."""
        services, run = self._services, self._run
        known = await checkpoints.plans(services.database, run)
        configuration = (await began_with(services, run)).configuration
        issue = await services.host.issue(run.repository, run.number)
        issue = issue.model_copy(update=await model_answers.find(services.database, run, model_answers.ISSUE) or {})
        kept = await model_answers.find(services.database, run, _TASK)
        if kept is None:
            task = await self._task(issue, configuration, known[-1] if known else None)
            kept = task.model_dump(mode="json")
            await model_answers.keep(services.database, run, _TASK, kept, services.clock.now())
        begun = Begun(
            configuration=configuration,
            task=PlanningTask.model_validate(kept),
            version=len(known) + 1,
            is_open=issue.is_open or await outbox.proposal_of(services.database, run.id) is not None,
            paused_by=await permits.paused_by(services.database, run.repository),
        )
        return begun.model_dump(mode="json")

    async def plan(self, begun: Begun) -> Weighed | Ended:
        """The plan of this run; it is made once."""
        kept = await self._journal.step("is it planned", self._kept)
        if kept is None:
            ended = await self._have_it_made(begun)
            if ended is not None:
                return ended
            kept = await self._journal.step("is it planned", self._kept)
        return Weighed.model_validate(kept)

    async def post(self, begun: Begun, plan: Weighed) -> None:
        """Show the plan where nothing else was asked for."""
        await self._journal.step("post the plan", lambda: self._post(begun, plan))

    async def approval(self, begun: Begun, plan: Weighed) -> Gate | None:
        """Ask whether the plan may be carried out if its risk is high; the question, if there is one."""
        if not await self._journal.does("plans stand in the comment of the run"):
            await self.post(begun, plan)
        if not needs_approval(plan.level):
            return None  # the comment that says how far the run is shows the plan
        return Gate.model_validate(await self._journal.step("ask people", lambda: self._ask(begun, plan)))

    async def _have_it_made(self, begun: Begun) -> Ended | None:
        """Have a plan made and keep it; how the run ends, if none came of it."""
        model = self._services.models.choose(Task.strong)
        if isinstance(model, Unusable):
            return Ended(RunState.failed, ReasonCode.error, plan_texts.no_model(model.reason))
        match await self._made(begun, model):
            case Done(Planned(plan=Plan() as plan)):
                await self._journal.step("keep the plan", lambda: self._keep(begun, plan))
                return None
            case Done(planned):
                return await self._ask_back(planned.questions)
            case unfinished:
                return await not_finished(self._status, unfinished)

    async def _made(self, begun: Begun, model: LanguageModel) -> Done[Planned] | Stuck | Stopped:
        """Let the planner work on the code as it was when the run began."""
        tools = reading(await surely(self._snapshot), never_send=begun.configuration.review.never_send, redact=outgoing)
        assignment = Assignment(
            key="plan", instructions=planner.instructions(), content=planner.content(begun.task, outgoing)
        )
        about = About(f"{begun.task.title}\n{begun.task.issue.text}")
        task = Guarded("plan ", TaskKind.research)
        paying = Paying(self._services, self._journal, self._run, Phase.planning, begun.configuration, about, task)
        steps = AgentSteps(
            self._services, self._journal, self._run, Phase.planning, paying, assignment, Planned, tools, model
        )
        return await work(Agent(Planned, tools, mistakes), steps)

    async def _ask_back(self, questions: Sequence[str]) -> Ended:
        """The issue leaves open what is wanted: that is asked, not guessed."""
        text = plan_texts.questions(questions, spent=await self._status.spent())
        await self._journal.step("post the questions", lambda: said(self._status.post("questions", text)))
        return Ended(RunState.completed, ReasonCode.questions, "")

    # --- steps -------------------------------------------------------------------------------------------------

    async def _task(self, issue: Issue, configuration: Configuration, earlier: PastPlan | None) -> PlanningTask:
        """What the planner is told; kept, since an edit of the issue in the middle must not change it."""
        host, run = self._services.host, self._run
        comments = [each for each in await self._comments() if not each.is_app]
        known = sorted(comments, key=lambda each: (each.author_association not in _OURS, -each.id))
        roles = await self._roles([(issue.author_login, issue.author_id), *map(_author, known)])
        spoken = [
            (each, Said(login=each.author_login, role=roles.get(each.author_id, "none"), text=each.body))
            for each in comments
        ]
        since = None if earlier is None else earlier.at
        return PlanningTask(
            number=run.number,
            title=issue.title,
            issue=Said(login=issue.author_login, role=roles.get(issue.author_id, "none"), text=issue.body),
            comments=tuple(words for each, words in spoken if since is None or each.created_at <= since),
            default_branch=(await host.default_branch(run.repository)).name,
            entries=_top_level(await self._snapshot(), configuration.review.never_send),
            earlier=None if earlier is None else earlier.plan.plan,
            replies=tuple(words for each, words in spoken if since is not None and each.created_at > since),
        )

    async def _comments(self) -> list[IssueComment]:
        """What was said before the run began: what is said later, such as an answer to a gate, does not change it."""
        began = await runs.began(self._services.database, self._run.id)
        every = await self._services.host.issue_comments(self._run.repository, self._run.number)
        return [each for each in every if began is None or each.created_at <= began]

    async def _roles(self, authors: Sequence[tuple[str, int | None]]) -> dict[int | None, str]:
        """The live roles of those who wrote, as far as they are asked."""
        known = {account: login for login, account in reversed(authors) if account is not None}
        asked = list(known.items())[-_MOST_AUTHORS:]
        repository, host = self._run.repository, self._services.host
        return {account: await host.permission(repository, login, account) for account, login in asked}

    async def _snapshot(self) -> Snapshot:
        """The code as it was when the run was admitted."""
        return await Snapshot.of(await fetch_mirror(self._services, self._run), self._run.head_sha)

    async def _kept(self) -> JsonValue:
        plan = await checkpoints.load_plan(self._services.database, self._run)
        return None if plan is None else plan.model_dump(mode="json")

    async def _keep(self, begun: Begun, plan: Plan) -> JsonValue:
        services = self._services
        judged = weighed(plan, begun.configuration.paths)
        await checkpoints.save_plan(services.database, self._run, judged, services.clock.now())
        return judged.level.value

    async def _post(self, begun: Begun, plan: Weighed) -> JsonValue:
        text = plan_texts.comment(plan, version=begun.version, spent=await self._status.spent())
        await self._status.post("plan", text)
        return None

    async def _ask(self, begun: Begun, plan: Weighed) -> JsonValue:
        gate = await ask(self._services, self._run, _request(self._run, plan, begun))
        return gate.model_dump(mode="json")


async def not_finished(status: IssueStatus, unfinished: Stuck | Stopped) -> Ended:
    """How a run ends whose agent does not get on, or may not."""
    spent = await status.spent()
    match unfinished:
        case Stuck(why):
            return Ended(RunState.failed, ReasonCode.stuck, plan_texts.stuck(why, spent=spent))
        case Stopped(_, Refusal() as refusal):
            return Ended(RunState.failed, ReasonCode.breaker, plan_texts.refused(refusal, spent=spent))
        case Stopped(why):
            text = plan_texts.failed(ForgeError(why), status.run.id, spent=spent)
            return Ended(RunState.failed, ReasonCode.error, text)


def _request(run: Run, plan: Weighed, begun: Begun) -> GateRequest:
    """Bound to the code it was made for and to every word of the plan."""
    subject = digest("architecture_approval", run.base_sha, plan.model_dump_json())
    prompt = f"The risk of this plan is {plan.level.value}. May it be carried out?"
    options = usual("architecture_approval", "the run ends, and nothing is changed")
    name, phase = "architecture_approval", Phase.planning
    shows = plan_texts.asked(plan, version=begun.version)
    return request(name, phase, subject, prompt, plan.reasons, begun.configuration, options=options, shows=shows)


def _author(comment: IssueComment) -> tuple[str, int | None]:
    return comment.author_login, comment.author_id


def _top_level(snapshot: Snapshot, never_send: Sequence[str]) -> tuple[str, ...]:
    """The entries of the topmost folder, without what is never sent; folders end with a slash."""
    names = (path.partition("/") for path in snapshot.files if not matches(path, never_send))
    return tuple(dict.fromkeys(f"{name}{slash}" for name, slash, _ in names))
