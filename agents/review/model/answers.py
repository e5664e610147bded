"""Turns a model's answer into findings; keeps only rules of a closed list, places on the diff, and code it saw."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, cast, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from agents.llm.ask import ModelAnswer
from agents.prompts import strip_hidden
from agents.review.model.notebooks import is_notebook
from agents.review.model.questions import EarlierFinding, ReviewQuestion
from agents.review.model.rendering import LONGEST_LINE, make_legible
from domain.review.avoidance import CERTAIN, AvoidanceKind
from domain.review.changes import Change, FileChange, FileVersions
from domain.review.findings import Category, Fix, Harm, Layer, MetBy, RawFinding, Severity, grade
from domain.review.review import IssueAnswer
from domain.text.escaping import cut_words, strip_invisible
from domain.text.redaction import redact_outgoing
from domain.value import Value
from safety.autofix import is_fit

RuleName = Literal[
    "model/logic-error",
    "model/missing-edge-case",
    "model/error-handling",
    "model/data-loss",
    "model/resource-leak",
    "model/race",
    "model/removed-safeguard",
    "model/shared-state",
    "model/security",
    "model/performance",
    "model/api-misuse",
    "model/breaking-change",
    "model/architecture-fit",
    "model/missing-test",
    "avoidance/failure-hidden",
]
CONVENTION = "model/convention"
"""The rule of a finding that a convention of the repository led to; what looks for defects never reports it."""
UNSURE = 0.75
"""The confidence of an error that is neither proven nor refuted, and so a warning."""


@dataclass(frozen=True)
class ModelRule:
    """What a finding by a rule may be.

    :param highest: its highest severity, whatever its consequence.
    :param is_proven_outside: whether only a line that the change leaves alone proves one, such as a caller's.
    :param unproven: the confidence of a warning that the second look can neither prove nor refute; None: it is dropped.
    """

    category: Category
    highest: Severity = Severity.error
    is_proven_outside: bool = False
    unproven: float | None = None


RULES: dict[str, ModelRule] = {
    "model/logic-error": ModelRule(Category.correctness),
    "model/missing-edge-case": ModelRule(Category.correctness),
    "model/error-handling": ModelRule(Category.correctness),
    "model/data-loss": ModelRule(Category.correctness),
    "model/resource-leak": ModelRule(Category.correctness),
    "model/race": ModelRule(Category.correctness),
    "model/removed-safeguard": ModelRule(Category.correctness),
    "model/shared-state": ModelRule(Category.correctness),
    "model/security": ModelRule(Category.security),
    "model/performance": ModelRule(Category.performance),
    "model/api-misuse": ModelRule(Category.correctness),
    "model/breaking-change": ModelRule(Category.correctness, is_proven_outside=True),
    "model/architecture-fit": ModelRule(Category.correctness, Severity.info),
    "model/missing-test": ModelRule(Category.tests, Severity.info),
    # People are asked about what is certain, so what is not proven has to stay below that.
    AvoidanceKind.failure_hidden.rule: ModelRule(Category.avoidance, Severity.warning, unproven=CERTAIN - 0.1),
    # No convention blocks: what breaks one is a remark, whatever the convention says of that.
    CONVENTION: ModelRule(Category.style, Severity.warning),
}

assert set(RULES) == {*get_args(RuleName), CONVENTION}

SURE = 0.8  # an error requests changes, so it needs more confidence than a remark

MAX_FINDINGS = 5  # findings of one answer that are kept
LEAST_SURE = 0.4  # of the first look; the second look decides about what it brings
_MOST_SUMMARIES, _LONGEST_SUMMARY = 3, 240  # lines, characters of one
_NEAR = 30  # lines within which a quoted line is looked for
_LONGEST_RANGE = 20
_LONGEST_FIX = 40
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+", re.IGNORECASE)
_NUMBERED = re.compile(r"^\d+[+> ]")


class Claim(Protocol):
    """What a model claims of a line of the change, whatever it holds that against."""

    @property
    def path(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def quote(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def confidence(self) -> float: ...
    @property
    def replacement(self) -> str | None: ...


Confidence = Annotated[float, Field(ge=0, le=1), WithJsonSchema({"type": "number"})]
Replacement = Annotated[str | None, WithJsonSchema({"type": "string"})]


def _require_trigger(schema: dict[str, Any]) -> None:
    schema["required"] = [*schema["required"], "trigger"]


class ReportedFinding(Value):
    """One finding as the model states it.

    :param trace: how it goes wrong, step by step; first, because a model that writes it first judges better.
    :param trigger: with which input or state, and what is wrong then; an empty one drops the finding.
    :param harm: what breaks; :param met_by: for whom. The severity follows from both.
    """

    model_config = ConfigDict(json_schema_extra=_require_trigger)

    trace: str = ""
    trigger: Annotated[str | None, WithJsonSchema({"type": "string"})] = None
    rule: RuleName
    path: str
    line: int
    end_line: int
    quote: str
    message: str
    harm: Harm
    met_by: MetBy
    confidence: Confidence
    replacement: Replacement = None

    @property
    def grounds(self) -> str:
        """How it comes about, for whoever checks it."""
        told = (("Steps", self.trace), ("Trigger", self.trigger or ""))
        lines = [f"{name}: {cut_words(clean_message(text), _LONGEST_SUMMARY)}" for name, text in told if text.strip()]
        return "\n".join([*lines, f"Harm: {self.harm.value}, met by: {self.met_by.value}"])


class EarlierVerdict(Value):
    """Whether an earlier finding is gone."""

    id: str
    gone: bool


def keep_valid(kind: type[BaseModel], most: int | None = None) -> BeforeValidator:
    """Keeps the valid claims of a list, the first ones; a list without any counts as a mistake of the model."""
    claim = TypeAdapter(kind)

    def is_claim(item: Any) -> bool:
        try:
            claim.validate_python(item)
        except ValidationError:
            return False
        return True

    def keep(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        items = cast(list[Any], value)
        return [item for item in items if is_claim(item)][:most] or items

    return BeforeValidator(keep)


class Report(Value):
    """The model's report.

    :param summary: what the shown part of the change does.
    :param issue: whether it does what the issue asks that it is to close.
    """

    summary: str = ""
    issue: str = ""
    findings: Annotated[list[ReportedFinding], keep_valid(ReportedFinding)]
    earlier: list[EarlierVerdict] = []


def extract_findings(
    answer: ModelAnswer,
    question: ReviewQuestion,
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding] = (),
) -> tuple[RawFinding, ...]:
    """The valid findings of an answer: a few, each on a line of the diff, none that is known already.

    :param found: findings of layers 1 and 2, and earlier ones of layer 3 that still stand.
    """
    if answer.value is None:
        return ()
    said = Report.model_validate(answer.value).findings
    claims = [each for each in said if each.trigger is None or each.trigger.strip()]
    placed = [_place(each, question, change, versions) for each in claims]
    known = [*found, *map(_earlier_to_finding, question.earlier)]
    kept: list[RawFinding] = []
    for finding in sorted((finding for finding in placed if finding is not None), key=lambda each: each.sort_key):
        if not any(repeats(finding, other) for other in known) and not any(_restates(finding, each) for each in kept):
            kept.append(finding)
    return tuple(kept[:MAX_FINDINGS])


def summarise_change(answers: Sequence[ModelAnswer]) -> tuple[str, ...]:
    """What the change does, in at most three lines: one for each part that the model read, none twice."""
    reports = [Report.model_validate(answer.value) for answer in answers if answer.value is not None]
    lines = (cut_words(redact_outgoing(clean_message(report.summary)), _LONGEST_SUMMARY) for report in reports)
    return tuple(dict.fromkeys(line for line in lines if line))[:_MOST_SUMMARIES]


def judge_issue(answers: Sequence[ModelAnswer], number: int | None) -> IssueAnswer | None:
    """Whether the change does what its issue asks; None if it closes none, or the model could not tell.

    :param number: of the issue.
    """
    if number is None or not answers or answers[0].value is None:
        return None
    told = cut_words(redact_outgoing(clean_message(Report.model_validate(answers[0].value).issue)), _LONGEST_SUMMARY)
    return IssueAnswer(number=number, told=told) if told else None


def read_earlier_verdicts(answer: ModelAnswer, question: ReviewQuestion) -> dict[str, bool]:
    """Id of each earlier finding in the question → whether it is gone; False if the model does not say."""
    said = {} if answer.value is None else {item.id: item.gone for item in Report.model_validate(answer.value).earlier}
    return {item.id: said.get(item.id, False) for item in question.earlier}


def _place(
    claim: ReportedFinding, question: ReviewQuestion, change: Change, versions: Mapping[str, FileVersions]
) -> RawFinding | None:
    severity = cap_by_rule(claim.rule, grade(claim.harm, claim.met_by))
    finding = place_claim(claim, claim.rule, severity, question.lines, change, versions)
    return None if finding is None else finding.model_copy(update={"grounds": redact_outgoing(claim.grounds)})


def place_claim(
    claim: Claim,
    rule: str,
    severity: Severity,
    lines: Mapping[str, Sequence[int]],
    change: Change,
    versions: Mapping[str, FileVersions],
) -> RawFinding | None:
    """The claim as a finding; None if it is not valid.

    :param lines: path → head lines that a finding may name.
    """
    file, version = change.file(claim.path), versions.get(claim.path)
    message = redact_outgoing(clean_message(claim.message))
    if file is None or version is None or version.head is None or claim.confidence < LEAST_SURE or not message:
        return None
    head = version.head.decode(errors="replace").split("\n")
    line = find_anchor(claim, head, lines.get(claim.path, ()))
    if line is None:
        return None
    end = _end(file, line, line + max(0, claim.end_line - claim.line))
    return RawFinding(
        rule=rule,
        category=RULES[rule].category,
        severity=severity,
        confidence=claim.confidence,
        path=claim.path,
        line=line,
        end_line=end,
        message=message,
        fix=_fix(claim, file, head, line),
        layer=Layer.model,
    )


def find_anchor(claim: Claim, head: Sequence[str], lines: Sequence[int]) -> int | None:
    """The head line of a claim: the line it names if that holds the quote, else the only line nearby that does.

    :param lines: the lines that the model was shown as part of the diff.
    """
    quote = squash(next((line for line in claim.quote.split("\n") if line.strip()), ""))
    wanted = {text for text in (quote, _NUMBERED.sub("", quote), strip_sign(quote)) if text}
    if not wanted:
        return None
    if claim.line in lines and _holds(head, claim.line, wanted):
        return claim.line
    near = [n for n in lines if abs(n - claim.line) <= _NEAR and 0 < n <= len(head) and squash(head[n - 1]) in wanted]
    return near[0] if len(near) == 1 else None


def _holds(head: Sequence[str], number: int, wanted: set[str]) -> bool:
    """Whether a line is the quoted one, or contains a quote of at least 12 characters."""
    if not 0 < number <= len(head):
        return False
    text = squash(head[number - 1])
    return text in wanted or any(len(part) >= 12 and part in text for part in wanted)


def _end(file: FileChange, line: int, end: int) -> int:
    """The last line of a range that stays in one hunk."""
    end = min(end, line + _LONGEST_RANGE)
    while end > line and not file.can_be_commented(line, end):
        end -= 1
    return end


def _fix(claim: Claim, file: FileChange, head: Sequence[str], line: int) -> Fix | None:
    """The replacement, if it fits exactly what it replaces and adds nothing suspicious."""
    end = line + max(0, claim.end_line - claim.line)
    new = (claim.replacement or "").replace("\r\n", "\n").rstrip("\n")
    old = "\n".join(head[line - 1 : end])
    if is_notebook(claim.path):  # the model saw the cells, and GitHub would replace JSON
        return None
    if not new.strip() or new.count("\n") >= _LONGEST_FIX or not file.can_be_commented(line, end):
        return None
    foreign = set(_ADDRESS.findall(new)) - set(_ADDRESS.findall(old))
    if foreign or strip_invisible(new) != new or redact_outgoing(new) != new or _indentation(new) != _indentation(old):
        return None
    fix = Fix(start_line=line, end_line=end, replacement=new)
    return fix if is_fit(fix, head) else None


def clean_message(message: str) -> str:
    """The message as short plain prose, without markup or addresses that a reader might follow."""
    text = _ADDRESS.sub("(address left out)", strip_hidden(message[:4000]))
    return cut_words(text, 500)


def repeats(finding: RawFinding, other: RawFinding) -> bool:
    """Whether two findings are about the same lines and the same topic, and the first is no error if the other is less.

    A tool knows a pattern, and not who meets it.
    """
    if finding.path != other.path or finding.line is None or other.line is None:
        return False
    if finding.severity.rank >= Severity.error.rank > other.severity.rank and other.layer is not Layer.model:
        return False
    reach = 2 if other.layer is Layer.model else 0
    same_place = other.line - reach <= (finding.end_line or finding.line) and finding.line <= (
        (other.end_line or other.line) + reach
    )
    return same_place and (finding.category is other.category or finding.rule == other.rule)


def _restates(finding: RawFinding, other: RawFinding) -> bool:
    """Whether a finding is another one of the same answer once more; two defects may stand side by side."""
    is_same = finding.line == other.line or finding.message == other.message
    return is_same and finding.category is other.category and finding.path == other.path


def _earlier_to_finding(earlier: EarlierFinding) -> RawFinding:
    rule = RULES.get(earlier.rule)
    return RawFinding(
        rule=earlier.rule,
        category=RULES["model/logic-error"].category if rule is None else rule.category,
        severity=Severity.info,
        confidence=1,
        path=earlier.path,
        line=earlier.line,
        message=earlier.message,
        layer=Layer.model,
    )


def strip_sign(line: str) -> str:
    """A line as a model may quote it, without number, sign and spaces."""
    return _NUMBERED.sub("", squash(line)).removeprefix("+").removeprefix(">").strip()


def squash(text: str) -> str:
    """A line of code without what is not legible, and with single spaces."""
    return " ".join(make_legible(text).split())[:LONGEST_LINE].removesuffix("…").strip()


def _indentation(text: str) -> str:
    first = next((line for line in text.split("\n") if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def cap_by_rule(rule: str, severity: Severity) -> Severity:
    """The severity that follows from the consequence of a finding, limited by its rule."""
    return min(severity, RULES[rule].highest, key=lambda grade: grade.rank)


def cap_by_confidence(severity: Severity, confidence: float) -> Severity:
    """The severity of a finding after the second look: one that is not sure enough requests no changes."""
    return Severity.warning if severity.rank >= Severity.error.rank and confidence < SURE else severity
