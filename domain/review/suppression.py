"""The findings that Forge suppresses because people dismissed similar ones."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from domain.review.findings import Finding
from domain.value import Value

MIN_CONFIDENCE = 0.3
"""The least confidence for raising a finding after dismissals of similar ones. A certain rule (0.95) falls below it
with four dismissals of several people in a folder, a doubtful one (0.6) with two."""

ONLY_DISMISSED = "only what was dismissed, not its rule"
"""What the memory of a dismissal is about, for people."""


@dataclass(frozen=True)
class UptakeRecord:
    """A commented finding that was gone on a later head without a dismissal."""

    rule: str
    path: str


class AdjustedConfidence(Value):
    """The confidence of a finding: that of its tool or model, less dismissals.

    :param here: distinct dismissed findings of its rule in its folder.
    :param elsewhere: in other folders, as far as those count.
    :param kept_here: findings of its rule in its folder that people fixed.
    :param alone: who alone dismissed these, so that they take nothing; else empty.
    """

    stated: float
    here: int = 0
    elsewhere: int = 0
    kept_here: int = 0
    kept_elsewhere: int = 0
    alone: str = ""
    here_takes: float = 0.0
    elsewhere_takes: float = 0.0
    effective: float


class SuppressionReason(StrEnum):
    """Why Forge suppresses a finding that nobody dismissed."""

    rule = "rule"  # its rule was dismissed too often here
    reworded = "reworded"  # the same finding was dismissed in other words


class SuppressedFinding(Value):
    """A suppressed finding.

    :param memories: short ids of the memories of the dismissals to undo so that it counts.
    :param release: the number of these dismissals.
    """

    finding: Finding
    why: SuppressionReason
    weight: AdjustedConfidence
    memories: tuple[str, ...] = ()
    release: int = 0


def parent_folder(path: str) -> str:
    """The folder of a path with its slash; empty at the root of the repository."""
    parent = str(PurePosixPath(path).parent)
    return "" if parent == "." else f"{parent}/"
