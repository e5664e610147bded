"""What somebody asks for on a pull request in an instruction, and the one answer to it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Self

import structlog
from pydantic import Field

from domain.commands import WrittenComment
from domain.errors import ForgeError
from domain.gates import Gate
from domain.github.conversation import CommentKind
from domain.runs.run import Run
from domain.slash import (
    AddressThreads,
    AskFix,
    Mend,
    Rollback,
    TakeBaseIn,
    TextCommand,
    WriteChangelog,
    WriteTests,
)
from domain.value import Value
from memory.db.engine import Database
from memory.runs import model_answers
from messages import gates as gate_texts
from messages import instructions as texts
from messages import updates
from messages.commands import Answer, name_command
from messages.descriptions import quote_question
from messages.run_page import name_trigger
from pipeline.context import Services
from pipeline.publishing import comments

log = structlog.get_logger(__name__)

COMMITTED = "instruction"
"""The work of the checkpoint by which the commit of an instruction is taken back; stored."""


InstructingCommand = TextCommand | TakeBaseIn | AddressThreads | Mend | AskFix | WriteTests | WriteChangelog | Rollback


class Exchange(Value):
    """A question of Forge and what somebody with the role for the command answered.

    :param question: empty where nothing was asked.
    """

    question: str
    answer: str
    login: str


class Instruction(Value):
    """An instruction, as it is kept with its run.

    :param key: names the answer: one per line of a comment.
    :param path: the file on whose diff it stands, and ``line`` its line at the head; empty below the conversation.
    :param undoes: of a roll-back: the id of the run whose commit is taken back.
    :param attempt: counts from 1; more where Forge tries again by itself.
    :param exchanges: what was asked about it and answered, oldest first.
    :param askers: who asked or answered before whoever asks now.
    """

    comment: WrittenComment
    asked: Annotated[InstructingCommand, Field(discriminator="verb")]
    key: str
    path: str = ""
    line: int | None = None
    undoes: str = ""
    attempt: int = 1
    exchanges: tuple[Exchange, ...] = ()
    askers: tuple[int, ...] = ()

    @classmethod
    def of(cls, comment: WrittenComment, asked: InstructingCommand, key: str, path: str, line: int | None) -> Self:
        """An instruction in a comment of any kind, of which only what is needed for the answer is kept."""
        written = WrittenComment(**comment.model_dump(include=set(WrittenComment.model_fields)))
        return cls(comment=written, asked=asked, key=key, path=path, line=line)

    def go_on(self, question: str, answer: str, comment: WrittenComment, key: str) -> Self:
        """The same with the answer to a question, in a comment of whoever asks for it from now on."""
        written = WrittenComment(**comment.model_dump(include=set(WrittenComment.model_fields)))
        asked = self.asked.model_copy(update={"text": answer}) if isinstance(self.asked, TakeBaseIn) else self.asked
        said = Exchange(question=question, answer=answer, login=comment.sender.login)
        heard = {"exchanges": (*self.exchanges, said), "askers": (*self.askers, self.comment.sender.id)}
        return self.model_copy(update={"comment": written, "asked": asked, "key": key, "attempt": 1, **heard})

    @property
    def is_in_thread(self) -> bool:
        """Whether it was given in a review thread."""
        return self.comment.comment.kind is CommentKind.review_comment

    @property
    def words(self) -> str:
        """What is asked for in words; empty where the command says it."""
        match self.asked:
            case AddressThreads():
                return updates.WORDS
            case TextCommand() | TakeBaseIn():
                return self.asked.text or ""
            case _:
                return ""

    @property
    def short_name(self) -> str:
        """The command with its first words, as plain text."""
        words = getattr(self.asked, "text", None) or getattr(self.asked, "path", None) or ""
        return texts.name_instruction(name_command(self.asked), words)

    @property
    def is_of_others(self) -> bool:
        """Whether what is wanted is in the words of others, who may have no role."""
        return isinstance(self.asked, AddressThreads)

    @property
    def series(self) -> str:
        """The same for all threads of one command."""
        return self.key.rpartition(".")[0]

    @property
    def takes_base_in(self) -> bool:
        """Whether it merges the base."""
        return isinstance(self.asked, TakeBaseIn)

    @property
    def needs_model(self) -> bool:
        """Whether nothing of it can be done without a model."""
        return not isinstance(self.asked, TakeBaseIn | AskFix | Rollback)

    @property
    def mends(self) -> bool:
        """Whether it is about the checks that are red."""
        return isinstance(self.asked, Mend)

    @property
    def login(self) -> str:
        """Who asks."""
        return self.comment.sender.login


async def load_instruction(database: Database, run: Run) -> Instruction:
    """The instruction that a run carries out.

    :raises LookupError: there is none, so it is no run of an instruction.
    """
    kept = await model_answers.find(database, run, model_answers.INSTRUCTION)
    if kept is None:
        raise LookupError(f"run {run.id} has no instruction")
    return Instruction.model_validate(kept)


async def name_runs(database: Database, named: Sequence[Run]) -> Mapping[str, str]:
    """What runs do, by id: an instruction by what was asked for, as plain text."""
    asked = await load_instructions(database, [run.id for run in named])
    return {run.id: asked[run.id].short_name if run.id in asked else name_trigger(run.trigger) for run in named}


async def load_instructions(database: Database, run_ids: Collection[str]) -> Mapping[str, Instruction]:
    """The instructions that these runs carry out, by the id of the run; of other runs there is none."""
    kept = await model_answers.find_all(database, run_ids, model_answers.INSTRUCTION)
    return {run_id: Instruction.model_validate(value) for run_id, value in kept.items()}


async def keep_question(services: Services, run: Run, asked: str) -> None:
    """Keep what people are asked about it, so that an answer is known as one; may be repeated."""
    now = services.clock.now()
    await model_answers.keep(services.database, run, model_answers.QUESTION, {"asked": asked}, now)


async def answer_instruction(services: Services, run: Run, text: str) -> None:
    """Answer it where it was given, once; a conversation that takes no answer keeps nothing from ending."""
    asked = await load_instruction(services.database, run)
    try:
        await comments.answer(services, asked.comment, asked.key, [_build_answer(asked, text)])
    except ForgeError as error:
        log.warning("instruction.unanswered", run=run.id, error=str(error))


async def change_answer(services: Services, run: Run, text: str) -> None:
    """Change what answered it, unless somebody deleted that; may be repeated."""
    asked = await load_instruction(services.database, run)
    await comments.change_answer(services, asked.comment, asked.key, [_build_answer(asked, text)])


def _build_answer(asked: Instruction, text: str) -> Answer:
    said = asked.exchanges[-1].answer if asked.exchanges else asked.words
    shown = quote_question(said, text) if said and not asked.is_in_thread else text
    return Answer(name_command(asked.asked), shown)


async def point_to_gate(services: Services, asked: Instruction, gate: Gate) -> None:
    """Say once, in the review thread where it was given, at which gate it waits; may be repeated."""
    written = asked.comment
    if written.comment.kind is not CommentKind.review_comment:
        return
    root = written.comment.thread or written.comment.id
    page = services.host.page(written.repository)
    anchor = "" if gate.comment_id is None else f"#issuecomment-{gate.comment_id}"
    text = gate_texts.point_to_question(gate, f"{page}/pull/{gate.number}{anchor}")
    try:
        await comments.reply_in_thread(
            services, written.repository, written.number, root, f"{asked.key} {gate.id}", text
        )
    except ForgeError as error:
        log.warning("instruction.gate_not_told", gate=gate.id, error=str(error))
