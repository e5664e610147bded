"""Handles what happens to a repository: pushes, merge queues, a new address."""

from collections.abc import Sequence
from functools import partial

from domain import commands
from domain.errors import Behind, NotFound
from domain.review.review import Conclusion, Review
from domain.runs.run import ReasonCode, RepositoryRef, Run, Trigger
from memory.repositories import addresses
from memory.runs import checkpoints, runs
from messages import automation as automation_texts
from messages import deliveries as texts
from messages import review as review_texts
from pipeline.automation.auto_merge import AutomaticMerge
from pipeline.consistent_reads import read_when_visible
from pipeline.context import DeliveryContext, Services
from pipeline.deliveries.starts import RunStarter
from pipeline.maintenance.retention import list_lost_repositories
from pipeline.publishing import checks
from pipeline.publishing.checks import requires_check

_MOST = 50  # pull requests, the newest


async def report_merge_group(context: DeliveryContext, command: commands.ReportMergeGroup) -> str:
    """Give the queue's head the verdict of the reviewed head, if that is still the live one."""
    return await context.journal.step("report", _report, context, command)


async def report_dequeued(context: DeliveryContext, command: commands.LeftMergeQueue) -> str:
    """Tell why the queue took out what Forge had put there."""
    return await context.journal.step("report that it is out", _report_dequeued, context, command)


async def _report_dequeued(context: DeliveryContext, command: commands.LeftMergeQueue) -> str:
    services, why = context.services, automation_texts.explain_dequeued(command.reason, command.sender.login)
    for past in await runs.list_for_pull_request(services.database, command.repository.id, command.number):
        is_its_head = past.run.head_sha == command.head_sha
        if is_its_head and await AutomaticMerge(services, past.run, 0).report_dequeued(why):
            return texts.OUT_OF_QUEUE
    return texts.NOT_QUEUED_BY_FORGE


async def _report(context: DeliveryContext, command: commands.ReportMergeGroup) -> str:
    services, number = context.services, command.number
    live = await services.host.pull_request(command.repository, number)
    past = await runs.list_for_pull_request(services.database, command.repository.id, number)
    base = command.base_ref or live.base_ref
    last, review = await _find_newest_verdict(services, [each.run for each in past], live.head_sha, base)
    is_excluded = last is not None and last.reason is ReasonCode.excluded
    text = review_texts.render_merge_group(number, live.head_sha, review, is_excluded=is_excluded)
    name = review_texts.CHECK_NAME if last is None else last.check_name
    conclusion = await _conclude(services, last, review)
    await checks.report(services, command.repository, context.guid, command.head_sha, name, conclusion, text)
    return texts.describe_report(conclusion)


async def _conclude(services: Services, run: Run | None, review: Review | None) -> Conclusion:
    """The verdict; where nothing was read, it is neutral only if the head's own check is, and that may pass."""
    if run is None or (review is None and run.reason is not ReasonCode.excluded):
        return Conclusion.action_required
    if review is not None:
        is_unread = review.conclusion is Conclusion.neutral and await requires_check(services, run)
        return Conclusion.action_required if is_unread else review.conclusion
    shown = await services.host.find_check_run(run.repository, run.head_sha, run.id)
    is_neutral = shown is not None and shown.conclusion == Conclusion.neutral
    return Conclusion.neutral if is_neutral else Conclusion.action_required


async def _find_newest_verdict(
    services: Services, past: Sequence[Run], head: str, base: str
) -> tuple[Run | None, Review | None]:
    """The newest run on a head, and its verdict. While a run has none, the verdict of the run before it counts.

    :param past: newest first. A verdict with another base is about another merge.
    """
    for run in past:
        if run.head_sha != head or run.base_ref not in {"", base}:
            continue
        review = await checkpoints.load_review(services.database, run)
        if review is not None or run.state.is_final:
            return run, review
    return None, None


async def follow_repository(context: DeliveryContext, command: commands.FollowRepository) -> str:
    """Keep the address GitHub gives for the repository now: the event may be late, or sent twice."""
    follow = partial(_follow, context.services, command.repository)
    return await read_when_visible(context.services, context.journal, "follow", follow, command.repository)


async def _follow(services: Services, repository: RepositoryRef, seen: RepositoryRef | None) -> str:
    now = await _load_address(services, repository, seen)
    if await list_lost_repositories(services, now.installation_id, (now.id,)):
        return texts.NOT_COVERED
    return texts.describe_address(await addresses.update_address(services.database, now))


async def _load_address(services: Services, repository: RepositoryRef, seen: RepositoryRef | None) -> RepositoryRef:
    """:raises Behind: GitHub does not show the address of the event yet."""
    try:
        now = await services.host.address(repository)
    except NotFound as error:
        if seen is None:
            raise
        raise Behind(error.message, error.advice) from error
    if seen is not None and now != seen:
        raise Behind(f"GitHub does not show yet that it is {seen.full_name} now.", "Forge looks again.")
    return now


async def follow_push(context: DeliveryContext, command: commands.FollowForcedPush) -> str:
    """Review what goes into a rewritten branch. The same merge base asks for nothing."""
    into = (context.services.database, command.repository.id, command.branch, _MOST)
    found = await context.journal.step("what goes into it", runs.list_into, *into)
    for run in found:
        review = commands.ReviewPullRequest(
            repository=command.repository,
            number=run.number,
            head_sha=run.head_sha,
            trigger=Trigger.pull_request,
            sender=command.sender,
        )
        await RunStarter(context).start_review(review)
    return texts.describe_rewritten([run.number for run in found])
