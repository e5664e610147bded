"""Executes the commands that start and end runs."""

from dataclasses import dataclass

from domain.commands import Repeat, ReviewPullRequest
from domain.gates import BUDGET_GATES, STANDARD_GATES
from domain.review.reading import Effort
from domain.runs.run import ExecutionMode, NotStarted, ReasonCode, RunStart, Trigger
from domain.slash.commands import AskReview, PlainCommand, Retry, RunIssue, SlashCommand
from memory import gates
from memory.deployments import deployments
from memory.repositories import permits
from messages import automation as automation_texts
from messages import commands as texts
from messages import recovery as recovery_texts
from pipeline.automation import level
from pipeline.config import loading
from pipeline.deliveries.cancellation import Cancellation
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.effort import estimate_cost
from pipeline.deliveries.commands.gates import GateReply, retry_recovery
from pipeline.deliveries.commands.stopped_tests import find_tests, name_stopper
from pipeline.gates.actor import give_ok
from pipeline.publishing.instructions import load_instruction
from safety.authorization import refuse_role


@dataclass(frozen=True)
class _TargetHead:
    """The head that a command is about, or why there is none."""

    sha: str = ""
    refused: str = ""


async def review(context: CommandContext, asked: AskReview) -> str:
    """``/forge review``: start a review of the head."""
    return await _review(context, asked, is_full=asked.is_from_scratch, effort=asked.effort)


