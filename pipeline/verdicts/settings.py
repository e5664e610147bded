"""Loads the settings of a run: its configuration, its pull request, what people asked, why it is not reviewed."""

from enum import StrEnum

from pydantic import ValidationError

from agents.coding.planner import PlanningTask
from domain.config.configuration import Configuration
from domain.config.presets import apply_ceilings, tighten
from domain.github.pull_requests import PullRequest
from domain.review.reading import Effort
from domain.runs.run import ExecutionMode, Run, Trigger
from domain.value import Value
from memory import gates
from memory.db.engine import Database
from memory.repositories import permits
from memory.runs import model_answers, outbox, runs
from messages.review import explain_left_alone
from pipeline.config import check, loading
from pipeline.config.parsing import LoadedConfiguration
from pipeline.context import Services
from safety.eligibility import WINDOW, find_exclusion, over_quota


class NotReviewedKind(StrEnum):
    """Why a run ends without a review."""

    paused = "paused"  # a person paused Forge in the repository
    over_quota = "over_quota"  # too many reviews without anybody asking
    off = "off"  # reviews are off in the repository, until somebody asks
    excluded = "excluded"  # by the repository's configuration, until somebody asks; a draft, until it is ready
    filtered = "filtered"  # the configuration leaves out every file of it, whoever asks


class NotReviewed(Value):
    """Why a run ends without a review.

    :param why: for people; of a pause who paused.
    """

    kind: NotReviewedKind
    why: str


class RunSettings(Value):
    """The configuration and the pull request as they were when a run began; in journals.

    :param is_own: whether Forge proposed the pull request.
    :param not_reviewed: why it is not reviewed, if it is not.
    """

    configuration: Configuration
    problem: str | None
    pull_request: PullRequest
    is_own: bool = False
    not_reviewed: NotReviewed | None = None


class KeptConfiguration(Value):
    """The configuration that a run began with.

    :param problem: what was wrong with the file, in sentences for people.
    """

    configuration: Configuration
    problem: str | None = None


_KEPT_KEY = "what is configured"


async def load_settings(services: Services, run: Run) -> RunSettings:
    """The settings of a run at this moment."""
    loaded = await load_start_configuration(services, run)
    pull_request = await services.host.pull_request(run.repository, run.number)
    is_own = await is_own_pull_request(services, run, pull_request)
    return RunSettings(
        configuration=await _apply_effort(services.database, run, loaded.configuration),
        problem=loaded.problem,
        pull_request=pull_request,
        is_own=is_own,
        not_reviewed=await _find_exclusion(services, run, pull_request, loaded.configuration, is_own=is_own),
    )


async def _apply_effort(database: Database, run: Run, configuration: Configuration) -> Configuration:
    """The configuration with the effort that a person asked for in this run."""
    asked = await model_answers.find(database, run, model_answers.EFFORT)
    if asked is None:
        return configuration
    review = configuration.review.model_copy(update={"effort": Effort(asked["effort"])})
    return configuration.model_copy(update={"review": review})


async def _find_exclusion(
    services: Services, run: Run, pull_request: PullRequest, configuration: Configuration, *, is_own: bool
) -> NotReviewed | None:
    paused_by = await permits.find_pauser(services.database, run.repository)
    if paused_by is not None:
        return NotReviewed(kind=NotReviewedKind.paused, why=paused_by)
    is_asked = run.trigger is not Trigger.pull_request
    excess = None if is_asked else await _find_quota_excess(services, run, pull_request)
    if excess is not None:
        return NotReviewed(kind=NotReviewedKind.over_quota, why=excess)
    left_by = None if is_asked else await permits.find_left_alone_by(services.database, run.repository, run.number)
    if left_by is not None:
        return NotReviewed(kind=NotReviewedKind.excluded, why=explain_left_alone(left_by))
    reason = find_exclusion(pull_request, configuration.review, run.repository.id, asked=is_asked or is_own)
    if reason is None:
        return None
    kind = NotReviewedKind.excluded if configuration.review.on_pull_request else NotReviewedKind.off
    return NotReviewed(kind=kind, why=reason.text)


async def load_start_configuration(services: Services, run: Run) -> KeptConfiguration:
    """The configuration with which the run began, and what was tightened since.

    A run that waited for a person for days keeps the limits it was started with. New limits on what is sent, posted
    or learned, and the operator's ceilings, apply at once.
    """
    now = await loading.load_live(services, run.repository)
    found = await model_answers.find(services.database, run, _KEPT_KEY)
    try:
        kept = KeptConfiguration.model_validate(found or {})
    except ValidationError:  # nothing is kept yet, or the rules have become stricter since
        return await _keep(services, run, now)
    held = apply_ceilings(tighten(kept.configuration, now.configuration), services.ceilings.of_configuration)
    return kept.model_copy(update={"configuration": held})


async def find_mode(database: Database, run: Run) -> ExecutionMode | None:
    """The mode in which the run of an issue changes files; None for other runs, and where it is not known any more."""
    if run.mode is not None or run.trigger is not Trigger.issue:
        return run.mode
    found = await model_answers.find(database, run, _KEPT_KEY)
    try:
        return None if found is None else KeptConfiguration.model_validate(found).configuration.execution.mode
    except ValidationError:  # the rules have become stricter since
        return None


async def refresh_configuration(services: Services, run: Run) -> None:
    """Give a run that a person resumed the configuration of now: the old one may be why it failed."""
    await _keep(services, run, await loading.load_live(services, run.repository))


async def _keep(services: Services, run: Run, now: LoadedConfiguration) -> KeptConfiguration:
    problem = now.problem or await check.find_misplaced(services.host, run.repository, now)
    kept = KeptConfiguration(configuration=now.configuration, problem=problem)
    await model_answers.keep(services.database, run, _KEPT_KEY, kept.model_dump(mode="json"), services.clock.now())
    return kept


async def is_own_pull_request(services: Services, run: Run, pull_request: PullRequest) -> bool:
    """Whether Forge opened the pull request, because a person asked for it."""
    if not pull_request.author_is_bot or pull_request.is_from_fork(run.repository.id):
        return False
    return pull_request.author_login == (await services.host.signature(run.repository)).name


async def _find_quota_excess(services: Services, run: Run, pull_request: PullRequest) -> str | None:
    """Only runs that a push started are counted and limited: a person who asks is answered."""
    begun_by_pushes = await runs.count_begun(services.database, run, services.clock.now() - WINDOW)
    reason = over_quota(begun_by_pushes, from_fork=pull_request.is_from_fork(run.repository.id))
    return None if reason is None else reason.text


async def load_request(database: Database, run: Run) -> str:
    """The issue of a run, what those who may write to the repository said there, and on what terms they approved.

    Empty if the run has no issue.
    """
    kept = await model_answers.find(database, run, model_answers.TASK)
    if kept is None:
        return ""
    known = await gates.list_for_run(database, run.id)
    return "\n".join(
        [PlanningTask.model_validate(kept).request, *(gate.conditions for gate in known if gate.conditions)]
    )


async def load_request_of_pull_request(database: Database, repository_id: int, number: int) -> str:
    """The same of the run that opened a pull request; empty if none did."""
    run = await outbox.find_proposing_run(database, repository_id, number)
    return "" if run is None else await load_request(database, run)
