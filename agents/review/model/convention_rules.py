"""Asks once for each version of a file of conventions which of its lines code can be held against, and keeps to those.

Most of what such files say is about pull requests, set-up and licences, so most changes need no further question.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, Question
from agents.prompts import load_prompt
from agents.prompts.conventions.choice import render_conventions
from agents.review.model.answers import keep_valid
from agents.review.model.questions import CONVENTIONS_KEY, ConventionQuestion, frame_data, show_conventions
from agents.review.model.rendering import clean_name
from agents.syntax.languages import find_language
from domain.globs import find_mistake, matches
from domain.review.conventions import ConventionFile, Conventions

MOST_ASKED = 3
"""Files of conventions whose rules one review asks for: the second look needs calls, too."""


class CodeRule(BaseModel):
    """A sentence that says how code is to be written, as the model states it.

    :param files: patterns of the files it is about; empty: all code.
    """

    line: int
    end_line: int
    files: list[str] = []

    def is_about(self, path: str) -> bool:
        """Whether a file is one of those. A pattern that cannot be read is passed over."""
        globs = [each for each in self.files if not find_mistake(each)]
        return matches(path, globs) if globs else find_language(path) is not None


class CodeRules(BaseModel):
    """The model's report."""

    rules: Annotated[list[CodeRule], keep_valid(CodeRule)]


def count_calls(question: ConventionQuestion | None) -> int:
    """How many calls holding a change against conventions takes at most."""
    return 0 if question is None else 1 + min(len(question.conventions), MOST_ASKED)


def build_rules_question(file: ConventionFile) -> Question:
    """Asks which lines of a file code can be held against; the same question for the same version of the file."""
    return Question(
        key=f"{CONVENTIONS_KEY}: rules of {clean_name(file.path)}",
        instructions=load_prompt("conventions_rules"),
        content=frame_data("\n".join(render_conventions(Conventions(files=(file,))))),
        max_output_tokens=3_000,
    )


def keep_rules(question: ConventionQuestion, rules: Mapping[str, ModelAnswer]) -> ConventionQuestion | None:
    """The question with the rules about the changed files alone; None if there are none.

    :param rules: by path of their file; what was not asked about, or has no answer, is shown whole.
    """
    narrowed = (_narrow(file, rules.get(file.path), question) for file in question.conventions)
    files = tuple(file for file in narrowed if file.lines)
    if not files:
        return None
    content = show_conventions(files, question.code)
    return question.model_copy(update={"conventions": files, "content": content})


def _narrow(file: ConventionFile, answer: ModelAnswer | None, question: ConventionQuestion) -> ConventionFile:
    if answer is None or answer.value is None:
        return file
    rules = CodeRules.model_validate(answer.value).rules
    about = [rule for rule in rules if any(map(rule.is_about, question.lines))]
    wanted = {number for rule in about for number in range(rule.line, rule.end_line + 1)}
    return ConventionFile(path=file.path, lines=tuple(_select(file, wanted)))


def _select(file: ConventionFile, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """The wanted lines, each below the heading that it stands under."""
    heading: tuple[int, str] | None = None
    for number, text in file.lines:
        if number in wanted:
            yield from () if heading is None else (heading,)
            heading = None
            yield number, text
        elif text.startswith("#"):
            heading = number, text
