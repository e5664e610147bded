"""Asks a model for a test that shows a finding by running, and applies to the findings what running it showed."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from agents.llm.ask import ModelAnswer, Question
from agents.prompts import build_question, strip_hidden
from agents.review.model.questions import find_withheld_lines
from agents.review.model.related import RelatedCode, render_related
from agents.review.model.rendering import Line, excerpt, find_enclosing, render_safely
from agents.review.model.second_look import ShownCode
from agents.syntax.languages import DATA, find_language
from agents.testing.reproduction.place import TestPlace
from domain.config.sections import IfUnshown
from domain.paths import clean_name
from domain.review.avoidance import RULE
from domain.review.changes import Change, FileVersions
from domain.review.findings import LONGEST_TEST, Finding, Proof, ProofOutcome, RawFinding, Severity
from domain.review.reading import NO_OUTLINE, Outline
from domain.text.escaping import strip_invisible
from domain.value import Value

CLAIM = "== claim"
"""The heading below which nothing is evidence of a promise."""
MOST_PROVED = 3
"""Findings of one review for which a test is asked."""
_WHOLE, _TOP, _AROUND = 400, 40, 60  # lines: of a file shown whole; at the top of a longer one, and around the claim
_EXAMPLE = 80  # lines of a test that is there
_LONGEST_WHY = 200  # characters
_CERTAIN = 0.95  # confidence of what is shown by running
_DOUBTED = 0.5  # of what its own test does not bear out
F = TypeVar("F", bound=RawFinding)


class ProofDraft(Value):
    """The model's test for one claim.

    :param trace: written first, because a model that writes it judges better.
    :param promise: the shown line that promises what the test demands; empty if it passes before the change.
    :param declined: why there is no test.
    """

    trace: str = ""
    test: str = ""
    promise: str = ""
    declined: str = ""


def list_provable(kept: Sequence[Finding], candidates: Sequence[Finding]) -> list[Finding]:
    """The findings worth a test: errors, and what the first look called one, the most severe and certain first.

    What is hidden from tests is no case for one, as the tests of before say it, and what no test can run is none.

    :param kept: what the second look left; :param candidates: the same and more, as the first look graded them.
    """
    errors = {each.fingerprint for each in candidates if each.blocks}
    grave = [each for each in kept if each.blocks or each.fingerprint in errors]
    worth = [each for each in grave if not each.rule.startswith(RULE) and _can_be_run(each.path)]
    return sorted(worth, key=lambda each: each.sort_key)[:MOST_PROVED]


def build_proof_question(
    number: int,
    finding: Finding,
    place: TestPlace,
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding] = (),
    *,
    outline: Outline = NO_OUTLINE,
    related: Sequence[RelatedCode] = (),
) -> Question:
    """Asks for the smallest test that shows a finding.

    :param number: of the question in its review, from 1.
    :param place: where the test will be.
    :param found: findings of layers 1 and 2: lines with credentials stay withheld.
    :param related: code of other files that the first look saw.
    """
    path = finding.path
    version = versions.get(path)
    head = [] if version is None or version.head is None else version.head.decode(errors="replace").split("\n")
    wanted = _choose_lines(finding, head, outline)
    withheld = find_withheld_lines(found)
    shown = render_safely(excerpt(head, wanted, change.file(path)), withheld.get(path, ()))
    lines = [Line(at, " ", line) for at, line in enumerate(place.text.split("\n")[:_EXAMPLE], 1)]
    example = render_safely(lines, withheld.get(place.example, ()))
    parts = [
        f"== {clean_name(path)}",
        *shown,
        *render_related([each for each in related if each.of == path]),
        f"== a test that is there: {clean_name(place.example)}",
        *example,
        CLAIM,
        f"{clean_name(finding.where)} {finding.rule}: {finding.message}",
        *filter(None, (finding.grounds,)),
        "== your test",
        f"It will be {clean_name(place.path)}, run by `{clean_name(place.command)}` at the top of the repository.",
    ]
    return build_question(f"model proof {number}", "prove", parts, 2_500)


def read_draft(answer: ModelAnswer, question: Question) -> ProofDraft:
    """The model's test, with a promise only if that stands in what it was shown, and its words as one line."""
    draft = ProofDraft() if answer.value is None else ProofDraft.model_validate(answer.value)
    promise = strip_hidden(draft.promise)
    is_shown = ShownCode.of(question.content, CLAIM).holds(draft.promise)
    declined = strip_hidden(draft.declined)[:_LONGEST_WHY]
    test = strip_invisible(draft.test.replace("\r\n", "\n")).strip("\n")
    return ProofDraft(test=f"{test}\n" if test else "", promise=promise if is_shown else "", declined=declined)


def is_too_long(draft: ProofDraft) -> bool:
    """Whether a test is longer than one may be."""
    return len(draft.test) > LONGEST_TEST


def apply_proofs(kept: Sequence[Finding], proofs: Mapping[str, Proof]) -> tuple[Finding, ...]:
    """The findings with what running showed of them.

    What passes only without the change is an error, whatever the second look could prove; a broken promise leaves the
    severity to it, because what a line promises is the model's word. What a test does not bear out is a remark if the
    second look had proved it by a quoted line, as code may see that it is tested; else it is dropped. A suggestion with
    which the test still fails is dropped.

    :param proofs: by fingerprint.
    """
    pairs = ((each, proofs.get(each.fingerprint)) for each in kept)
    weighed = (each if proof is None else _weigh(each, proof) for each, proof in pairs)
    return tuple(each for each in weighed if each is not None)


def soften_unshown(kept: Sequence[Finding], unshown: IfUnshown) -> tuple[Finding, ...]:
    """The findings, in which an error that a run could show, and none does, is what the repository wants it to be."""
    if unshown is IfUnshown.block:
        return tuple(kept)
    return tuple(_soften(each) if _is_unshown(each) else each for each in kept)


def _is_unshown(finding: Finding) -> bool:
    return _can_be_run(finding.path) and (finding.proof is None or not finding.proof.is_shown)


def _can_be_run(path: str) -> bool:
    """Whether a file is code that a test could run: configuration, documents, templates and workflows are none."""
    return find_language(path) not in {None, *DATA}


def _soften(finding: Finding) -> Finding:
    return finding.model_copy(update={"severity": Severity.warning}) if finding.blocks else finding


def _weigh(finding: Finding, proof: Proof) -> Finding | None:
    fix = None if proof.outlasts_fix else finding.fix
    proved = finding.model_copy(update={"proof": proof, "fix": fix})
    match proof.outcome:
        case ProofOutcome.shown:
            severity = max(finding.severity, Severity.error, key=lambda each: each.rank)
            return proved.model_copy(update={"severity": severity, "confidence": max(finding.confidence, _CERTAIN)})
        case ProofOutcome.refuted:
            doubted = {"severity": Severity.warning, "confidence": min(finding.confidence, _DOUBTED)}
            return proved.model_copy(update=doubted) if finding.blocks else None
        case ProofOutcome.promise_broken | ProofOutcome.open:
            return proved


def _choose_lines(finding: Finding, head: Sequence[str], outline: Outline) -> set[int]:
    """The lines of its file that are shown: all of a short one."""
    line = finding.line or 1
    if len(head) <= _WHOLE:
        return set(range(1, len(head) + 1))
    around = range(line - _AROUND, (finding.end_line or line) + _AROUND + 1)
    spans = [number for each in outline.spans for number in range(each.start, each.body + 1)]
    return {*range(1, _TOP + 1), *around, *find_enclosing(head, line), *outline.uses, *spans}
