"""Takes what a mention asks for in words as an instruction, as if it were ``/forge do``."""

from agents.answers.reply_reader import NamedCommand
from agents.syntax.quotes import REVIEWER
from domain.commands import WrittenComment
from domain.slash import LONGEST_WORDS, Mend, TakeBaseIn, TextCommand, WriteChangelog, WriteTests
from domain.value import Value
from domain.verbs import Verb
from messages import instructions as texts
from pipeline.context import Services
from pipeline.feedback.answers.instruction import admit_instruction
from pipeline.feedback.answers.request import OpenQuestion, QueuedAnswer
from pipeline.gates.actor import load_actor
from pipeline.publishing import comments
from pipeline.publishing.instructions import Instruction
from safety.authorization import authorise

_NAMED = {
    NamedCommand.update: TakeBaseIn(),
    NamedCommand.mend: Mend(),
    NamedCommand.tests: WriteTests(),
    NamedCommand.changelog: WriteChangelog(),
}


class RequestInWords(Value):
    """What somebody asks for in words, with a mention; in journals.

    :param words: untrusted, with Forge as ``@reviewer``.
    :param key, path, line: see :class:`Instruction`.
    :param question: which they answer; None for anything else.
    :param named: the command that says the same; None for ``/forge do``.
    """

    comment: WrittenComment
    words: str
    key: str
    path: str = ""
    line: int | None = None
    question: OpenQuestion | None = None
    named: NamedCommand | None = None

    @property
    def instruction(self) -> Instruction:
        """What is to be carried out: what they answer a question about, or else what they say."""
        if self.question is None:
            asked = self.command if self.named is None else _NAMED.get(self.named, self.command)
            return Instruction.of(self.comment, asked, self.key, self.path, self.line)
        return self.question.instruction.go_on(self.question.text, self.command.text, self.comment, self.key)

    @property
    def command(self) -> TextCommand:
        """The command that says the same."""
        said = " ".join(self.words.replace(REVIEWER, " ").split()).strip(" ,:;")
        return TextCommand(verb=Verb.do, text=said[:LONGEST_WORDS] or self.words[:LONGEST_WORDS])


async def admit_words(services: Services, request: RequestInWords) -> QueuedAnswer:
    """Admit what words ask for, as the command does, if they may ask at this moment; a reaction shows it."""
    comment, instruction = request.comment, request.instruction
    actor = await load_actor(services, comment.repository, comment.number, comment.sender, judges=False)
    if authorise(instruction.asked, actor.facts) is not None:
        return QueuedAnswer(refused=texts.PERMISSION_LOST)
    queued = await admit_instruction(services, instruction, actor, request.key)
    if queued.run_id is not None:
        await comments.show_seen(services, comment)
    return queued
