"""Handles the label that asks for a run: of an issue, or for the review of a pull request."""

from datetime import UTC, datetime
from functools import partial

from domain.commands import LabelledIssue, ReviewCheckedHead
from domain.errors import NotAllowed
from domain.runs.run import NotStarted, RunStart, Trigger
from domain.slash.commands import RunIssue
from domain.slash.verbs import Verb
from memory import ledger
from messages import commands as command_texts
from messages import deliveries as texts
from pipeline.config import loading
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.reviews import review_number_again
from pipeline.deliveries.run_starter import RunStarter
from pipeline.gates.actor import load_actor
from pipeline.publishing import comments
from safety.authorization import authorise
from safety.eligibility import asks_for_run

_LONG_AGO = datetime.min.replace(tzinfo=UTC)  # if the event has no time, no head existed before it


async def handle_label(context: DeliveryContext, command: LabelledIssue) -> RunStart:
    """Start the run that a label asks for, if the person who set it may ask."""
    refused = await context.journal.step("ask for permission", _find_refusal, context, command)
    if refused is not None:
        return NotStarted(refused)
    if command.head_sha is None:
        return await _start_issue_run(context, command)
    review = ReviewCheckedHead(
        repository=command.repository,
        head_sha=command.head_sha,
        run_id=None,
        trigger=Trigger.command,
        sender=command.sender,
        asked_at=_LONG_AGO if command.seen is None else command.seen.updated_at,
    )
    return await review_number_again(context, review, command.number, command.seen)


async def _start_issue_run(context: DeliveryContext, command: LabelledIssue) -> RunStart:
    starter = RunStarter(context, partial(_require_permission, context, command))
    start = await starter.start_issue_run(command.repository, command.number, Trigger.issue, command.seen)
    if isinstance(start, NotStarted) and start.is_at_level_0:  # the person would wait in vain
        await context.journal.step("say why not", _comment_why_not, context, command, start.why)
    return start


async def _comment_why_not(context: DeliveryContext, command: LabelledIssue, why: str) -> None:
    text = command_texts.not_begun(why)
    await comments.answer_below(context.services, command.repository, command.number, context.guid, text)


async def _require_permission(context: DeliveryContext, command: LabelledIssue) -> None:
    """:raises NotAllowed: the label asks for nothing any more."""
    why = await _find_refusal(context, command)
    if why is not None:
        raise NotAllowed(why)


async def _find_refusal(context: DeliveryContext, command: LabelledIssue) -> str | None:
    """Why a label starts nothing; None if it asks for a run and the sender may ask.

    :raises CodeHostError: if GitHub does not say who the sender is; that is never a permission.
    """
    services = context.services
    ceilings = services.ceilings.of_configuration
    loaded = await loading.load(services.host, services.database, command.repository, ceilings)
    if not asks_for_run(command.label, loaded.configuration.labels):
        return texts.OTHER_LABEL
    if command.head_sha is not None:  # on a pull request it asks what the button asks, and is checked there
        return None
    if not loaded.configuration.issues.run:
        return texts.ISSUES_OFF
    actor = await load_actor(services, command.repository, None, command.sender)
    refused = authorise(RunIssue(), actor.facts)
    if refused is None:
        return None
    payload = {"verb": Verb.run.value, "code": refused.code.value, "account": command.sender.id, "held": refused.held}
    await ledger.record_refusal(services.database, context.guid, payload, services.clock.now())
    return texts.describe_refusal(refused.needed, refused.held)
