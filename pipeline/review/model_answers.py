"""Assesses a model's answers about one head: its findings, and the question of the second look at them."""

from collections.abc import Mapping, Sequence

from agents.llm.ask import ModelAnswer, Question
from agents.reflection import PromptContext
from agents.review.checks.fingerprints import add_fingerprints
from agents.review.effort import ReadingEffort
from agents.review.layers import CheckedChange
from agents.review.looking_up import list_evidence, show_evidence
from agents.review.model.answers import extract_findings, read_earlier_verdicts
from agents.review.model.conventions import extract_broken
from agents.review.model.related import RelatedCode
from agents.review.model.second_look import build_second_look, keep_sure
from agents.review.syntax import drop_unfit
from agents.toolbox import Toolbox
from domain.config.sections import ReviewSettings
from domain.globs import matches
from domain.memories import Memory
from domain.review.avoidance import CERTAIN, RULE
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding, Severity, place_on_diff
from domain.text.redaction import redact_finding
from domain.value import Value
from pipeline.review.question_plan import PreparedQuestions
from safety.containment import CodeOrigin
from workspace.objects import Objects

_REMARK = CERTAIN - 0.1  # the most that a model's claim of a hidden failure is believed


class AssessedAnswers(Value):
    """What the answers say before the second look.

    :param gone: names of earlier findings that the model calls gone.
    :param settled: candidates that count without a second look.
    :param evidence: what the model looked up and names as proof.
    """

    candidates: tuple[Finding, ...]
    settled: tuple[Finding, ...] = ()
    second: Question | None
    gone: tuple[str, ...]
    evidence: tuple[RelatedCode, ...] = ()


def assess_answers(
    checked: CheckedChange,
    prepared: PreparedQuestions,
    answers: Sequence[ModelAnswer],
    change: Change,
    versions: Mapping[str, FileVersions],
    lessons: Sequence[Memory],
    effort: ReadingEffort,
    on_conventions: ModelAnswer | None = None,
    evidence: Sequence[RelatedCode] = (),
) -> AssessedAnswers:
    """Find the candidates, what the second look is asked about them.

    :param on_conventions: the answer about the conventions of the repository.
    :param evidence: what the model looked up and names as proof.
    :param effort: says which of them get a second look; of the others those count that the model is sure of.
    """
    found = [*checked.findings, *prepared.carried]
    pairs = list(zip(prepared.plan.questions, answers, strict=True))
    raw = [
        finding
        for question, answer in pairs
        for finding in extract_findings(answer, question, change, versions, found)
        if checked.takes_claims or not finding.rule.startswith(RULE)
    ]
    said, conventions = [*found, *raw], prepared.plan.conventions
    raw += extract_broken(on_conventions, conventions, change, versions, said)
    lines = {path: (version.head or b"").decode(errors="replace").split("\n") for path, version in versions.items()}
    known = add_fingerprints(raw, lines)
    placed = [_attach_memories(place_on_diff(redact_finding(each), change), lessons) for each in known]
    candidates, others = effort.split(placed)
    second = build_second_look(
        candidates,
        change,
        versions,
        checked.findings,
        outlines=prepared.plan.outlines,
        related=(*prepared.plan.related, *evidence),
    )
    gone = [
        name
        for question, answer in pairs
        for name, is_gone in read_earlier_verdicts(answer, question).items()
        if is_gone
    ]
    return AssessedAnswers(
        candidates=tuple(candidates),
        settled=keep_sure(others),
        second=second,
        gone=tuple(gone),
        evidence=tuple(evidence),
    )


async def load_evidence(
    code: Objects, head_sha: str, answers: Sequence[ModelAnswer], review: ReviewSettings
) -> tuple[RelatedCode, ...]:
    """The lines around what a model looked up and names as proof, as the second look is shown them.

    :raises CodeAccessError: they cannot be read.
    """
    found = [place for place in list_evidence(answers) if not matches(place[1], review.never_send)]
    contents = await code.read(head_sha, sorted({path for _, path, _ in found})) if found else {}
    return show_evidence(found, contents)


async def drop_unfit_suggestions(
    assessed: AssessedAnswers, versions: Mapping[str, FileVersions], toolbox: Toolbox, origin: CodeOrigin
) -> AssessedAnswers:
    """The answers; candidates whose suggestion would destroy something have none any more."""
    candidates = await drop_unfit(assessed.candidates, versions, toolbox, origin)
    settled = await drop_unfit(assessed.settled, versions, toolbox, origin)
    return assessed.model_copy(update={"candidates": candidates, "settled": settled})


def weigh_claims(kept: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings that the second look left. A hidden failure is a remark: only a test that fails proves one."""
    return tuple(_weigh_claim(each) if each.rule.startswith(RULE) else each for each in kept)


def _weigh_claim(finding: Finding) -> Finding:
    severity = min(finding.severity, Severity.warning, key=lambda each: each.rank)
    return finding.model_copy(update={"confidence": min(finding.confidence, _REMARK), "severity": severity})


def _attach_memories(finding: Finding, lessons: Sequence[Memory]) -> Finding:
    """The finding with the memories that it names as its reason."""
    named = PromptContext(lessons=tuple(lessons)).find_named(finding.message)
    return finding.model_copy(update={"memories": tuple(each.id for each in named)}) if named else finding
