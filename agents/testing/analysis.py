"""Asks a model what failures mean, and keeps the parts of its answer that are valid."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated

from pydantic import Field, WithJsonSchema

from agents.llm.ask import Question
from agents.prompts import frame_data, load_prompt, strip_hidden
from agents.review.model.answers import keep_valid
from agents.review.model.file_selection import FileSelection, ReadingLimits, select_files
from agents.testing.failures import (
    MOST_COMMANDS,
    MOST_TESTS,
    ShownFailures,
    classify_failure,
    find_exception_line,
    list_failures,
    note_omitted,
    render_failures,
)
from domain.paths import clean_name, is_source, namesake
from domain.review.changes import Change
from domain.runs.patches import RequiredFix
from domain.runs.testing import LAST_LINE, Analysis, FailureClass, TestCase, TestRun
from domain.text.escaping import cut_text, flatten_text
from domain.text.redaction import redact_outgoing
from domain.value import Value

FIXABLE = 0.7
"""A fix with a higher confidence sends the work back to the implementer."""
LACKS_SOMETHING = 0.6
"""If the first analysis is this sure that the environment lacks something, the failure is never a fixable bug."""

_SIZE = ReadingLimits(question=8_000, questions=1, context=0, least_context=0)  # of the diff
_NOT_SHOWN = 20  # files that are named
_WHAT, _CAUSE, _FIX = 300, 600, 900  # characters of the parts of one required fix
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+", re.IGNORECASE)


# --- the question ------------------------------------------------------------------------------------------


class AnalysisQuestion(Question):
    """A question about what failures mean.

    :param tests: ids of the failures, numbered from 1 in this order.
    :param paths: files that a fix may name: those shown, and those of failed tests.
    """

    tests: tuple[str, ...]
    paths: tuple[str, ...]


def build_question(
    run: TestRun, looked: Sequence[Analysis], change: Change, never_send: Sequence[str] = ()
) -> AnalysisQuestion | None:
    """Asks what the failures of a run mean; None if nothing failed. The same run gives the same question.

    :param looked: the first analyses of the failures.
    :param change: what was tested.
    :param never_send: glob patterns of files whose content must not be sent to a model.
    """
    failed = ShownFailures.of(run, _build_distance(change))
    if not failed.shown:
        return None
    reading = select_files(change, {}, withheld={}, never_send=never_send, size=_SIZE)
    parts = [
        *_render_diff(change, reading),
        "== what failed",
        *render_failures(failed, {each.test_id: each for each in looked}, never_send),
    ]
    return AnalysisQuestion(
        key="model analysis of failures",
        instructions=load_prompt("analyse"),
        content=frame_data(redact_outgoing("\n".join(parts))),
        max_output_tokens=500 + 400 * len(failed.shown),
        tests=tuple(case.id for case in failed.shown),
        paths=_paths(reading, failed.shown),
    )


def _paths(reading: FileSelection, cases: Iterable[TestCase]) -> tuple[str, ...]:
    changed = (part.path for group in reading.groups for part in group)
    return tuple(dict.fromkeys([*changed, *(case.path for case in cases if case.path)]))


def _build_distance(change: Change) -> Callable[[TestCase], int]:
    """How far a test is from a change: the tests in changed files are nearest, then those named after one."""
    touched = frozenset(change.paths)
    names = {namesake(path) for path in touched if is_source(path)}

    def far(case: TestCase) -> int:
        if case.path in touched:
            return 0
        return 1 if case.path and namesake(case.path) in names else 2

    return far


def _render_diff(change: Change, reading: FileSelection) -> Iterator[str]:
    yield from (shown.text for group in reading.groups for shown in group)
    others = [*change.not_looked_at, *reading.not_read]
    if others:
        yield "== also changed, not shown"
        yield from (f"- {clean_name(entry.path)}: {clean_name(entry.reason)}" for entry in others[:_NOT_SHOWN])
        yield from note_omitted(len(others) - _NOT_SHOWN, "files")


# --- the answer --------------------------------------------------------------------------------------------


class Judgement(Value):
    """The model's judgement of one failure.

    :param test: the number it was shown under.
    :param path: of the file to change.
    """

    test: int
    failure_class: FailureClass
    root_cause: str
    suggested_fix: str
    path: Annotated[str | None, WithJsonSchema({"type": "string"})] = None
    line: Annotated[int | None, WithJsonSchema({"type": "integer"})] = None
    confidence: Annotated[float, Field(ge=0, le=1), WithJsonSchema({"type": "number"})]


class FailureJudgements(Value):
    """The model's report."""

    failures: Annotated[list[Judgement], keep_valid(Judgement, MOST_TESTS + MOST_COMMANDS)]


