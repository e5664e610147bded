"""Adds trusted context to a model's task: conditions of people who may decide here, and earlier lessons."""

from collections.abc import Sequence
from typing import TypeVar

from agents.llm.ask import Question
from agents.loop.turns import Assignment
from agents.review.model.questions import flatten_markdown
from domain.memories import LONGEST, Memory
from domain.text.redaction import Redact
from domain.value import Value

T = TypeVar("T", bound=Question | Assignment)

_CONDITION = 500  # characters that are shown


class PromptContext(Value):
    """Trusted context above the data of a question.

    It is not data and stands outside the frame: people with write permission stated the conditions, and the lessons
    come from trusted work only. It is no part of the question either, so an answer without it is not asked for again.

    :param conditions: of people who let the run continue.
    :param lessons: memories, the most fitting first.
    """

    conditions: tuple[str, ...] = ()
    lessons: tuple[Memory, ...] = ()

    def prepend_to(self, asked: T, redact: Redact) -> T:
        """The question or assignment with this context above its content; its key stays the same.

        :param redact: removes credentials from a text.
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
