"""The settings of gates and of what happens where a change gives up in disguise, with checks beyond types."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Literal

from pydantic import Field

from domain.config import conditions
from domain.config.values import AccountName, Contradiction, Duration, Section
from domain.gates import STANDARD_GATES
from domain.review.avoidance import AvoidanceKind
from domain.runs.run import Phase


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


_ROLES = ("write", "maintain", "admin")
_LIKE_SHA = re.compile(r"[0-9a-f]{7,}")  # `/forge approve` takes this for the head that is approved


class GateSettings(Section):
    """A question that a person answers. A gate of your own needs `phase`, `when` and `prompt`."""

    phase: Literal["planning", "implementation", "review", "testing", "deployment", "any"] | None = Field(
        default=None,
        description="The phase at whose end it is asked (`deployment`: before it begins); `any`: each that knows "
        "the names of `when`.",
    )
    when: str | None = Field(
        default=None,
        min_length=1,
        max_length=conditions.LONGEST,
        description="The condition under which it is asked.",
        examples=["review.lines_changed > 500"],
    )
    prompt: str | None = Field(default=None, min_length=1, max_length=500, description="What the person is asked.")
    timeout: Duration | None = Field(
        default=None, description="After this it is rejected and escalated; your own: `24h`."
    )
    role: Literal["write", "maintain", "admin"] | None = Field(
        default=None,
        description="The least role that answers: `write` (by default), `maintain` or `admin`.",
    )
    escalate: tuple[AccountName, ...] = Field(
        default=(), max_length=10, description="Accounts or teams that are told after that time."
    )


def find_gate_mistakes(name: str, gate: GateSettings) -> Iterator[Contradiction]:
    """Finds contradictions in the settings of a gate."""
    yield from _check_standard_gate(name, gate) if name in STANDARD_GATES else _check_own_gate(name, gate)


def _check_standard_gate(name: str, gate: GateSettings) -> Iterator[Contradiction]:
    for key in ("phase", "when", "prompt"):
        if getattr(gate, key) is not None:
            yield Contradiction(
                ("gates", name, key),
                "cannot be changed for a built-in gate",
                "`timeout`, `role` and `escalate`",
            )
    least = STANDARD_GATES[name].role
    if gate.role is not None and _ROLES.index(gate.role) < _ROLES.index(least):
        yield Contradiction(("gates", name, "role"), "is lower than this gate requires", f"`{least}` or higher")


def _check_own_gate(name: str, gate: GateSettings) -> Iterator[Contradiction]:
    if _LIKE_SHA.fullmatch(name):
        yield Contradiction(
            ("gates", name), "looks like a SHA, so no command could name it", "a name with other letters"
        )
    missing = [f"`{key}`" for key in ("phase", "when", "prompt") if getattr(gate, key) is None]
    if missing:
        yield Contradiction(("gates", name), f"lacks {' and '.join(missing)}", "a gate with `phase`, `when`, `prompt`")
    if gate.when is not None:
        yield from _check_condition(("gates", name, "when"), gate.when, gate.phase)


def _check_condition(path: tuple[str, ...], text: str, phase: str | None) -> Iterator[Contradiction]:
    try:
        condition = conditions.Condition(text)
    except conditions.ConditionError as error:
        yield Contradiction(path, error.what, error.allowed, error.nearest)
        return
    if phase is None:
        return
    if phase == "any":
        if not condition.phases & conditions.ASKED:
            yield Contradiction(path, "uses names that no single phase knows", "names that one phase knows")
        return
    unknown = [name for name in sorted(condition.names) if Phase(phase) not in conditions.NAMES[name].phases]
    if unknown:
        named = " and ".join(f"`{name}`" for name in unknown)
        yield Contradiction(
            path, f"names {named}, which the phase {phase} does not know", _describe_known(Phase(phase))
        )


def _describe_known(phase: Phase) -> str:
    known = sorted({name.partition(".")[0] for name, each in conditions.NAMES.items() if phase in each.phases})
    return f"names that begin with {' or '.join(f'`{each}.`' for each in known)}"
