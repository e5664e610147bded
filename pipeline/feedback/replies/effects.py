"""Does what a reply means: confirms memories, answers a question, or dismisses the finding.

Only a person who may dismiss a finding by command dismisses it by words; the words of others are hints.
"""

from pydantic import BaseModel

from agents.answers.reply_reader import Meaning, ReplyReading
from agents.review.model.questions import flatten_markdown
from domain.commands import ReadReply
from domain.memories.memory import Use
from domain.review.findings import Finding, Severity
from domain.slash.commands import LONGEST_TEXT
from domain.text.redaction import redact_outgoing
from memory.findings import feedback
from memory.learned import memories
from messages import feedback as feedback_texts
from messages import thread_replies as reply_texts
from pipeline.context import Services
from pipeline.verdicts import threads
from pipeline.verdicts.dismissal import dismiss, is_confirmed
from safety.authorization import CommandRefusal
from safety.gates import needs_security_gate


class ReplyOutcome(BaseModel):
    """What followed from a reply; in journals.

    :param text: the answer, if there is one.
    :param dismissed: whether the finding no longer counts.
    """

    text: str = ""
    dismissed: bool = False


async def apply_reply(
    services: Services,
    command: ReadReply,
    guid: str,
    finding: Finding,
    reading: ReplyReading,
    answer: str,
    *,
    may_dismiss: bool,
    refused: CommandRefusal | None,
) -> ReplyOutcome:
    """Do what a reply means; may be repeated.

    :param answer: to the question, if it is one.
    :param refused: why they may not dismiss it now, for the answer.
    """
    match reading.meaning:
        case Meaning.agreement:
            if may_dismiss and reading.is_sure:
                cause = f"{command.sender.id} agreed with {finding.fingerprint}"
                now = services.clock.now()
                await memories.record_use(services.database, finding.memories, Use.confirmed, cause, now)
            return ReplyOutcome()
        case Meaning.question:
            return ReplyOutcome(text=answer)
        case Meaning.request:
            return ReplyOutcome(text=reply_texts.point_to_commands(finding.id))
        case Meaning.disagreement:
            hint = None if may_dismiss else reply_texts.confirm_hint(finding, refused)
            return await _handle_disagreement(services, command, guid, finding, reading, hint)
        case Meaning.answer | Meaning.other:
            return ReplyOutcome()


async def _handle_disagreement(
    services: Services, command: ReadReply, guid: str, finding: Finding, reading: ReplyReading, hint: str | None
) -> ReplyOutcome:
    """:param hint: the answer to somebody who may not dismiss it; None: they may."""
    why = redact_outgoing(flatten_markdown(command.words, LONGEST_TEXT))
    known = await feedback.find_dismissed(services.database, command.repository, command.number, [finding.fingerprint])
    before = known.get(finding.fingerprint)
    if before is not None and (before.by, before.reason) != (command.sender.login, why):
        return ReplyOutcome()  # dismissed by another reply; one by this reply was interrupted before the answer
    if hint is not None:
        return ReplyOutcome(text=hint)
    blocks = finding.severity.rank >= Severity.error.rank or await is_confirmed(
        services, command.repository, command.number, finding
    )
    if needs_security_gate(finding) or finding.is_credential or blocks:
        return ReplyOutcome(text=reply_texts.ask_for_command(finding))
    if not (reading.is_sure and reading.has_reason):
        return ReplyOutcome(text=reply_texts.ask_about_dismissal(finding))
    where = (command.repository, command.number)
    effect = await dismiss(services, *where, (finding,), command.sender, why, guid)
    await threads.resolve(services, *where, finding)
    receipt = feedback_texts.confirm_dismissal([finding], why, effect.taught, is_waived=effect.is_waived)
    return ReplyOutcome(text=reply_texts.confirm_dismissal(receipt), dismissed=True)
