"""Does what a reply means: confirms memories, answers a question, or dismisses the finding.

Only a person who may dismiss a finding by command dismisses it by words; the words of others are hints.
"""

from agents.prompts import flatten_markdown
from agents.replies import Meaning, ReplyReading
from domain.commands import ReadReply
from domain.memories import Use
from domain.review.findings import Finding
from domain.slash import LONGEST_TEXT
from domain.text.redaction import redact_outgoing
from domain.value import Value
from memory.learned import feedback, memories
from messages import feedback as feedback_texts
from pipeline.context import Services
from pipeline.verdicts import threads
from pipeline.verdicts.dismissal import dismiss, is_confirmed
from safety.authorization import CommandRefusal
from safety.gates import needs_security_gate


class ReplyOutcome(Value):
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

    :param answer: to the question, if it is one; of a disagreement, what the code says of it.
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
            if reading.asks_for_review:
                return ReplyOutcome(text=feedback_texts.READ_AGAIN)
            return ReplyOutcome(text=feedback_texts.point_to_commands(finding.id))
        case Meaning.disagreement:
            hint = None if may_dismiss else feedback_texts.confirm_hint(finding, refused, answer)
            return await _handle_disagreement(services, command, guid, finding, reading, hint, answer)
        case Meaning.answer | Meaning.other:
            return ReplyOutcome()


def may_be_said(finding: Finding) -> bool:
    """Whether words dismiss a finding, of those who may: not what blocks."""
    return not (finding.blocks or finding.is_credential or needs_security_gate(finding))


async def _handle_disagreement(
    services: Services,
    command: ReadReply,
    guid: str,
    finding: Finding,
    reading: ReplyReading,
    hint: str | None,
    judged: str,
) -> ReplyOutcome:
    """:param hint: the answer to somebody who may not dismiss it; None: they may.
    :param judged: what the code says of it; may be empty.
    """
    why = redact_outgoing(flatten_markdown(command.words, LONGEST_TEXT))
    known = await feedback.find_dismissed(services.database, command.repository, command.number, [finding.fingerprint])
    before = known.get(finding.fingerprint)
    if before is not None and (before.by, before.reason) != (command.sender.login, why):
        return ReplyOutcome()  # dismissed by another reply; one by this reply was interrupted before the answer
    if hint is not None:
        return ReplyOutcome(text=hint)
    if not may_be_said(finding) or await is_confirmed(services, command.repository, command.number, finding):
        return ReplyOutcome(text=feedback_texts.ask_for_command(finding, judged))
    if not (reading.is_sure and reading.has_reason):
        return ReplyOutcome(text=feedback_texts.ask_about_dismissal(finding))
    where = (command.repository, command.number)
    effect = await dismiss(services, *where, (finding,), command.sender, why, guid)
    await threads.resolve(services, *where, finding)
    receipt = feedback_texts.confirm_dismissal([finding], why, effect.taught, is_waived=effect.is_waived)
    return ReplyOutcome(text=feedback_texts.confirm_read_dismissal(receipt), dismissed=True)
