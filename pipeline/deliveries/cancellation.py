"""Ends runs: because a pull request or an issue was closed, access was lost, or a person stopped them."""

import contextlib
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import structlog

from domain.commands import EndInstallation, EndIssue, EndPullRequest, ResumeInstallation
from domain.errors import Behind, CodeHostError
from domain.github.installations import EventSnapshot, InstallationState
from domain.github.pull_requests import PullRequest
from domain.runs.run import ReasonCode, RepositoryRef, Run
from domain.value import Value
from memory.runs import instructions, outbox, runs
from memory.runs.outbox import TestedHead
from messages import deliveries as texts
from pipeline.automation.level import learn_from_end
from pipeline.consistent_reads import FencedPullRequest, load_issue, load_with_fence, read_when_visible
from pipeline.context import DeliveryContext, Services
from pipeline.deployment.orders import Ordered, list_ended, order_merged
from pipeline.deployment.production_lessons import learn_from_merge
from pipeline.durable.queues import enqueue_run
from pipeline.feedback.reactions import record_thumbs
from pipeline.gates.authorship import keep_authors_of_merge
from pipeline.maintenance.retention import list_lost_repositories, purge
from pipeline.publishing import test_check
from pipeline.runs.status import close_later, try_to_close, wake_owner

log = structlog.get_logger(__name__)

_STALE_AFTER = timedelta(days=14)  # GitHub ends a check that nobody completed by then


async def end_pull_request(context: DeliveryContext, command: EndPullRequest) -> str:
    """End the runs on a pull request, unless it is open again: the event may be late. How that ended."""
    services, journal, repository, number = context.services, context.journal, command.repository, command.number
    ended, look = None, None
    while ended is None:
        look = await _reload(context, command)
        if look is not None and look.pull_request.is_open:
            return texts.REOPENED_PULL_REQUEST
        fence = None if look is None else look.fence
        ended = await _end(context, repository, number, ReasonCode.closed, fence)
    ended += await _end_beside(context, repository, number, ReasonCode.closed)
    live = await _load_ended(context, command) if look is None else look.pull_request
    if live is not None and not live.is_open:
        if live.is_merged:  # first: whatever GitHub does not say for what follows
            await _follow_merge(context, command, live)
            with contextlib.suppress(CodeHostError):
                await journal.step("keep whose it is", keep_authors_of_merge, services, repository, live)
        await journal.step("learn from it", learn_from_end, services, command, live)
    await wake_owner(services, journal, repository, number, context.guid)
    if live is not None:
        await journal.step("read the thumbs", record_thumbs, services, repository, live)
    return texts.describe_ended(len(ended))


async def _reload(context: DeliveryContext, command: EndPullRequest) -> FencedPullRequest | None:
    """Read the pull request once: its runs must stop soon. None if GitHub does not say; then the event counts."""
    look = partial(load_with_fence, context.services, command.repository, command.number)
    with contextlib.suppress(CodeHostError):
        return await read_when_visible(context.services, context.journal, "look", look, command.seen, is_repeated=False)
    return None


async def _load_ended(context: DeliveryContext, command: EndPullRequest) -> PullRequest | None:
    """The pull request, as soon as GitHub says; None if it never does.

    Its runs have ended by now. Forge learns from a merge or a revert, so it can wait for the answer.
    """
    load = context.services.host.pull_request
    try:
        return await context.journal.step_as(PullRequest, "how it ended", load, command.repository, command.number)
    except CodeHostError as error:
        log.warning("ending.not_learned", guid=context.guid, number=command.number, error=str(error))
        return None


async def _follow_merge(context: DeliveryContext, command: EndPullRequest, live: PullRequest) -> None:
    """Learn from what was merged, and deploy it to every environment that each merge reaches."""
    services, where = context.services, (command.repository, live)
    await context.journal.step("what production taught", learn_from_merge, services, *where)
    order = (services, context.guid, *where, command.sender)
    for each in await context.journal.step("order what was merged", order_merged, *order):
        await start_deployment(context, each)


async def start_deployment(context: DeliveryContext, ordered: Ordered) -> None:
    """Queue an admitted deployment, and end those that it replaces.

    Next is :class:`pipeline.deployment.workflow.DeploymentRun`.
    """
    if ordered.run is None:
        return
    for run in await context.journal.step("what it replaces", list_ended, context.services, ordered.replaced):
        await end_runs(context, run.repository, run.fence_number, ReasonCode.superseded)
    await enqueue_run(ordered.run)


async def end_issue(context: DeliveryContext, command: EndIssue) -> str:
    """End the runs on an issue, unless it is open again: the event may be late. How that ended."""

    async def is_issue_open(seen: EventSnapshot | None) -> bool:
        return (await load_issue(context.services, command.repository, command.number, seen)).is_open

    is_open = False
    with contextlib.suppress(CodeHostError):  # if GitHub does not say, the event counts
        is_open = await read_when_visible(
            context.services, context.journal, "look", is_issue_open, command.seen, is_repeated=False
        )
    if is_open:
        return texts.REOPENED_ISSUE
    if await context.journal.step("was it merged", _was_merged_by_run, context.services, command):
        return texts.MERGED
    return texts.describe_ended(len(await end_runs(context, command.repository, command.number, ReasonCode.closed)))


