"""Builds what layer 3 contributes to a review: findings, what the model read, and what it did not read."""

from collections.abc import Sequence

from agents.llm.ask import ModelAnswer
from agents.llm.models import LanguageModel
from agents.review.model import ReviewQuestion, summarise_change
from agents.review.reviewer import ModelPart
from domain.review.changes import SkippedFile
from domain.review.findings import Finding, Layer
from domain.review.review import LayerReport, ToolRun
from domain.text.redaction import redact_outgoing
from pipeline.review.model_answers import PreparedQuestions

_LOST = "the model was asked about it and gave no answer that can be used"
_CUT = (
    "the model was not shown all that changed in it: a line is longer than 1,000 characters, holds what looks like a "
    "credential, or was removed together with more lines than there was room for"
)


def build_model_part(
    prepared: PreparedQuestions,
    answers: Sequence[ModelAnswer],
    kept: Sequence[Finding],
    gone: Sequence[str],
    model: LanguageModel,
) -> ModelPart:
    """The contribution of layer 3 (pure).

    :param kept: findings that the second look confirmed.
    :param gone: names of earlier findings that the model calls gone.
    """
    problems = [answer.problem for answer in answers if answer.problem is not None]
    not_read = [*prepared.plan.not_read, *_list_unread(prepared, answers)]
    asked = ToolRun(
        tool=model.name,
        seconds=sum(answer.seconds for answer in answers),
        files=len({path for question in prepared.plan.questions for path in question.lines}),
        problem=" ".join(dict.fromkeys(problems)) or None,
        tokens=sum(answer.usage.tokens for answer in answers),
        cost=sum(answer.cost for answer in answers),
    )
    report = LayerReport(layer=Layer.model, tools=(asked,), note=model.notice)
    if not answers:
        report = LayerReport(layer=Layer.model, note="There is nothing new for a model to read.")
    there = [remove_place(finding) for finding in prepared.changed if finding.id not in gone]
    return ModelPart(
        report=report,
        findings=(*prepared.carried, *there, *kept),
        not_read=tuple(each.model_copy(update={"by_model": True}) for each in not_read),
        read=_list_read_paths(prepared, answers),
        gone=tuple(gone),
        summary=prepared.summary or summarise_change(answers[: len(prepared.plan.questions)], redact_outgoing),
    )


def remove_place(finding: Finding) -> Finding:
    """The finding without a line: it still counts, although its line is gone."""
    return finding.model_copy(update={"line": None, "end_line": None, "fix": None, "on_diff": False})


def _list_read_paths(prepared: PreparedQuestions, answers: Sequence[ModelAnswer]) -> tuple[str, ...]:
    """The paths of which the model read everything that is new: all their parts, to the end of each line."""
    asked = {path for question, _ in _pair_answers(prepared, answers) for path in question.lines}
    missed = {each.path for each in _list_unread(prepared, answers)}
    return tuple(sorted({*prepared.known, *(asked - missed)}))


def _list_unread(prepared: PreparedQuestions, answers: Sequence[ModelAnswer]) -> list[SkippedFile]:
    """What it was asked about and did not read, or not all of it: removed code may be shown where it moved to."""
    pairs = _pair_answers(prepared, answers)
    lost = {path for question, answer in pairs if answer.problem is not None for path in question.lines}
    lost |= {path for path, others in prepared.plan.moved.items() if lost.intersection(others)}
    cut = {path for question, _ in pairs for path in question.cut} - lost
    return [SkippedFile(path=path, reason=why) for paths, why in ((lost, _LOST), (cut, _CUT)) for path in sorted(paths)]


def _pair_answers(
    prepared: PreparedQuestions, answers: Sequence[ModelAnswer]
) -> list[tuple[ReviewQuestion, ModelAnswer]]:
    """The questions with their answers. The second look reads nothing new."""
    return list(zip(prepared.plan.questions, answers, strict=False))
