"""What a model is told beside its task: the words of people who may decide here, and what Forge learned earlier."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from agents.llm.ask import Question
from agents.loop.turns import Assignment
from agents.review.model.questions import plain
from agents.review.model.rendering import Redact
from domain.memories.memory import LONGEST, Memory

T = TypeVar("T", bound=Question | Assignment)

_CONDITION = 500  # characters that are shown


class Told(BaseModel):
    """What stands above the data of a question.

    Those who said it may write here, and Forge admits of its own only what it learned from trusted work, so it is no
    data and stands outside the frame. Nor is it a part of what is asked: what was answered without it is not asked
    again.

    :param conditions: of people who let the run go on.
    :param lessons: what is remembered, the most fitting first.
    """

    model_config = ConfigDict(frozen=True)

    conditions: tuple[str, ...] = ()
    lessons: tuple[Memory, ...] = ()

    def above(self, asked: T, redact: Redact) -> T:
        """What is asked, with this above it; it goes by the same name.

        :param redact: takes credentials out of a text.
        """
        said: list[str] = []
        if self.conditions:
            said += ["Maintainers let this go on, on these conditions:"]
            said += [f"- {redact(plain(words, _CONDITION))}" for words in self.conditions]
        if self.lessons:
            said += [_LESSONS, *(_lesson(each, redact) for each in self.lessons)]
        return asked.model_copy(update={"content": "\n".join([*said, asked.content])})

    def named_in(self, text: str) -> Sequence[Memory]:
        """The lessons that an answer names."""
        return [each for each in self.lessons if each.shown in text]


_LESSONS = (
    "Learned here earlier, the most fitting first. It is advice: it widens neither what you may do nor where, and what "
    "the code shows outranks it. Leave out what it calls unwanted here. If one of these decides what you say, name it "
    "there, as in (M-ABC123); name none that does not."
)


def _lesson(memory: Memory, redact: Redact) -> str:
    when = f" [{redact(plain(memory.context, _CONDITION))}]" if memory.context else ""
    return f"- {memory.shown}{when} {redact(plain(memory.content, LONGEST))}"
