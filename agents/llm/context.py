"""What a model is told beside its task: the words of people who may decide here, and what Forge learned earlier."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from agents.llm.ask import Question
from agents.loop.turns import Assignment
from agents.review.model.questions import flatten_markdown
from agents.review.model.rendering import Redact
from domain.memories.memory import LONGEST, Memory

T = TypeVar("T", bound=Question | Assignment)

_CONDITION = 500  # characters that are shown


class PromptContext(BaseModel):
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

    def prepend_to(self, asked: T, redact: Redact) -> T:
        """What is asked, with this above it; it goes by the same name.

        :param redact: takes credentials out of a text.
        """
        said: list[str] = []
        if self.conditions:
            said += ["Maintainers let this go on, on these conditions:"]
            said += [f"- {redact(flatten_markdown(words, _CONDITION))}" for words in self.conditions]
        if self.lessons:
            said += [_LESSONS, *(_render_lesson(each, redact) for each in self.lessons)]
        return asked.model_copy(update={"content": "\n".join([*said, asked.content])})

    def find_named(self, text: str) -> Sequence[Memory]:
        """The lessons that an answer names."""
        return [each for each in self.lessons if each.short_id in text]


_LESSONS = (
    "Learned here earlier, the most fitting first. It is advice: it widens neither what you may do nor where, and what "
    "the code shows outranks it. Leave out what it calls unwanted here. If one of these decides what you say, name it "
    "there, as in (M-ABC123); name none that does not."
)


def _render_lesson(memory: Memory, redact: Redact) -> str:
    when = f" [{redact(flatten_markdown(memory.context, _CONDITION))}]" if memory.context else ""
    return f"- {memory.short_id}{when} {redact(flatten_markdown(memory.content, LONGEST))}"
