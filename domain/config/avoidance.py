"""The settings for changes that give up in disguise: what happens where one is found."""

from enum import StrEnum

from pydantic import Field

from domain.config.values import Section
from domain.review.avoidance import AvoidanceKind


class AvoidanceReaction(StrEnum):
    """What a detection does in a pull request."""

    off = "off"  # nothing; agents are told all the same
    note = "note"  # a finding
    gate = "gate"  # a finding, and `destructive` asks a person


class AvoidanceSettings(Section):
    """Where a change gives up in disguise. `off`: nothing; `note`: a finding; `gate`: a finding, and a question."""

    failure_hidden: AvoidanceReaction = Field(
        default=AvoidanceReaction.gate,
        description="A test that passed before fails on the new code, and nothing in its place demands the same.",
    )
    test_skipped: AvoidanceReaction = Field(
        default=AvoidanceReaction.note, description="Tests are skipped, expected to fail, or left out for others."
    )
    failure_ignored: AvoidanceReaction = Field(
        default=AvoidanceReaction.note, description="Failures of commands that check have no effect."
    )
    assertion_vacuous: AvoidanceReaction = Field(
        default=AvoidanceReaction.note, description="Assertions of tests cannot fail."
    )
    test_detected: AvoidanceReaction = Field(
        default=AvoidanceReaction.note, description="Code asks whether a test runs it."
    )
    threshold_lowered: AvoidanceReaction = Field(
        default=AvoidanceReaction.note, description="Less coverage is demanded than before."
    )
    checker_disabled: AvoidanceReaction = Field(
        default=AvoidanceReaction.note, description="A checker is switched off for a whole file, or for all."
    )
    coverage_lost: AvoidanceReaction = Field(
        default=AvoidanceReaction.gate,
        description="Code lost its tests, or much came without: over two percentage points. `Forge / test` asks.",
    )

    def of(self, kind: AvoidanceKind) -> AvoidanceReaction:
        """What a detection of a kind does."""
        return AvoidanceReaction(getattr(self, kind.value))
