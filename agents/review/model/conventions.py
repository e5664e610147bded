"""Asks which lines of a convention code can be held against, and turns answers about them into findings."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated

from agents.llm.ask import ModelAnswer, Question
from agents.prompts import build_question
from agents.prompts.conventions import render_conventions
from agents.review.model.answers import (
    CONVENTION,
    RULES,
    Confidence,
    Replacement,
    clean_message,
    keep_valid,
    place_claim,
    repeats,
)
from agents.review.model.questions import CONVENTIONS_KEY, ConventionQuestion, show_conventions
from agents.syntax.languages import find_language
from domain.globs import find_mistake, matches
from domain.paths import clean_name
from domain.review.changes import Change, FileVersions
from domain.review.findings import Layer, RawFinding
from domain.review.reading import ConventionFile, Conventions
from domain.text.escaping import cut_text
from domain.value import Value

MOST_ASKED = 3
"""Files of conventions whose rules one review asks for: the second look needs calls, too."""

_NO_CODE = ("json", "yaml")


class CodeRule(Value):
    """A sentence that says how code is to be written, as the model states it.

    :param files: patterns of the files it is about; empty: all code.
    """

    line: int
    end_line: int
    files: list[str] = []

    def is_about(self, path: str) -> bool:
        """Whether a file is one of those. A pattern that cannot be read is passed over."""
        globs = [each for each in self.files if not find_mistake(each)]
        return matches(path, globs) if globs else find_language(path) not in {None, *_NO_CODE}


class CodeRules(Value):
    """The model's report."""

    rules: Annotated[list[CodeRule], keep_valid(CodeRule)]


def count_calls(question: ConventionQuestion | None) -> int:
    """How many calls holding a change against conventions takes at most."""
    return 0 if question is None else 1 + min(len(question.conventions), MOST_ASKED)


def build_rules_question(file: ConventionFile) -> Question:
    """Asks which lines of a file code can be held against; the same question for the same version of the file."""
    key, shown = f"{CONVENTIONS_KEY}: rules of {clean_name(file.path)}", Conventions(files=(file,))
    return build_question(key, "conventions_rules", render_conventions(shown), 3_000)


def keep_rules(question: ConventionQuestion, rules: Mapping[str, ModelAnswer]) -> ConventionQuestion | None:
    """The question with the rules about the changed files alone, and the files that they are about; None if there are
    none.

    :param rules: by path of their file; what was not asked about, or has no answer, is shown whole.
    """
    narrowed = [_narrow(file, rules.get(file.path), question) for file in question.conventions]
    files = tuple(file for file, _ in narrowed if file.lines)
    if not files:
        return None
    about = {path for file, paths in narrowed if file.lines for path in paths}
    lines = {path: shown for path, shown in question.lines.items() if path in about}
    code = [text for path, text in question.files.items() if path in about]
    content = show_conventions(files, [*code, *question.reported])
    return question.model_copy(update={"conventions": files, "lines": lines, "content": content})


def _narrow(
    file: ConventionFile, answer: ModelAnswer | None, question: ConventionQuestion
) -> tuple[ConventionFile, Collection[str]]:
    """The rules of a file that are about changed files, and the paths of these."""
    if answer is None or answer.value is None:
        return file, [*question.lines]
    rules = CodeRules.model_validate(answer.value).rules
    about = [rule for rule in rules if any(map(rule.is_about, question.lines))]
    wanted = {number for rule in about for number in range(rule.line, rule.end_line + 1)}
    paths = [path for path in question.lines if any(rule.is_about(path) for rule in about)]
    return ConventionFile(path=file.path, lines=tuple(_select(file, wanted))), paths


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


_MOST, _LEAST_SURE = 3, 0.6  # findings that are kept, and how sure the model is of each at least
_SHORTEST, _LONGEST = 12, 200  # characters of a quoted convention
_NUMBER = re.compile(r"^\s*\d+ ")


class BrokenConvention(Value):
    """A line that breaks a convention, as the model states it.

    :param trace: why it does. Nobody reads it: a model that writes it first judges better.
    :param convention: the sentence that is broken.
    """

    trace: str = ""
    convention: str
    path: str
    line: int
    end_line: int
    quote: str
    message: str
    confidence: Confidence
    replacement: Replacement = None


class ConventionReport(Value):
    """The model's report."""

    findings: Annotated[list[BrokenConvention], keep_valid(BrokenConvention)]


def extract_broken(
    answer: ModelAnswer | None,
    question: ConventionQuestion | None,
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding],
) -> tuple[RawFinding, ...]:
    """The valid findings of an answer: each on a line of the diff, with a convention that the model was shown.

    :param found: all other findings; what is said of a line already is not said again.
    """
    if answer is None or answer.value is None or question is None:
        return ()
    kept: list[RawFinding] = []
    for claim in ConventionReport.model_validate(answer.value).findings:
        source = _find_source(claim.convention, question.conventions)
        if source is None or claim.confidence < _LEAST_SURE:
            continue
        severity = RULES[CONVENTION].highest
        finding = place_claim(claim, CONVENTION, severity, question.lines, change, versions)
        if finding is None or any(_is_said(finding, other) for other in (*found, *kept)):
            continue
        kept.append(finding.model_copy(update={"message": f"{finding.message} {source}"}))
    return tuple(kept[:_MOST])


def _is_said(finding: RawFinding, other: RawFinding) -> bool:
    of_model = other.model_copy(update={"category": finding.category}) if other.layer is Layer.model else other
    return repeats(finding, of_model)


def _find_source(quote: str, conventions: Sequence[ConventionFile]) -> str | None:
    """Where the quoted convention stands, with its words; None if it is not what the model was shown."""
    wanted = _squash(_NUMBER.sub("", quote))
    if len(wanted) < _SHORTEST:
        return None
    for file in conventions:
        start, line = 0, None
        text = " ".join(_squash(words) for _, words in file.lines)
        at = text.find(wanted)
        if at < 0:
            continue
        for number, words in file.lines:
            if start > at:
                break
            line, start = number, start + len(_squash(words)) + 1
        return f"{clean_name(file.path)} line {line} says: “{cut_text(clean_message(wanted), _LONGEST)}”"
    return None


def _squash(text: str) -> str:
    return " ".join(text.split())
