"""What a person asked a model for by a command, and where the answer goes."""

from typing import Annotated

from pydantic import BaseModel, Field

from domain.commands import WrittenComment
from domain.slash.commands import Describe, TextCommand, Walkthrough
from messages.commands import Answer, name_command
from pipeline.context import Services
from pipeline.durable.queues import enqueue
from pipeline.durable.workflows import ANSWER
from pipeline.feedback.answers.open_question import OpenQuestion
from pipeline.gates.actor import CommandActor, load_actor
from pipeline.publishing import comments
from safety.authorization import authorise


class RepliedTo(BaseModel):
    """What of Forge's somebody replied to in words; in journals.

    :param text: its comment; empty if they only mentioned Forge.
    :param passage: what they quoted of it.
    :param path: the file at which they stand, and ``line`` its line; empty outside of review threads.
    :param is_mention: they mention Forge.
    :param question: which they may answer.
    """

    text: str = ""
    passage: str = ""
    path: str = ""
    line: int | None = None
    is_mention: bool = False
    question: OpenQuestion | None = None


class AnswerRequest(BaseModel):
    """One command of a comment, or words that may ask for the same; in journals.

    :param index: which of the comment's lines it is.
    :param replied_to: of words, which a model has to understand as a question first; None for a command.
    """

    comment: WrittenComment
    asked: Annotated[TextCommand | Describe | Walkthrough, Field(discriminator="verb")]
    index: int
    replied_to: RepliedTo | None = None

    def make_key(self, guid: str) -> str:
        """The key of the answer."""
        return make_key(guid, self.index)

    async def enqueue(self, run_id: str, guid: str) -> None:
        """Queue the answer; a repeated call changes nothing."""
        where = {"repository": self.comment.repository.id, "number": self.comment.number}
        occasion = f"{guid} {self.index}"
        await enqueue(ANSWER, run_id, guid, self.model_dump_json(), run=run_id, occasion=occasion, **where)

    async def load_actor(self, services: Services) -> CommandActor:
        """Who asks, with their role at this moment."""
        number = self.comment.number if self.comment.is_pull_request else None
        return await load_actor(services, self.comment.repository, number, self.comment.sender, judges=False)

    async def may_still_ask(self, services: Services) -> bool:
        """Whether they may at this moment: the model took its time, so permissions may be lost (T-P15)."""
        return authorise(self.asked, (await self.load_actor(services)).facts) is None

    async def answer(self, services: Services, guid: str, text: str) -> None:
        """Answer once: in the command's thread, or below the pull request."""
        answers = [Answer(name_command(self.asked), text)]
        await comments.answer(services, self.comment, self.make_key(guid), answers)


def make_key(guid: str, index: int) -> str:
    """The key of an answer: one per line of a comment.

    :param index: which of the comment's lines it answers.
    """
    return f"{guid}.{index}"
