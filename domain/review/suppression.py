"""What people's dismissals say about a finding that nobody dismissed, and what is kept of one they hold back."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict

from domain.ids import shorten_id
from domain.review.anchors import Anchor
from domain.review.findings import Finding, Severity

MIN_CONFIDENCE = 0.3
"""The least confidence with which a finding is raised where people dismissed its like. A sure rule (0.95) gets below it
with four dismissals in a folder, a doubtful one (0.6) with two."""


@dataclass(frozen=True)
class PriorDismissal:
    """A dismissal that stands.

    :param number: of the pull request in which it was made.
    :param place: see :func:`domain.review.findings.compute_location_key`; empty where wording is no matter, as in
        what tools say.
    :param by_id: the numeric id of who made it; ``role`` is theirs at that moment, empty where it is not known.
    :param severity: of what was dismissed; where that is not known, nothing that blocks.
    :param spot: of what a model said; None where that is not known.
    :param memory_id: what it taught; empty if nothing was to be learned then.
    """

    id: str
    number: int
    name: str
    rule: str
    path: str
    fingerprint: str
    place: str
    memory_id: str
    by: str
    by_id: int
    reason: str
    at: datetime
    role: str = ""
    severity: Severity = Severity.warning
    spot: Anchor | None = None


@dataclass(frozen=True)
class UptakeRecord:
    """A finding that Forge had commented and that was gone on a later head, without a dismissal."""

    rule: str
    path: str


class AdjustedConfidence(BaseModel):
    """How sure a finding is here: what its tool or the model says, less what people dismissed.

    :param here: distinct findings of its rule that people dismissed in its folder, together or one by one.
    :param elsewhere: in other folders, as far as those count.
    :param kept_here: findings of its rule in its folder that people took up.
    """

    model_config = ConfigDict(frozen=True)

    stated: float
    here: int = 0
    elsewhere: int = 0
    kept_here: int = 0
    kept_elsewhere: int = 0
    here_takes: float = 0.0
    elsewhere_takes: float = 0.0
    effective: float


class SuppressionReason(StrEnum):
    """Why a finding is held back although nobody dismissed it."""

    rule = "rule"  # its rule was dismissed too often here
    reworded = "reworded"  # the same was dismissed in other words


class SuppressedFinding(BaseModel):
    """A finding that is held back.

    :param memories: what the dismissals taught that would have to be taken back for it to count, as it is shown.
    :param release: how many dismissals that are.
    """

    model_config = ConfigDict(frozen=True)

    finding: Finding
    why: SuppressionReason
    weight: AdjustedConfidence
    memories: tuple[str, ...] = ()
    release: int = 0


class UnsecondedFinding(BaseModel):
    """A finding that is raised although its rule was dismissed often enough: it blocks, and one person dismissed it.

    :param by: the login of that person.
    :param dismissals: how many of theirs count here.
    """

    model_config = ConfigDict(frozen=True)

    finding: Finding
    by: str
    dismissals: int


def parent_folder(path: str) -> str:
    """The folder of a path with its slash; empty at the root of the repository."""
    parent = str(PurePosixPath(path).parent)
    return "" if parent == "." else f"{parent}/"


def short_memory_id(past: PriorDismissal) -> str:
    """The memory a dismissal taught, as people know it; empty if there is none."""
    return shorten_id("M", past.memory_id) if past.memory_id else ""
