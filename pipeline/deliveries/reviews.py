"""Handles what asks for the review of a pull request: its own events, and the buttons on its check."""

from collections.abc import Sequence
from functools import partial

import structlog

from domain.commands import Repeat, ReviewCheckedHead, ReviewPullRequest
from domain.errors import Forbidden, NotAllowed, NotFound, Unprocessable
from domain.github.installations import EventSnapshot
from domain.runs.run import NotStarted, RunStart, Trigger
from domain.slash import AskReview
from memory.repositories import permits
from memory.runs import runs
from messages import commands as command_texts
from messages import deliveries as texts
from pipeline.config import loading
from pipeline.consistent_reads import read_when_visible
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.run_starter import RunStarter
from pipeline.gates.actor import CommandActor, give_ok, load_actor, record_refusal
from pipeline.publishing import comments
from safety.authorization import CommandRefusal, authorise

log = structlog.get_logger(__name__)


async def handle_review(context: DeliveryContext, command: ReviewPullRequest) -> RunStart:
    """Review what an event announced, unless it is a draft again that the configuration leaves out anyway."""
    if command.repeat is Repeat.if_begun and not await context.journal.step(
        "is a draft left out", _excludes_drafts, context, command
    ):
        return NotStarted(texts.NO_DRAFT)
    return await RunStarter(context).start_review(command)


async def review_again(context: DeliveryContext, command: ReviewCheckedHead) -> Sequence[RunStart]:
    """Review again every pull request a check belongs to."""
    numbers = await context.journal.step("find", _list_pull_requests, context, command)
    return [await review_number_again(context, command, number) for number in numbers]


async def review_number_again(
    context: DeliveryContext, command: ReviewCheckedHead, number: int, seen: EventSnapshot | None = None
) -> RunStart:
    """Review one pull request again, if the sender may ask for that."""
    ask = partial(_find_refusal, context, command, number)
    refused = await read_when_visible(context.services, context.journal, "ask for permission", ask, seen)
    if refused is not None:
        return NotStarted(refused)
    if await context.journal.step("is a review paused", _refuse_paused, context, command, number):
        return NotStarted(texts.PAUSED)
    review = ReviewPullRequest(
        repository=command.repository,
        number=number,
        head_sha=command.head_sha,
        trigger=command.trigger,
        repeat=Repeat.always,
        sender=command.sender,
    )
    return await RunStarter(context, partial(_require_permission, context, command, number)).start_review(review)


async def _require_permission(context: DeliveryContext, command: ReviewCheckedHead, number: int) -> None:
    """:raises NotAllowed: the sender may not ask for a review any more."""
    why = await _find_refusal(context, command, number, None)
    if why is not None:
        raise NotAllowed(why)


async def _find_refusal(
    context: DeliveryContext, command: ReviewCheckedHead, number: int, seen: EventSnapshot | None
) -> str | None:
    """Why the sender may not ask for another review, by the rule of ``/forge review full``; None if they may.

    A comment below the pull request tells them, once for a head.
    """
    actor = await load_actor(context.services, command.repository, number, command.sender, seen, judges=False)
    refused = authorise(AskReview(full=True), actor.facts)
    if refused is not None:
        await record_refusal(context.services, context.guid, command.sender, refused)
        await _comment_refusal(context, command, number, refused)
        return texts.describe_refusal(refused.needed, refused.held)
    await _give_ok(context, command, number, actor)
    return None


async def _comment_refusal(
    context: DeliveryContext, command: ReviewCheckedHead, number: int, refused: CommandRefusal
) -> None:
    await _comment_below(context, command, number, "", command_texts.refuse(refused, command.sender.login))


async def _comment_below(
    context: DeliveryContext, command: ReviewCheckedHead, number: int, about: str, text: str
) -> None:
    key = f"{command.repository.id}-{number}-{command.head_sha}-{command.sender.id}{about}"
    try:
        await comments.answer_below(context.services, command.repository, number, key, text)
    except (Forbidden, NotFound, Unprocessable) as error:
        log.warning("refusal.unsaid", guid=context.guid, error=str(error))


async def _refuse_paused(context: DeliveryContext, command: ReviewCheckedHead, number: int) -> bool:
    """Whether Forge is paused here. A comment below the pull request says so, once for a head."""
    paused_by = await permits.find_pauser(context.services.database, command.repository)
    if paused_by is None:
        return False
    await _comment_below(context, command, number, "-paused", command_texts.already_paused(paused_by))
    return True


async def _give_ok(context: DeliveryContext, command: ReviewCheckedHead, number: int, actor: CommandActor) -> None:
    """Asking for a review of a fork's head allows Forge to run that head."""
    head = None if actor.pull_request is None else actor.pull_request.head_sha
    if actor.gives_ok and head == command.head_sha:
        where = (command.repository, number)
        await give_ok(context.services, *where, command.head_sha, command.sender, command.asked_at)


async def _excludes_drafts(context: DeliveryContext, command: ReviewPullRequest) -> bool:
    """Whether drafts are not reviewed here, and a run is active that nobody asked for."""
    database = context.services.database
    past = await runs.list_for_pull_request(database, command.repository.id, command.number)
    if not past or past[0].run.state.is_final or past[0].run.trigger is not Trigger.pull_request:
        return False
    ceilings = context.services.ceilings.of_configuration
    loaded = await loading.load(context.services.host, database, command.repository, ceilings)
    return not loaded.configuration.review.drafts


async def _list_pull_requests(context: DeliveryContext, command: ReviewCheckedHead) -> list[int]:
    """The pull requests of a check: by its run, by our runs on its head, or as GitHub says."""
    database = context.services.database
    run = await runs.get(database, command.run_id) if command.run_id else None
    if run is not None and run.repository.id == command.repository.id:
        return [run.number]
    known = await runs.list_for_head(database, command.repository.id, command.head_sha)
    if known:
        return sorted({run.number for run in known})
    found = await context.services.host.open_pull_requests(command.repository, command.head_sha)
    return [pull_request.number for pull_request in found]
