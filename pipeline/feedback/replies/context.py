"""Loads what Forge must know to read a reply: the finding, the configuration, and what the person may do."""

from domain.commands import ReadReply
from domain.config.configuration import Configuration
from domain.review.findings import Finding
from domain.review.review import Remark
from domain.runs.run import Run
from domain.slash import Dismiss, TextCommand
from domain.value import Value
from domain.verbs import Verb
from memory import findings, ledger
from pipeline.config.loading import load_configuration
from pipeline.context import Services
from pipeline.feedback.replies.remarks import load_name
from pipeline.gates.actor import CommandActor, load_actor_for
from safety.authorization import CommandRefusal, authorise

_IN_WORDS = "said in words"
MAX_REPLIES = 3
"""Replies of Forge in one thread during one run: it answers, but does not chat."""


class ReplyContext(Value):
    """The facts about one reply; in journals.

    :param finding: None if the thread is about none.
    :param teaches: whether the person may dismiss the finding.
    :param asks: whether their questions are answered from all of the code, as those of ``/forge ask``.
    :param name: Forge's own, as people mention it.
    :param is_due: whether the reply is read: not on strangers' heads without an ok, nor after enough answers.
    """

    configuration: Configuration
    finding: Finding | None
    teaches: bool
    is_due: bool
    asks: bool = False
    name: str = ""


async def load_context(services: Services, run: Run, command: ReadReply) -> ReplyContext:
    """The facts at this moment."""
    thread = command.comment.thread or 0
    carried = await findings.load_by_comment(services.database, command.repository.id, command.number)
    actor = await _load_actor(services, command)
    configuration = await load_configuration(services, run.repository)
    replied = await ledger.count_replies(services.database, run.id, thread)
    return ReplyContext(
        configuration=configuration,
        finding=_choose_finding(carried.get(thread, ()), command.words),
        teaches=_refuse_dismissal(actor) is None,
        is_due=not actor.facts.needs_ok and replied < MAX_REPLIES,
        asks=_may_ask(actor),
        name=await load_name(services, command.repository),
    )


def _choose_finding(remark: Remark, words: str) -> Finding | None:
    """The finding of a comment that a reply is about: the one it names, else the gravest."""
    return next((each for each in remark if each.id in words.upper()), next(iter(remark), None))


async def find_dismissal_refusal(services: Services, command: ReadReply) -> CommandRefusal | None:
    """Why the person may not dismiss at this moment. The model took its time, so permissions may be lost (T-P15)."""
    return _refuse_dismissal(await _load_actor(services, command))


async def may_still_ask(services: Services, command: ReadReply) -> bool:
    """Whether the person may ask at this moment, as :func:`find_dismissal_refusal`."""
    return _may_ask(await _load_actor(services, command))


async def _load_actor(services: Services, command: ReadReply) -> CommandActor:
    """Whoever replied, as for ``/forge dismiss``."""
    return await load_actor_for(services, Dismiss(reason=_IN_WORDS), command.repository, command.number, command.sender)


def _may_ask(actor: CommandActor) -> bool:
    return authorise(TextCommand(verb=Verb.ask, text=_IN_WORDS), actor.facts) is None


def _refuse_dismissal(actor: CommandActor) -> CommandRefusal | None:
    return authorise(Dismiss(reason=_IN_WORDS), actor.facts)
