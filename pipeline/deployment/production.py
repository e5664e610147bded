"""Tells people of a problem in production, in one issue, as a durable workflow; and lets a deployment hold.

The issue is opened once, with the deployment with which the problem came and what of its stack that changed, and one
comment below it is kept up to date. The works of one problem run one after the other, so that it never gets two issues.
Those of other problems do not wait for it: bringing an issue up to date may have to wait for minutes.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import structlog

from domain.config.configuration import Configuration
from domain.deployments.deployment import Deployment, DeploymentState, Wish
from domain.deployments.problems import (
    MOST_ISSUES,
    UPDATE_INTERVAL,
    IssueFacts,
    ProductionProblem,
    ReportStep,
    StepChoice,
    Suspect,
    choose_step,
    find_suspects,
)
from domain.deployments.stack import parse_stack
from domain.errors import CodeAccessError, ForgeError, HostFailure, NotFound
from domain.runs.run import RepositoryRef
from memory.deployments import deployments, problems
from memory.repositories import addresses
from messages import production as texts
from messages.production import ProblemOrigin
from pipeline.checkout import fetch_commits
from pipeline.config import loading
from pipeline.context import Services
from pipeline.deployment.orders import ask_of_deployment
from pipeline.deployment.production_intake import find_obstacle
from pipeline.durable.journal import WorkflowJournal
from pipeline.publishing import issue_comment
from pipeline.publishing.comments import keep_comment

log = structlog.get_logger(__name__)

_GONE = "It is not known any more."
_SHOWN = "The issue says all of it already."
_ENDED = "Its issue was closed, and it is over."


class ProblemRun:
    """What follows from the reports about one problem since the last time."""

    def __init__(self, services: Services, problem_id: str, workflow_id: str) -> None:
        self._services = services
        self._database = services.database
        self._problem_id = problem_id
        self._journal = WorkflowJournal(services, workflow_id, pauses=services.long_pauses)

    async def execute(self) -> str:
        """Open an issue, or bring the open one up to date; how it ended."""
        try:
            return await self._tell()
        except ForgeError as error:
            log.warning("production.not_told", problem=self._problem_id, error=str(error))
            await problems.note_unsaid(self._database, self._problem_id, error.message)
            return f"failed: {error.message}"

    async def _tell(self) -> str:
        wait = await self._journal.step("how long to wait", self._find_wait)
        if wait > timedelta():
            await self._journal.pause(wait, "The issue about production was brought up to date a moment ago.")
        choice = await self._journal.step("what to do", self._choose)
        match choice.step:
            case ReportStep.open:
                return await self._journal.step("open an issue", self._open)
            case ReportStep.update:
                return await self._journal.step("bring it up to date", self._update)
            case ReportStep.record:
                if choice.why != _SHOWN:
                    await problems.note_unsaid(self._database, self._problem_id, choice.why)
                return choice.why

    async def _find_wait(self) -> timedelta:
        problem = await problems.load(self._database, self._problem_id)
        if problem is None or problem.issue is None or problem.closed_at is not None or problem.shown_at is None:
            return timedelta()
        return max(timedelta(), problem.shown_at + UPDATE_INTERVAL - self._services.clock.now())

    async def _choose(self) -> StepChoice:
        problem = await problems.begin(self._database, self._problem_id)
        repository = None if problem is None else await self._find_repository(problem)
        if problem is None or repository is None:
            return StepChoice(step=ReportStep.record, why=_GONE)
        facts = await self._look_at_issue(repository, problem)
        told_at = max(problem.last_seen, problem.resolved_at or problem.last_seen)
        if facts.is_open and problem.shown_at is not None and problem.shown_at > told_at:
            return StepChoice(step=ReportStep.record, why=_SHOWN)
        if facts.is_open is False and problem.resolved_at is not None:
            return StepChoice(step=ReportStep.record, why=_ENDED)
        if not facts.is_open:
            origin = await find_origin(self._services, problem)
            facts = replace(
                facts,
                deployed_at=None if origin.deployment is None else origin.deployment.created_at,
                obstacle=await find_obstacle(self._services.database, repository, await self._load(repository)),
            )
        now = self._services.clock.now()
        choice = choose_step(facts, now)
        if choice.step is not ReportStep.open:
            return choice
        if not await problems.reserve_issue(self._database, problem.id, repository.id, now):
            return StepChoice(step=ReportStep.record, why=f"{MOST_ISSUES} issues were opened within a day.")
        return choice

    async def _look_at_issue(self, repository: RepositoryRef, problem: ProductionProblem) -> IssueFacts:
        """Whether the newest issue is open now; one that is gone counts as closed."""
        if problem.issue is None:
            return IssueFacts()
        closed_at = problem.closed_at or self._services.clock.now()
        try:
            issue = await self._services.host.issue(repository, problem.issue)
        except NotFound:
            issue = None
        if issue is not None and issue.is_open:
            await problems.note_closed(self._database, problem.id, None)
            return IssueFacts(is_open=True)
        if issue is not None and issue.closed_at is not None:
            closed_at = issue.closed_at
        await problems.note_closed(self._database, problem.id, closed_at)
        return IssueFacts(is_open=False, closed_at=closed_at)

    async def _open(self) -> str:
        now = self._services.clock.now()  # what is reported from here on may be left out of the issue
        problem = await problems.load(self._database, self._problem_id)
        repository = None if problem is None else await self._find_repository(problem)
        if problem is None or repository is None:
            return _GONE
        origin = await find_origin(self._services, problem)
        deployment_id = None
        if origin.deployment is not None:
            deployment_id = origin.deployment.run_id
            suspects = await list_suspects(self._services, repository, problem, origin.deployment)
            origin = replace(origin, compared=suspects is not None)
            problem = problem.model_copy(update={"suspects": tuple(suspects or ())})
        await problems.keep_origin(self._database, problem.id, deployment_id, problem.suspects)
        label = (await self._load(repository)).deploy.feedback.label
        number = await open_issue(self._services, repository, problem, origin, () if label is None else (label,))
        trace = deployment_id or f"{repository.id}"
        await problems.keep_issue(self._database, problem, number, trace, now)
        if problem.resolved_at is not None:  # before anybody was told
            await self._update()
        return f"opened #{number}"

    async def _update(self) -> str:
        now = self._services.clock.now()  # as in _open
        problem = await problems.load(self._database, self._problem_id)
        repository = None if problem is None else await self._find_repository(problem)
        if problem is None or repository is None or problem.issue is None:
            return _GONE
        label = (await self._load(repository)).deploy.feedback.resolved_label
        await update_issue(self._services, repository, problem, problem.issue, label)
        await problems.note_shown(self._database, problem.id, now)
        return f"updated #{problem.issue}"

    async def _find_repository(self, problem: ProductionProblem) -> RepositoryRef | None:
        return await addresses.find_address(self._database, problem.repository_id)

    async def _load(self, repository: RepositoryRef) -> Configuration:
        return await loading.load_configuration(self._services, repository)


async def hold_deployment(services: Services, problem_id: str, deployment_id: str, workflow_id: str) -> str:
    """Ask a deployment under way to hold, because monitoring says that something is not as usual."""
    journal = WorkflowJournal(services, workflow_id, pauses=services.long_pauses)
    return await journal.step("ask it to hold", _ask_to_hold, services, problem_id, deployment_id)


async def _ask_to_hold(services: Services, problem_id: str, deployment_id: str) -> str:
    """What people asked of it goes first."""
    deployment = await deployments.get(services.database, deployment_id)
    if deployment is None or deployment.state is not DeploymentState.rolling_out or deployment.wish is not None:
        return "it needs no hold"
    if not await ask_of_deployment(services, deployment, Wish.hold, texts.ASKED_BY):
        return "it is over"
    now = services.clock.now()
    await problems.record_hold(services.database, deployment.repository_id, deployment_id, problem_id, now)
    return "asked to hold"


_MARK = "production"


async def open_issue(
    services: Services,
    repository: RepositoryRef,
    problem: ProductionProblem,
    origin: ProblemOrigin,
    labels: Sequence[str],
) -> int:
    """Open an issue about a problem, unless an earlier attempt did; its number."""
    named = f"{problem.id}/{problem.opened}"
    marker = services.markers.make(_MARK, named)
    body = texts.render_issue(problem, origin, marker)
    return await issue_comment.open_issue(
        services, repository, f"{_MARK} {named}", marker, texts.title_problem(problem), body, labels
    )


async def update_issue(
    services: Services, repository: RepositoryRef, problem: ProductionProblem, number: int, resolved_label: str | None
) -> None:
    """Say below an issue how often its problem was seen by now, or that it is over: in one comment, which is edited.

    The body stays as it is: a run reads it as its order, and people may have changed it.

    :param resolved_label: for as long as it is over.
    """
    named = f"{problem.id}/{problem.opened}/seen"
    marker = services.markers.make(_MARK, named)
    text = texts.render_counters(problem, marker)
    await keep_comment(services, repository, number, f"{_MARK} {named}", marker, text)
    if resolved_label is None:
        return
    await issue_comment.set_label(services, repository, number, resolved_label, is_on=problem.resolved_at is not None)


async def find_origin(services: Services, problem: ProductionProblem) -> ProblemOrigin:
    """The deployment that the sender names, or the newest of the commit it names, or what the environment runs.

    A deployment that is under way has reached a part of the people already, so it goes before what was there.
    """
    database, report = services.database, problem.report
    named = await _find_named(services, problem)
    if named is not None:
        return ProblemOrigin(named, is_named=True)
    for each in await deployments.list_open(database, problem.repository_id, report.environment):
        if not each.is_untouched:
            return ProblemOrigin(each, is_under_way=True)
    return ProblemOrigin(await deployments.find_there(database, problem.repository_id, report.environment))


async def _find_named(services: Services, problem: ProductionProblem) -> Deployment | None:
    database, repository_id = services.database, problem.repository_id
    anomaly, commit = problem.anomaly, problem.report.commit
    run_id = None
    if anomaly is not None and anomaly.deployment is not None:
        run_id = await problems.find_deployment(database, repository_id, anomaly.deployment)
    if run_id is None and commit is not None:
        run_id = await problems.find_deployment_of_commit(database, repository_id, problem.report.environment, commit)
    return None if run_id is None else await deployments.get(database, run_id)


async def list_suspects(
    services: Services, repository: RepositoryRef, problem: ProductionProblem, deployment: Deployment
) -> Sequence[Suspect] | None:
    """The places of a stack that are in files which a deployment changed; None if they cannot be compared.

    :raises RateLimited: GitHub may be asked later.
    """
    if problem.error is None or not deployment.previous_sha:
        return None
    stack = parse_stack(problem.error.stack)
    try:
        sha, before = deployment.sha, deployment.previous_sha
        mirror = await fetch_commits(services, repository, deployment.number, sha, before)
        return find_suspects(stack.frames, await mirror.change(before, sha))
    except (CodeAccessError, HostFailure) as error:
        log.warning("production.not_compared", problem=problem.id, deployment=deployment.run_id, error=str(error))
        return None
