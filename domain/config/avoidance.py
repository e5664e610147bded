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
    """What happens where a change gives up in disguise. `off`: nothing, but Forge's own agents are told all the same;
    `note`: a finding; `gate`: a finding, and the gate `destructive` asks a maintainer. A doubtful detection (confidence
    below 0.7) never asks.
    """

    test_removed: AvoidanceReaction = Field(
        default=AvoidanceReaction.off, description="Tests, or cases of one, are gone."
    )
    test_skipped: AvoidanceReaction = Field(
        default=AvoidanceReaction.gate, description="Tests are skipped or expected to fail."
    )
    test_deselected: AvoidanceReaction = Field(
        default=AvoidanceReaction.off, description="Tests are left out by a setting, a command or their name."
    )
    assertion_removed: AvoidanceReaction = Field(
        default=AvoidanceReaction.off, description="Assertions are gone; asks when more than two are gone or weaker."
    )
    assertion_weakened: AvoidanceReaction = Field(
        default=AvoidanceReaction.off,
        description="Assertions demand less; asks when more than two are gone or weaker.",
    )
    expectation_changed: AvoidanceReaction = Field(
        default=AvoidanceReaction.off, description="Tests expect another value than before."
    )
    answer_hard_coded: AvoidanceReaction = Field(
        default=AvoidanceReaction.off,
        description="Code has answers for the inputs of tests, or asks whether a test runs it.",
    )
    error_swallowed: AvoidanceReaction = Field(default=AvoidanceReaction.off, description="Errors are dropped.")
    suppression_added: AvoidanceReaction = Field(
        default=AvoidanceReaction.off,
        description="Tools are silenced. The check counts the comments that do so in any case.",
    )
    failure_ignored: AvoidanceReaction = Field(
        default=AvoidanceReaction.note, description="Failures of commands have no effect."
    )
    coverage_lost: AvoidanceReaction = Field(
        default=AvoidanceReaction.gate,
        description="Code that stays lost its tests, or much new code came without: more than two percentage points. "
        "Found by `Forge / test`, which then asks for a maintainer instead of `destructive`.",
    )
    feature_removed: AvoidanceReaction = Field(
        default=AvoidanceReaction.off, description="Functions, options, routes or checks are taken away."
    )
    work_left_out: AvoidanceReaction = Field(
        default=AvoidanceReaction.off, description="Stubs and notes stand in place of the work."
    )
    failure_hidden: AvoidanceReaction = Field(
        default=AvoidanceReaction.gate,
        description="A test that passed before fails on the new code, and nothing in its place demands the same.",
    )

    def of(self, kind: AvoidanceKind) -> AvoidanceReaction:
        """What a detection of a kind does."""
        return AvoidanceReaction(getattr(self, kind.value))
