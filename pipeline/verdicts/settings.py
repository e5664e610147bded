"""Finds out what holds when a run begins: configuration, pull request, and what speaks against a review."""

from pydantic import BaseModel, ValidationError

from domain.config.configuration import Configuration
from domain.config.presets import apply_ceilings, tighten
from domain.github.pull_requests import PullRequest
from domain.runs.run import Run, Trigger
from memory.budgets import model_answers
from memory.repositories import permits
from memory.runs import runs
from pipeline.config import loading, memory_file
from pipeline.config.loading import LoadedConfiguration
from pipeline.context import Services
from safety.eligibility import DRAFT, find_exclusion
from safety.review_quota import WINDOW, over_quota


class RunSettings(BaseModel):
    """What a run was started with: the configuration that held and the pull request as it was.

    :param is_own: whether Forge proposed it.
    :param is_unready: it is left out as long as it is a draft, which may be over at any moment.
    """

    configuration: Configuration
    problem: str | None
    pull_request: PullRequest
    is_own: bool = False
    excluded: str | None
    is_unready: bool = False
    paused_by: str | None = None
    over_quota: str | None = None


class KeptConfiguration(BaseModel):
    """What a run began with, of what is configured.

    :param problem: what was wrong with a file, in sentences for people.
    """

    configuration: Configuration
    problem: str | None = None


_KEPT_KEY = "what is configured"


async def load_settings(services: Services, run: Run) -> RunSettings:
    """What holds for a run at this moment."""
    loaded = await load_start_configuration(services, run)
    unread = await memory_file.find_problem(services, run.repository, run.id)
    pull_request = await services.host.pull_request(run.repository, run.number)
    asked = run.trigger is not Trigger.pull_request
    own = await is_own_pull_request(services, run, pull_request)
    reason = find_exclusion(pull_request, loaded.configuration.review, run.repository.id, asked=asked or own)
    return RunSettings(
        configuration=loaded.configuration,
        problem=" ".join(each for each in (loaded.problem, unread) if each) or None,
        pull_request=pull_request,
        is_own=own,
        excluded=None if reason is None else reason.text,
        is_unready=reason is not None and reason.code == DRAFT,
        paused_by=await permits.find_pauser(services.database, run.repository),
        over_quota=None if asked else await _find_quota_excess(services, run, pull_request),
    )


async def load_start_configuration(services: Services, run: Run) -> KeptConfiguration:
    """The configuration that held when the run began, with what was tightened since.

    A run that waited for a person for days goes on under the limits it was started with; what is not to be sent, said
    or learned any more, and the operator's ceilings, hold at once.
    """
    now = await load_configuration(services, run)
    found = await model_answers.find(services.database, run, _KEPT_KEY)
    try:
        kept = KeptConfiguration.model_validate(found or {})
    except ValidationError:  # nothing is kept yet, or the rules have become stricter since
        return await _keep(services, run, now)
    held = apply_ceilings(tighten(kept.configuration, now.configuration), services.ceilings.of_configuration)
    return kept.model_copy(update={"configuration": held})


async def refresh_configuration(services: Services, run: Run) -> None:
    """Let a run that a person took up again hold to what is configured now: it may be why it failed."""
    await _keep(services, run, await load_configuration(services, run))


async def _keep(services: Services, run: Run, now: LoadedConfiguration) -> KeptConfiguration:
    kept = KeptConfiguration(configuration=now.configuration, problem=now.problem)
    await model_answers.keep(services.database, run, _KEPT_KEY, kept.model_dump(mode="json"), services.clock.now())
    return kept


async def load_configuration(services: Services, run: Run) -> LoadedConfiguration:
    """The configuration that holds in the run's repository at this moment, within the operator's ceilings."""
    return await loading.load(services.host, services.database, run.repository, services.ceilings.of_configuration)


async def is_own_pull_request(services: Services, run: Run, pull_request: PullRequest) -> bool:
    """Whether Forge proposed it, because a person asked for that."""
    if not pull_request.author_is_bot or pull_request.is_from_fork(run.repository.id):
        return False
    return pull_request.author_login == (await services.host.signature(run.repository)).name


async def _find_quota_excess(services: Services, run: Run, pull_request: PullRequest) -> str | None:
    """Only what pushes began is counted and bounded: a person who asks is answered."""
    begun_by_pushes = await runs.count_begun(services.database, run, services.clock.now() - WINDOW)
    reason = over_quota(begun_by_pushes, from_fork=pull_request.is_from_fork(run.repository.id))
    return None if reason is None else reason.text