def merge_analyses(
    run: TestRun, looked: Sequence[Analysis], answer: FailureJudgements | None, question: AnalysisQuestion | None
) -> tuple[Analysis, ...]:
    """The analysis of each failure: the model's if it is valid, else the first one.

    First analyses of tests that did not fail, such as flaky ones, come last.

    :param looked: the first analyses of the failures; missing ones are computed.
    :param answer: None if there was none.
    :param question: what was asked; None if nothing was.
    """
    first = {each.test_id: each for each in looked}
    judged = {} if answer is None or question is None else _map_by_test(answer, question.tests)
    paths = () if question is None else question.paths
    failed = list_failures(run)
    own = (
        _apply_judgement(first.get(case.id) or classify_failure(case, run.flaky), judged.get(case.id), paths)
        for case in failed
    )
    ids = {case.id for case in failed}
    return (*own, *(look for test, look in first.items() if test not in ids))


def _map_by_test(answer: FailureJudgements, tests: Sequence[str]) -> dict[str, Judgement]:
    """Id of a test → the model's first judgement of it, for the tests it was shown."""
    found: dict[str, Judgement] = {}
    for judgement in answer.failures:
        if 1 <= judgement.test <= len(tests):
            found.setdefault(tests[judgement.test - 1], judgement)
    return found


def _apply_judgement(look: Analysis, judgement: Judgement | None, paths: Sequence[str]) -> Analysis:
    """The model's judgement, if it is not empty and the test was not seen to be flaky."""
    cause = "" if judgement is None else _clean_text(judgement.root_cause, _CAUSE)
    if judgement is None or not cause or look.failure_class is FailureClass.flaky:
        return look
    return Analysis(
        test_id=look.test_id,
        failure_class=judgement.failure_class,
        root_cause=cause,
        suggested_fix=_fix(judgement, paths),
        confidence=min(judgement.confidence, FIXABLE) if _is_daring(judgement, look) else judgement.confidence,
    )


def _is_daring(judgement: Judgement, look: Analysis) -> bool:
    """Whether a judgement contradicts what was seen: a bug although the environment lacks something, or flaky."""
    lacks = look.failure_class is FailureClass.environment and look.confidence >= LACKS_SOMETHING
    is_bug = judgement.failure_class is FailureClass.real_bug
    return (lacks and is_bug) or judgement.failure_class is FailureClass.flaky


def _fix(judgement: Judgement, paths: Sequence[str]) -> str:
    """The suggested fix with its place, if that is known."""
    fix = _clean_text(judgement.suggested_fix, _FIX)
    if not fix or judgement.path not in paths:
        return fix
    known = judgement.line is not None and 1 <= judgement.line <= LAST_LINE
    return f"In {clean_name(judgement.path)}{f':{judgement.line}' if known else ''}: {fix}"[:_FIX]


def _clean_text(text: str, limit: int) -> str:
    """A model's text as one line of bounded length, without addresses that a reader might follow."""
    return cut_text(_ADDRESS.sub("(address left out)", strip_hidden(text[: 4 * limit])), limit)


# --- required fixes ----------------------------------------------------------------------------------------


def list_fixable(run: TestRun, analyses: Sequence[Analysis]) -> tuple[RequiredFix, ...]:
    """The failures of a run with a fix that is certain enough to be made (pure)."""
    failed = {case.id: case for case in list_failures(run)}
    return tuple(
        RequiredFix(path=case.path or "", line=case.line, rule=case.id, message=_message(case, analysis))
        for analysis in analyses
        if _is_fixable(analysis) and (case := failed.get(analysis.test_id)) is not None
    )


def _is_fixable(analysis: Analysis) -> bool:
    is_bug = analysis.failure_class is FailureClass.real_bug
    return is_bug and analysis.confidence > FIXABLE and bool(analysis.suggested_fix.strip())


def _message(case: TestCase, analysis: Analysis) -> str:
    what = flatten_text(case.message or find_exception_line(case))[:_WHAT]
    return (
        f"It fails: {what}\n"
        f"Root cause: {analysis.root_cause[:_CAUSE]}\n"
        f"Suggested fix, confidence {analysis.confidence:.2f}: {analysis.suggested_fix[:_FIX]}"
    )
