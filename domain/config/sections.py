"""Sections of ``.github/forge.yml``: reviews, gates with their roles and times, and who is notified of what."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from domain.config import conditions
from domain.config.deploy import Address
from domain.config.values import AccountName, BotName, CommandLine, Contradiction, Duration, Globs, LinterName, Section
from domain.gates import STANDARD_GATES
from domain.review.avoidance import AvoidanceKind
from domain.review.reading import Effort
from domain.review.review import IfUnread
from domain.runs.run import Phase
from domain.text.redaction import holds_secret

_OF_SECRETS = ("hooks.slack.com", "webhook.office.com", "logic.azure.com", "powerplatform.com", "discord.com")
"""Hosts whose addresses let everybody post who knows them."""
TargetName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,49}$"), Field(examples=["ops", "security-team"])
]
EventPattern = Literal[
    "*",
    "gate.*",
    "gate.opened",
    "gate.closed",
    "budget.reached",
    "model.failing",
    "level.changed",
    "run.failed",
    "deployment.*",
    "deployment.failed",
    "deployment.rolled_back",
    "delivery.failed",
]
OwnEventPattern = Literal["forge.*", "forge.halted", "forge.resumed"]
"""What is about no repository, and told to the operator's targets alone."""


CONVENTIONS = (
    ".github/forge-memory.md",
    "**/AGENTS.md",
    "**/CLAUDE.md",
    ".github/copilot-instructions.md",
    ".github/instructions/**/*.instructions.md",
    "**/.cursor/rules/**/*.mdc",
    ".cursorrules",
    "{,.github/,docs/}CONTRIBUTING.md",
)
"""Where repositories usually write down how they want code to be written."""


class Forks(StrEnum):
    """How Forge treats a pull request from a fork before a person's ok for its head."""

    first_time_needs_ok = "first_time_needs_ok"  # from a newcomer: no model, test or push
    needs_ok = "needs_ok"  # from anyone: no model, test or push
    ignore = "ignore"  # not reviewed unless a person asks


class ReadMode(StrEnum):
    """When a model reads a change."""

    auto = "auto"  # where one is set up: every change of source
    always = "always"  # the same, and without one a person is asked
    never = "never"


class IfUnshown(StrEnum):
    """What an error of the model's is that running does not show."""

    block = "block"  # an error where the second look proves it
    warn = "warn"  # a warning


def _read_boolean(value: object) -> object:
    """Accepts `true` and `false`, as other switches do: who writes `false` wants no model to read."""
    return {True: ReadMode.auto, False: ReadMode.never}[value] if isinstance(value, bool) else value


WhenRead = Annotated[
    ReadMode,
    BeforeValidator(_read_boolean),
    WithJsonSchema({"anyOf": [{"enum": [*ReadMode]}, {"type": "boolean"}]}),
]


class Linter(Section):
    """A linter that prints SARIF 2.1.0 on standard output; docs/review.md has an example."""

    name: LinterName = Field(description="Its name in findings.")
    run: CommandLine = Field(description="Its command, without a shell; changed files are appended.")
    paths: Globs = Field(
        default=("**",),
        description="The files it is given, and counts as a reader of.",
    )
    files: Globs = Field(
        default=(),
        description="Its configuration and what that reads, taken from the merge base, never from the pull request.",
    )


class Paths(Section):
    """Which files are looked at: all that match `include` and none of `exclude`."""

    include: Globs = Field(default=("**",), description="Files that Forge reviews.")
    exclude: Globs = Field(default=(), description="Files that are left out all the same; the check names them.")


class ReviewSettings(Section):
    """The review of pull requests."""

    on_pull_request: bool = Field(default=True, description="Review without being asked.")
    drafts: bool = Field(default=False, description="Review drafts, too.")
    forks: Forks = Field(
        default=Forks.first_time_needs_ok,
        description="`first_time_needs_ok`: on a newcomer's head no model, test or push before a person's ok; "
        "`needs_ok`: on anybody's; `ignore`: no review unless asked.",
    )
    paths: Paths = Field(default=Paths(), description="The files that are reviewed; the check names those left out.")
    linters: tuple[Linter, ...] = Field(default=(), max_length=10, description="Up to ten more linters.")
    max_comments: int = Field(
        default=25, ge=0, le=100, description="Comments on lines per review; the check lists the rest."
    )
    model: WhenRead = Field(
        default=ReadMode.auto,
        description="`auto`: a model reads source, and all that Forge could merge, if one is set up; `always`: the "
        "same, and a person is asked where none can; `never`: no code is sent to a model.",
    )
    effort: Effort = Field(
        default=Effort.standard,
        description="How thoroughly a model reads: `low`, `standard` or `deep`.",
    )
    unread: IfUnread = Field(
        default=IfUnread.neutral,
        description="What follows where nobody read the logic: `neutral`, `ask` a person, or `approve`.",
    )
    proof_seconds: int = Field(
        default=120,
        ge=0,
        le=900,
        description="Seconds to show a model's errors by running a test; 0: none is written.",
    )
    unshown: IfUnshown = Field(
        default=IfUnshown.block,
        description="A model's error in code that no test shows: `block` if a line of code proves it, or `warn`.",
    )
    never_send: Globs = Field(default=(), description="Files whose content is never sent to a model.")
    instructions: Globs = Field(
        default=CONVENTIONS,
        description="Files that say how code is written here; `[]`: none is read.",
    )
    dry_run: bool = Field(default=False, description="Show everything in the check, and post no comments.")
    bots: tuple[BotName, ...] = Field(
        default=("dependabot",),
        max_length=50,
        description="Bots whose pull requests are reviewed unasked.",
    )

    @property
    def may_ask_model(self) -> bool:
        """Whether code may be sent to a model."""
        return self.model is not ReadMode.never


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


_ROLES = ("write", "maintain", "admin")
_LIKE_SHA = re.compile(r"[0-9a-f]{7,}")  # `/forge approve` takes this for the head that is approved


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


class NotifiedTarget(Section):
    """Who is told of what, by signed JSON."""

    url: Address = Field(
        description="Takes it; nothing secret may be in it.", examples=["https://hooks.example.com/forge"]
    )
    events: tuple[EventPattern, ...] = Field(
        default=("*",), min_length=1, max_length=30, description="What it is told of; `gate.*` stands for a family."
    )


def find_secret_addresses(targets: Sequence[NotifiedTarget]) -> Iterator[Contradiction]:
    """Finds addresses of targets that nobody but their owner may know."""
    for index, each in enumerate(targets):
        if _is_secret(each.url):
            what = "is a secret: whoever reads this file could post there"
            allowed = "an address that everybody may know; the operator names this one (`FORGE_NOTIFY_TARGETS`)"
            yield Contradiction(("notify", index, "url"), what, allowed)


def _is_secret(url: str) -> bool:
    host = (urlsplit(url).hostname or "").lower()
    return holds_secret(url) or any(host == each or host.endswith(f".{each}") for each in _OF_SECRETS)
