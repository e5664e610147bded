"""Layer 1: has the warm workers look where a change gives up in disguise, and reports it as findings."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from agents.review.avoidance import find_avoidance
from agents.review.checks.inputs import ToolReport, is_machine_made
from agents.review.checks.results import ToolExecution
from agents.toolbox import Toolbox
from domain.config.sections import AvoidanceReaction, AvoidanceSettings
from domain.errors import ToolError
from domain.review.avoidance import (
    CERTAIN,
    HARDLY_BELIEVED,
    LEGITIMATE,
    Avoidance,
    AvoidanceKind,
    DetectorRecord,
    apply_records,
)
from domain.review.changes import Change, ContentKind, FileVersions
from domain.review.findings import Category, Layer, RawFinding, Severity
from domain.review.reading import CheckName
from safety.containment import CodeOrigin

_LARGEST = 500_000  # bytes

TOOL = CheckName.avoidance
_USUAL = AvoidanceSettings()


@dataclass(frozen=True)
class AvoidanceCheck:
    """How a change is looked at.

    :param settings: what the repository switched off is left out, but not in Forge's own changes.
    :param owned: Forge proposed the change: its agent takes back what is certain before a person is bothered.
    :param records: how each detector did in this repository, by its rule.
    """

    settings: AvoidanceSettings = _USUAL
    owned: bool = False
    records: Mapping[str, DetectorRecord] = field(default_factory=dict[str, DetectorRecord])

    @property
    def takes_claims(self) -> bool:
        """Whether a model may say that a failure is hidden; of Forge's own changes it always may."""
        return self.owned or self.settings.of(AvoidanceKind.failure_hidden) is not AvoidanceReaction.off


async def check(
    change: Change,
    versions: Mapping[str, FileVersions],
    how: AvoidanceCheck,
    toolbox: Toolbox,
    origin: CodeOrigin,
) -> ToolExecution:
    """Look for it in a change.

    :param versions: path at head → both versions of the changed files.
    """
    started = time.monotonic()
    where = toolbox.for_worker("syntax trees", origin=origin)
    if where.level is None:
        return ToolExecution(TOOL, Layer.static, ToolReport(problem=where.refusal), 0.0, where.refusal)
    try:
        done = await detect(change, versions, toolbox)
    except ToolError as error:
        return ToolExecution(TOOL, Layer.static, ToolReport(problem=str(error)), time.monotonic() - started)
    wanted = [each for each in done.found if how.owned or how.settings.of(each.kind) is not AvoidanceReaction.off]
    found = build_findings(wanted, how.records, owned=how.owned)
    report = ToolReport(tuple(found), files=done.files, problem=done.problem)
    return ToolExecution(TOOL, Layer.static, report, time.monotonic() - started)


def build_findings(
    found: Sequence[Avoidance], records: Mapping[str, DetectorRecord], *, owned: bool = False
) -> list[RawFinding]:
    """Those without an excuse as findings. Doubtful ones are for agents only: people would be told too much.

    Where only the record of its detector makes one doubtful, people are asked whether it is right, and where it is
    hardly believed any more, it is shown.

    :param records: how each detector did in this repository, by its rule; of Forge's own changes it is believed.
    :param owned: Forge proposed the change; then those that are certain block.
    """
    believed = found if owned else apply_records(found, records)
    return [
        _build_finding(each, now.confidence, owned=owned)
        for each, now in zip(found, believed, strict=True)
        if not each.excuse and (owned or each.confidence >= CERTAIN)
    ]


def _build_finding(found: Avoidance, confidence: float, *, owned: bool) -> RawFinding:
    return RawFinding(
        rule=found.kind.rule,
        category=Category.avoidance,
        severity=_rate(found.severity, confidence, owned=owned),
        confidence=confidence,
        path=found.path,
        line=found.line,
        end_line=found.line,
        message=f"{found.what} {LEGITIMATE[found.kind]}",
        layer=Layer.static,
        mark=found.name,
        is_doubted=not owned and HARDLY_BELIEVED <= confidence < CERTAIN,
    )


def _rate(stated: Severity, confidence: float, *, owned: bool) -> Severity:
    if owned:
        return Severity.error if confidence >= CERTAIN else stated
    if confidence >= CERTAIN:
        return stated
    return Severity.info if confidence < HARDLY_BELIEVED else min(stated, Severity.warning, key=lambda each: each.rank)


@dataclass(frozen=True)
class VersionPair:
    """Both versions of a changed file; None where it does not exist."""

    path: str
    old_path: str
    base: bytes | None
    head: bytes | None


@dataclass(frozen=True)
class Detection:
    """What was found.

    :param files: how many files were read.
    :param problem: what could not be read, and why.
    """

    found: tuple[Avoidance, ...]
    files: int = 0
    problem: str | None = None


async def detect(change: Change, versions: Mapping[str, FileVersions], toolbox: Toolbox) -> Detection:
    """Where a change gives up in disguise.

    :param versions: path at head → both versions of the changed files.
    """
    pairs = [
        VersionPair(file.path, file.old_path or file.path, there.base, there.head)
        for file in change.files
        if file.kind is ContentKind.text and (there := versions.get(file.path)) is not None
    ]
    return await detect_in_pairs(pairs, toolbox)


async def detect_in_pairs(pairs: Sequence[VersionPair], toolbox: Toolbox) -> Detection:
    """The same of files whose versions are at hand."""
    files = [pair for pair in pairs if _is_read(pair)]
    answers, problem = await toolbox.run_jobs(files, _compare, lambda pair: pair.path)
    return Detection(tuple(each for _, found in answers for each in found), len(files), problem)


def _is_read(pair: VersionPair) -> bool:
    is_small = all(len(content or b"") <= _LARGEST for content in (pair.base, pair.head))
    return pair.head is not None and is_small and not is_machine_made(pair.path)


def _compare(pair: VersionPair) -> partial[list[Avoidance]]:
    base, head = (None if each is None else each.decode(errors="replace") for each in (pair.base, pair.head))
    return partial(find_avoidance, pair.path, pair.old_path, base, head)
