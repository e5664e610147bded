"""What merge queues ask and tell: the verdict for the head they make, and that they took a pull request out."""

from collections.abc import Sequence

from domain.commands import LeftMergeQueue, ReportMergeGroup
from domain.review.review import Conclusion, Review
from domain.runs.run import ReasonCode, Run
from memory.runs import checkpoints, runs
from messages import automation as automation_texts
from messages import deliveries as texts
from messages import review as review_texts
from pipeline.automation.auto_merge import AutomaticMerge
from pipeline.context import Services
from pipeline.deliveries.context import DeliveryContext
from pipeline.publishing import checks
from pipeline.publishing.required_checks import requires_check


async def report_merge_group(context: DeliveryContext, command: ReportMergeGroup) -> str:
    """Give the queue's head the verdict of the reviewed head, if that is still the live one."""
    return await context.journal.step("report", _report, context, command)


async def report_dequeued(context: DeliveryContext, command: LeftMergeQueue) -> str:
    """Tell why the queue took out what Forge had put there."""
    return await context.journal.step("report that it is out", _report_dequeued, context, command)


async def _report_dequeued(context: DeliveryContext, command: LeftMergeQueue) -> str:
    services, why = context.services, automation_texts.explain_dequeued(command.reason, command.sender.login)
    for past in await runs.list_for_pull_request(services.database, command.repository.id, command.number):
        is_its_head = past.run.head_sha == command.head_sha
        if is_its_head and await AutomaticMerge(services, past.run, 0).report_dequeued(why):
            return texts.OUT_OF_QUEUE
    return texts.NOT_QUEUED_BY_FORGE


async def _report(context: DeliveryContext, command: ReportMergeGroup) -> str:
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