async def test(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge test``: run the tests of the head."""
    head = await _find_head(context, asked)
    if head.refused:
        return head.refused
    paused_by = await context.journal.step("is it paused", _find_pauser, context)
    if paused_by is not None:
        return texts.already_paused(paused_by)
    start = await context.start_runs(asked).start_tests(context.repository, context.number, head.sha)
    if isinstance(start, NotStarted):
        return texts.not_looked_at(head.sha)
    return texts.confirm_test(head.sha, context.actor.gives_ok)


async def plan(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge plan``: plan an issue, nothing more."""
    if context.comment.is_pull_request:
        return texts.only_on_issues(asked.verb)
    return await _start_issue_run(context, asked, Trigger.plan)


async def run(context: CommandContext, asked: RunIssue) -> str:
    """``/forge run``: carry an issue out, in the mode that was named."""
    if context.comment.is_pull_request:
        return texts.only_on_issues(asked.verb)
    if not await _are_runs_enabled(context):
        return texts.RUNS_OFF
    return await _start_issue_run(context, asked, Trigger.issue, asked.mode)


async def retry(context: CommandContext, asked: Retry) -> str | GateReply:
    """``/forge retry``: let an agent try anew where ``recovery`` waits; else repeat the failed phase.

    On a pull request, start the review again.
    """
    key = "does a recovery wait"
    answered = await context.journal.step(key, retry_recovery, context)
    if answered is not None:
        return answered
    if asked.gate is not None:
        return recovery_texts.NOTHING_TO_RETRY
    if context.comment.is_pull_request:
        return await _review(context, asked)
    if not await _are_runs_enabled(context):
        return texts.RUNS_OFF
    start = await context.start_runs(asked).retry(context.repository, context.number, context.comment.seen)
    return _describe(start, texts.NO_ANSWER)


async def resume(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge resume``: continue the newest run. On a pull request it does what ``retry`` does."""
    if context.comment.is_pull_request:
        return await _review(context, asked)
    if not await _are_runs_enabled(context):
        return texts.RUNS_OFF
    start = await context.start_runs(asked).resume(context.repository, context.number, context.comment.seen)
    return _describe(start, texts.RESUMED)


async def cancel(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge cancel`` and ``abort``: stop an announced merge, the runs here and the tests."""
    is_stopped = await context.step_with_permission("stop the merge", asked, _stop_merge, context)
    tested = await context.journal.step("what is tested", find_tests, context)
    ended = await Cancellation(context).end(context.repository, context.number, ReasonCode.aborted)
    if tested is not None:
        await context.journal.step("say who stopped the tests", name_stopper, context, tested)
    if not ended:
        stopped = [
            *([texts.TESTS_STOPPED] if tested is not None else []),
            *([automation_texts.MERGE_STOPPED] if is_stopped else []),
        ]
        if stopped:
            return " ".join(stopped)
        key = "what is deployed"
        deployed_to = await context.journal.step(key, _list_environments, context)
        return texts.nothing_to_cancel(deployed_to)
    first = ended[0]
    if first.trigger is not Trigger.instruction:
        return texts.confirm_cancel(first)
    return texts.confirm_cancel(first, (await load_instruction(context.database, first)).asked.verb)


async def _review(
    context: CommandContext, asked: SlashCommand, *, is_full: bool = False, effort: Effort | None = None
) -> str:
    head, actor = await _find_head(context, asked), context.actor
    if head.refused:
        return head.refused
    key = "is a review paused"
    paused_by = await context.journal.step(key, _find_pauser, context)
    if paused_by is not None:
        return texts.already_paused(paused_by)
    is_budget_waiting = await context.journal.step("does a budget wait", _is_budget_waiting, context)
    if is_budget_waiting and refuse_role(actor.role, STANDARD_GATES["guard"].role) is not None:
        return texts.budget_waits()
    command = ReviewPullRequest(
        repository=context.repository,
        number=context.number,
        head_sha=head.sha,
        trigger=Trigger.command,
        repeat=Repeat.always if is_full or actor.gives_ok else Repeat.unless_reviewed,
        sender=context.sender,
        effort=effort,
    )
    cost = None if effort is None else await context.journal.step("what it costs", estimate_cost, context, effort)
    start = await context.start_runs(asked).start_review(command)
    if isinstance(start, NotStarted):
        return texts.not_reviewed_again(head.sha, start.why)
    return texts.confirm_review(head.sha, is_full, actor.gives_ok, cost)


async def _start_issue_run(
    context: CommandContext, asked: SlashCommand, trigger: Trigger, mode: ExecutionMode | None = None
) -> str:
    where = (context.repository, context.number)
    start = await context.start_runs(asked).start_issue_run(*where, trigger, context.comment.seen, mode)
    return _describe(start, texts.NO_ANSWER)


def _describe(start: RunStart, confirmation: str) -> str:
    return texts.not_begun(start.why) if isinstance(start, NotStarted) else confirmation


async def _find_head(context: CommandContext, asked: SlashCommand) -> _TargetHead:
    """The head the author saw; if it needs the author's ok, they give it with this command."""
    pull_request = context.actor.pull_request
    if pull_request is None:
        return _TargetHead(refused=texts.only_on_pull_requests(asked.verb))
    if not pull_request.is_open:
        return _TargetHead(refused=texts.NOTHING_TO_REVIEW)
    head = pull_request.head_sha
    is_meant = context.comment.head_sha in {None, head}
    if is_meant and context.actor.gives_ok:
        is_meant = await context.step_with_permission("give the ok", asked, _give_ok, context, head)
    return _TargetHead(head) if is_meant else _TargetHead(refused=texts.head_moved(head))


async def _give_ok(context: CommandContext, head_sha: str) -> bool:
    where = (context.repository, context.number)
    return await give_ok(context.services, *where, head_sha, context.sender, context.comment.written_at)


async def _find_pauser(context: CommandContext) -> str | None:
    return await permits.find_pauser(context.database, context.repository)


async def _are_runs_enabled(context: CommandContext) -> bool:
    return await context.journal.step("are runs wanted", _load_runs_enabled, context)


async def _load_runs_enabled(context: CommandContext) -> bool:
    services, ceilings = context.services, context.services.ceilings.of_configuration
    loaded = await loading.load(services.host, services.database, context.repository, ceilings)
    return loaded.configuration.issues.run


async def _is_budget_waiting(context: CommandContext) -> bool:
    """Whether a guard or a budget waits here for a person, which a new review would bypass."""
    waiting = await gates.list_for_pull_request(context.database, context.repository.id, context.number, waiting=True)
    return any(gate.name in BUDGET_GATES for gate in waiting)


async def _list_environments(context: CommandContext) -> list[str]:
    """The environments that something is being deployed to from here."""
    under_way = await deployments.list_open(context.database, context.repository.id)
    return [each.environment for each in under_way if each.number == context.number]


async def _stop_merge(context: CommandContext) -> bool:
    why = f"{context.sender.login} cancelled it"
    return await level.stop_merge(context.services, context.repository, context.number, why)
