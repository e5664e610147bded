"""Executes the commands that start and end runs."""

from domain.commands import Repeat, ReviewPullRequest
from domain.errors import NotAllowed
from domain.gates import BUDGET_GATES, STANDARD_GATES
from domain.review.reading import Effort
from domain.runs.run import ExecutionMode, NotStarted, ReasonCode, RunStart, Trigger
from domain.slash import AskReview, PlainCommand, Retry, RunIssue, SlashCommand
from memory import gates
from memory.deployments import deployments
from memory.repositories import permits
from messages import automation as automation_texts
from messages import commands as texts
from messages import recovery as recovery_texts
from pipeline.automation import level
from pipeline.config import loading
from pipeline.deliveries.cancellation import end_runs, find_tests, name_stopper
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.cost import estimate_cost
from pipeline.deliveries.commands.gates import retry_recovery
from pipeline.gates.actor import give_ok
from pipeline.gates.decide import GateReply
from pipeline.publishing.instructions import load_instruction
from safety.authorization import refuse_role


async def review(context: CommandContext, asked: AskReview) -> str:
    """``/forge review``: start a review of the head."""
    return await _review(context, asked, is_full=asked.is_from_scratch, effort=asked.effort)


async def test(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge test``: run the tests of the head."""
    head = await _require_head(context, asked)
    start = await context.start_runs(asked).start_tests(*context.place, head)
    if isinstance(start, NotStarted):
        return texts.not_looked_at(head)
    return texts.confirm_test(head, context.actor.gives_ok)


async def plan(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge plan``: plan an issue, nothing more."""
    if context.comment.is_pull_request:
        return texts.only_on_issues(asked.verb)
    return await _start_issue_run(context, asked, Trigger.plan)


async def run(context: CommandContext, asked: RunIssue) -> str:
    """``/forge run``: carry an issue out, in the mode that was named."""
    if context.comment.is_pull_request:
        return texts.only_on_issues(asked.verb)
    await context.journal.step("are runs wanted", _require_runs, context)
    return await _start_issue_run(context, asked, Trigger.issue, asked.mode)


async def retry(context: CommandContext, asked: Retry) -> str | GateReply:
    """``/forge retry``: let an agent try anew where ``recovery`` waits; else repeat the failed phase.

    On a pull request, start the review again.
    """
    answered = await context.journal.step("does a recovery wait", retry_recovery, context)
    if answered is not None:
        return answered
    if asked.gate is not None:
        return recovery_texts.NOTHING_TO_RETRY
    if context.comment.is_pull_request:
        return await _review(context, asked)
    await context.journal.step("are runs wanted", _require_runs, context)
    start = await context.start_runs(asked).retry(*context.place, context.comment.seen)
    return _describe(start, texts.NO_ANSWER)


async def resume(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge resume``: continue the newest run. On a pull request it does what ``retry`` does."""
    if context.comment.is_pull_request:
        return await _review(context, asked)
    await context.journal.step("are runs wanted", _require_runs, context)
    start = await context.start_runs(asked).resume(*context.place, context.comment.seen)
    return _describe(start, texts.RESUMED)


async def cancel(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge cancel`` and ``abort``: stop an announced merge, the runs here and the tests."""
    why = f"{context.sender.login} cancelled it"
    is_stopped = await context.step_with_permission("stop the merge", asked, level.stop_merge, *context.here, why)
    tested = await context.journal.step(
        "what is tested", find_tests, context.services, context.repository, context.number
    )
    ended = await end_runs(context, *context.place, ReasonCode.aborted)
    if tested is not None:
        await context.journal.step(
            "say who stopped the tests", name_stopper, context.services, tested, context.sender.login
        )
    if not ended:
        stopped = [
            *([texts.TESTS_STOPPED] if tested is not None else []),
            *([automation_texts.MERGE_STOPPED] if is_stopped else []),
        ]
        if stopped:
            return " ".join(stopped)
        return texts.nothing_to_cancel(await context.journal.step("what is deployed", _list_environments, context))
    first = ended[0]
    if first.trigger is not Trigger.instruction:
        return texts.confirm_cancel(first)
    return texts.confirm_cancel(first, (await load_instruction(context.database, first)).asked.verb)


async def _review(
    context: CommandContext, asked: SlashCommand, *, is_full: bool = False, effort: Effort | None = None
) -> str:
    head, actor = await _require_head(context, asked), context.actor
    is_budget_waiting = await context.journal.step("does a budget wait", _is_budget_waiting, context)
    if is_budget_waiting and refuse_role(actor.role, STANDARD_GATES["guard"].role) is not None:
        return texts.budget_waits()
    command = ReviewPullRequest(
        repository=context.repository,
        number=context.number,
        head_sha=head,
        trigger=Trigger.command,
        repeat=Repeat.always if is_full or actor.gives_ok else Repeat.unless_reviewed,
        sender=context.sender,
        effort=effort,
    )
    cost = None if effort is None else await context.journal.step("what it costs", estimate_cost, context, effort)
    start = await context.start_runs(asked).start_review(command)
    if isinstance(start, NotStarted):
        return texts.not_reviewed_again(head, start.why)
    return texts.confirm_review(head, is_full, actor.gives_ok, cost)


async def _start_issue_run(
    context: CommandContext, asked: SlashCommand, trigger: Trigger, mode: ExecutionMode | None = None
) -> str:
    start = await context.start_runs(asked).start_issue_run(*context.place, trigger, context.comment.seen, mode)
    return _describe(start, texts.NO_ANSWER)


def _describe(start: RunStart, confirmation: str) -> str:
    return texts.not_begun(start.why) if isinstance(start, NotStarted) else confirmation


async def _require_head(context: CommandContext, asked: SlashCommand) -> str:
    """The head the author saw; if it needs the author's ok, they give it with this command.

    :raises NotAllowed: there is none to look at, or Forge is paused here.
    """
    pull_request = context.actor.pull_request
    if pull_request is None:
        raise NotAllowed(texts.only_on_pull_requests(asked.verb))
    if not pull_request.is_open:
        raise NotAllowed(texts.NOTHING_TO_REVIEW)
    head = pull_request.head_sha
    is_meant = context.comment.head_sha in {None, head}
    if is_meant and context.actor.gives_ok:
        ok = (*context.here, head, context.sender, context.comment.written_at)
        is_meant = await context.step_with_permission("give the ok", asked, give_ok, *ok)
    if not is_meant:
        raise NotAllowed(texts.head_moved(head))
    paused_by = await context.journal.step("is it paused", permits.find_pauser, context.database, context.repository)
    if paused_by is not None:
        raise NotAllowed(texts.already_paused(paused_by))
    return head


async def _require_runs(context: CommandContext) -> None:
    """:raises NotAllowed: the repository wants no runs of issues."""
    if not (await loading.load_configuration(context.services, context.repository)).issues.run:
        raise NotAllowed(texts.RUNS_OFF)


async def _is_budget_waiting(context: CommandContext) -> bool:
    """Whether a guard or a budget waits here for a person, which a new review would bypass."""
    waiting = await gates.list_for_pull_request(*context.rows, waiting=True)
    return any(gate.name in BUDGET_GATES for gate in waiting)


async def _list_environments(context: CommandContext) -> list[str]:
    """The environments that something is being deployed to from here."""
    under_way = await deployments.list_open(context.database, context.repository.id)
    return [each.environment for each in under_way if each.number == context.number]