async def _was_merged_by_run(services: Services, command: EndIssue) -> bool:
    """Whether the merge of a run's own pull request closed the issue; then the run notices that by itself."""
    newest = await runs.find_newest(services.database, command.repository.id, command.number)
    number = None if newest is None else await outbox.find_proposal(services.database, newest.id)
    if newest is None or newest.state.is_final or number is None:
        return False
    return (await services.host.pull_request(command.repository, number)).is_merged


async def end_installation(context: DeliveryContext, command: EndInstallation) -> str:
    """End what runs where the App lost its access, and purge what it lost for good; how that ended."""
    services, journal, installation_id = context.services, context.journal, command.installation_id
    repository_ids: Sequence[int] | None = command.repository_ids
    if repository_ids is None:
        look = partial(_is_installed, services, command)
        if await read_when_visible(services, journal, "is it installed", look, command.why):
            return texts.INSTALLED
    else:  # the event may be late
        lost = (services, installation_id, repository_ids)
        repository_ids = await journal.step("what is lost", list_lost_repositories, *lost)
        if not repository_ids:
            return texts.COVERED_AGAIN
    ended = await _end_active(context, installation_id, repository_ids, ReasonCode.access_lost)
    if not command.is_for_good:
        return texts.describe_ended(ended)
    purged = await journal.step("purge", purge, services, installation_id, repository_ids)
    return texts.describe_purge(texts.describe_ended(ended), purged)


async def _is_installed(services: Services, command: EndInstallation, told: str | None) -> bool:
    """Whether GitHub says otherwise than the event, which may be late, or not one of GitHub's.

    :param told: what the event told; None to take any answer.
    :raises Behind: GitHub may not show yet what the event told.
    """
    state = await services.host.installation_state(command.installation_id)
    is_active = state is InstallationState.active or (command.is_for_good and state is not InstallationState.gone)
    if is_active and told is not None:
        raise Behind("GitHub shows an installation that it called ended.", "Forge looks again.")
    return is_active


async def close_open_checks(context: DeliveryContext, command: ResumeInstallation) -> str:
    """Close the checks that Forge could not close while it had no access; how that ended."""
    since = context.services.clock.now() - _STALE_AFTER
    where = (context.services.database, command.installation_id, since)
    found = await context.journal.step("find", runs.list_access_lost, *where)
    for run in found:
        await close_later(run, context.guid)
    return texts.describe_unclosed(len(found))


async def end_runs(
    context: DeliveryContext, repository: RepositoryRef, number: int, reason: ReasonCode
) -> Sequence[Run]:
    """End the runs on a pull request or issue, or in the lane of a deployment; those that were stopped."""
    stopped = await _end(context, repository, number, reason) or ()
    return [*stopped, *await _end_beside(context, repository, number, reason)]


async def end_all_runs(context: DeliveryContext, repository: RepositoryRef, reason: ReasonCode) -> int:
    """End the runs in a repository; how many numbers had one."""
    return await _end_active(context, repository.installation_id, (repository.id,), reason)


async def _end_active(
    context: DeliveryContext, installation_id: int, repository_ids: Sequence[int] | None, reason: ReasonCode
) -> int:
    where = (context.services.database, installation_id, repository_ids)
    active = await context.journal.step("find", runs.list_active, *where)
    for run in active:
        await _end(context, run.repository, run.fence_number, reason)
    return len(active)


async def _end(
    context: DeliveryContext, repository: RepositoryRef, number: int, reason: ReasonCode, seen_fence: int | None = None
) -> list[Run] | None:
    """End the runs on a pull request; None if a run began there since ``seen_fence`` was read."""
    why = (reason, context.guid, context.services.clock.now(), seen_fence)
    where = (context.services.database, repository.id, number)
    stopped = await context.journal.step("end", runs.end_all, *where, *why)
    if stopped is None:
        return None
    await show_stopped(context, stopped)
    return [*stopped]


async def _end_beside(
    context: DeliveryContext, repository: RepositoryRef, number: int, reason: ReasonCode
) -> list[Run]:
    """End the instructions on a pull request, whose fencing tokens are their own."""
    where = (context.services.database, repository.id, number)
    asked = await context.journal.step("what is asked here", instructions.list_open, *where)
    return [run for each in asked for run in await _end(context, repository, each.fence_number, reason) or ()]


async def show_stopped(context: DeliveryContext, stopped: Sequence[Run]) -> None:
    """Show on GitHub at once that runs were stopped; each ends by itself at its next step or write."""
    services, journal = context.services, context.journal
    for run in stopped:
        if not await journal.step("close the check", try_to_close, services, run):
            await close_later(run, context.guid)  # nothing else closes a run that waited for a person
        if run.trigger.is_of_review:
            await wake_owner(services, journal, run.repository, run.number, context.guid)


class OpenTests(Value):
    """Heads that are being tested; in journals.

    :param run: that the tests belong to.
    """

    run: Run
    heads: tuple[TestedHead, ...]


async def find_tests(services: Services, repository: RepositoryRef, number: int) -> OpenTests | None:
    """What is being tested somewhere; tests go on beside a run, also after it ended.

    Tests that a person asked for belong to the newest run.
    """
    newest = await runs.find_newest(services.database, repository.id, number)
    if newest is None:
        return None
    heads = await test_check.list_open_tests(services, newest)
    return OpenTests(run=newest, heads=tuple(heads)) if heads else None


async def name_stopper(services: Services, tested: OpenTests, login: str) -> None:
    """Complete the checks of tests with the name of the person who stopped them."""
    for each in tested.heads:
        await test_check.close_check(services, tested.run, each, login)
