"""Assesses a model's answers about one head: its findings, and the question of the second look at them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from agents.llm.ask import ModelAnswer, Question
from agents.reflection import PromptContext
from agents.review.checks.fingerprints import add_fingerprints
from agents.review.effort import ReadingEffort
from agents.review.layers import CheckedChange
from agents.review.looking_up import ReadableCode, list_evidence, show_evidence
from agents.review.model.answers import extract_findings, read_earlier_verdicts
from agents.review.model.conventions import extract_broken
from agents.review.model.related import RelatedCode
from agents.review.model.second_look import build_second_look, keep_sure
from agents.review.syntax import drop_unfit
from domain.globs import matches
from domain.memories import Memory
from domain.review.avoidance import CERTAIN, RULE
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding, Severity, place_on_diff
from domain.text.redaction import redact_finding
from domain.value import Value
from pipeline.review.question_plan import PreparedQuestions

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


@dataclass(frozen=True)
class GivenAnswers:
    """What a model answered about one head.

    :param lessons: memories that it was shown.
    :param effort: says which findings get a second look; of the others those count that the model is sure of.
    :param on_conventions: the answer about the conventions of the repository.
    """

    checked: CheckedChange
    prepared: PreparedQuestions
    answers: Sequence[ModelAnswer]
    change: Change
    versions: Mapping[str, FileVersions]
    lessons: Sequence[Memory]
    effort: ReadingEffort
    on_conventions: ModelAnswer | None

    async def assess(self, code: ReadableCode) -> AssessedAnswers:
        """Find the candidates, and what the second look is asked about them.

        :param code: of the head. A suggestion that would destroy something of it is left out.
        :raises CodeAccessError: what the model looked up and names as proof cannot be read.
        """
        assessed = await asyncio.to_thread(self._assess, await _load_evidence(code, self.answers))
        fit = partial(drop_unfit, versions=self.versions, toolbox=code.toolbox, origin=code.origin)
        kept = {"candidates": await fit(assessed.candidates), "settled": await fit(assessed.settled)}
        return assessed.model_copy(update=kept)

    def _assess(self, evidence: Sequence[RelatedCode]) -> AssessedAnswers:
        """:param evidence: what the model looked up and names as proof."""
        checked, plan, change, versions = self.checked, self.prepared.plan, self.change, self.versions
        found = [*checked.findings, *self.prepared.carried]
        pairs = list(zip(plan.questions, self.answers, strict=True))
        raw = [
            finding
            for question, answer in pairs
            for finding in extract_findings(answer, question, change, versions, found)
            if checked.takes_claims or not finding.rule.startswith(RULE)
        ]
        said = [*found, *raw]
        raw += extract_broken(self.on_conventions, plan.conventions, change, versions, said)
        lines = {path: (version.head or b"").decode(errors="replace").split("\n") for path, version in versions.items()}
        known = add_fingerprints(raw, lines)
        placed = [_attach_memories(place_on_diff(redact_finding(each), change), self.lessons) for each in known]
        candidates, others = self.effort.split(placed)
        related = (*plan.related, *evidence)
        second = build_second_look(
            candidates, change, versions, checked.findings, outlines=plan.outlines, related=related
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


async def _load_evidence(code: ReadableCode, answers: Sequence[ModelAnswer]) -> tuple[RelatedCode, ...]:
    """The lines around what a model looked up and names as proof, as the second look is shown them."""
    found = [place for place in list_evidence(answers) if not matches(place[1], code.never_send)]
    contents = await code.objects.read(code.head_sha, sorted({path for _, path, _ in found})) if found else {}
    return show_evidence(found, contents)


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
