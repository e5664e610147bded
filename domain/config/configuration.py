"""What a repository configures in ``.github/forge.yml``: every section and key, its default and its bounds."""

import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    WithJsonSchema,
)

from domain import globs
from domain.config.conditions import evaluation
from domain.config.conditions.syntax import LANGUAGE
from domain.gates import NOT_ASKED, STANDARD_GATES
from domain.review.review import IfUnread
from domain.runs.run import Phase

LONGEST_WAIT = timedelta(days=30)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_LIKE_SHA = re.compile(r"[0-9a-f]{7,}")  # what `/forge approve` takes for the head that is approved
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def parse_duration(text: str) -> timedelta:
    """The time that a configuration writes as ``30m``, ``24h`` or ``7d``."""
    return timedelta(**{_UNITS[text[-1]]: int(text[:-1])})


def _check_duration(text: str) -> str:
    if parse_duration(text) > LONGEST_WAIT:
        raise ValueError(f"is longer than {LONGEST_WAIT.days} days")
    return text


def _check_glob(pattern: str) -> str:
    wrong = globs.find_mistake(pattern)
    if wrong is not None:
        raise ValueError(wrong)
    return pattern


def _join_words(value: object) -> object:
    """A command as one line; a list of words is quoted so that splitting it gives these words again."""
    if isinstance(value, list):
        words: list[object] = value  # pyright: ignore[reportUnknownVariableType]
        if not words or not all(isinstance(word, str) for word in words):
            raise ValueError("is not a list of words")
        return shlex.join(map(str, words))
    return value


def _check_command(line: str) -> str:
    if _CONTROL.search(line):
        raise ValueError("holds a line break or another control character; write one command on one line")
    try:
        words = shlex.split(line)
    except ValueError:
        raise ValueError("has a quotation mark that is not closed") from None
    if not words or not words[0]:
        raise ValueError("names no program")
    return line


Glob = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    AfterValidator(_check_glob),
    Field(examples=["src/**", "**/*.lock"]),
]
Globs = Annotated[tuple[Glob, ...], Field(max_length=200)]
CommandLine = Annotated[
    str,
    StringConstraints(min_length=1, max_length=500),
    AfterValidator(_check_command),
    BeforeValidator(_join_words),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": 500},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        }
    ),
]
Duration = Annotated[
    str,
    StringConstraints(pattern=r"^[1-9][0-9]{0,4}[mhd]$"),
    AfterValidator(_check_duration),
    Field(examples=["30m", "24h"]),
]
BotName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}(\[bot\])?$"),
    Field(examples=["dependabot", "renovate"]),
]
AccountName = Annotated[
    str,
    StringConstraints(pattern=r"^@?[A-Za-z0-9][A-Za-z0-9-]{0,38}(/[A-Za-z0-9._-]{1,100})?$"),
    Field(examples=["octocat", "acme/architects"]),
]
LinterName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,29}$"), Field(examples=["eslint"])]
GateName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$"), Field(examples=["large_change"])]
Label = Annotated[str, StringConstraints(min_length=1, max_length=50, pattern=r"^[^\x00-\x1f,]+$")]
Dollars = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]
Calls = Annotated[int, Field(ge=1, le=200)]
Minutes = Annotated[int, Field(ge=1, le=1440)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Level = Annotated[int, Field(ge=0, le=4)]


class Section(BaseModel):
    """A part of the configuration; unknown keys are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Preset(StrEnum):
    """A named set of limits and a maximum level."""

    conservative = "conservative"
    standard = "standard"
    aggressive = "aggressive"
    production = "production"


class Forks(StrEnum):
    """What becomes of a pull request from a fork before a person gave the ok for its head."""

    first_time_needs_ok = "first_time_needs_ok"  # from someone new: layers 1 and 2 only
    needs_ok = "needs_ok"  # from anyone: layers 1 and 2 only
    ignore = "ignore"  # not reviewed unless a person asks


class ReadMode(StrEnum):
    """When a model reads a change."""

    auto = "auto"  # where one is set up: every change of source
    always = "always"  # the same, and without one a person is asked
    never = "never"


def _read_boolean(value: object) -> object:
    """`true` and `false` are what this key was before it had names."""
    return {True: ReadMode.auto, False: ReadMode.never}[value] if isinstance(value, bool) else value


WhenRead = Annotated[
    ReadMode,
    BeforeValidator(_read_boolean),
    WithJsonSchema({"anyOf": [{"enum": [*ReadMode]}, {"type": "boolean"}]}),
]


class Linter(Section):
    """A linter that prints SARIF 2.1.0 on standard output.

    It may execute what a pull request contains, so it runs in a sandbox of level 2 or better and nowhere else.
    """

    name: LinterName = Field(description="How findings name it.")
    run: CommandLine = Field(
        description="Its command, split into words as a shell would but run without one; changed files are appended."
    )
    paths: Globs = Field(
        default=("**",),
        description="The files it is given. It counts as a reader only of those whose suffix or name a pattern ends "
        "in, as `**/*.js` or `**/Dockerfile`, and only where none of them may be its configuration.",
    )


class Paths(Section):
    """Which files are looked at: all that match `include` and none of `exclude`."""

    include: Globs = Field(default=("**",), description="Files that are looked at.")
    exclude: Globs = Field(default=(), description="Files that are left out even so; the check names them.")


class ReviewSettings(Section):
    """The review of pull requests."""

    on_pull_request: bool = Field(default=True, description="Review pull requests without being asked.")
    drafts: bool = Field(default=False, description="Review drafts, too.")
    forks: Forks = Field(
        default=Forks.first_time_needs_ok,
        description="Forks. `first_time_needs_ok`: someone new gets layers 1 and 2, and no model, test or push "
        "before a person's ok for that head. `needs_ok`: the same for everyone. `ignore`: not reviewed unless asked.",
    )
    paths: Paths = Field(default=Paths(), description="Which files are looked at.")
    linters: tuple[Linter, ...] = Field(default=(), max_length=10, description="More linters for layer 1.")
    max_comments: int = Field(
        default=25, ge=0, le=100, description="Inline comments per review; the check lists the rest."
    )
    model: WhenRead = Field(
        default=ReadMode.auto,
        description="`auto`: where a model is set up, it reads every change of source; without one, a change of medium "
        "risk or above asks for a person. `always`: without a model every change of source asks for a person. `never`: "
        "no code is sent to a model, and layers 1 and 2 decide. `true` means `auto`, `false` means `never`.",
    )
    unread: IfUnread = Field(
        default=IfUnread.neutral,
        description="What becomes of a change in which nothing was found, with source that no linter of its language "
        "and no model read. `neutral`: the check is neutral and names it. `ask`: a person is asked. `approve`: the "
        "check succeeds and names it. It is never approved, fixed or merged unasked.",
    )
    never_send: Globs = Field(default=(), description="Files whose content no model provider gets to see.")
    dry_run: bool = Field(default=False, description="Show everything in the check run and post no comments.")
    bots: tuple[BotName, ...] = Field(
        default=("dependabot",), max_length=50, description="Bots whose pull requests are reviewed."
    )


class Commands(Section):
    """The repository's own commands. Each runs in the sandbox, split into words as a shell would, without a shell."""

    setup: CommandLine | None = Field(default=None, description="Prepares a checkout.")
    test: CommandLine | None = Field(default=None, description="Runs the tests.")
    lint: CommandLine | None = Field(default=None, description="Checks the style.")
    typecheck: CommandLine | None = Field(default=None, description="Checks the types.")
    build: CommandLine | None = Field(default=None, description="Builds the artifact.")
    network: bool = Field(
        default=False,
        description="Let `setup` reach the registry or proxy that the operator named (`FORGE_SANDBOX_PROXY`).",
    )


class PhaseBudgets(Section):
    """USD per phase of a run."""

    planning: Dollars = 5
    implementation: Dollars = 10
    review: Dollars = 2
    testing: Dollars = 3
    deployment: Dollars = 2


class Budgets(Section):
    """What may be spent on models, in USD; the smallest one that applies holds."""

    phase: PhaseBudgets = Field(default=PhaseBudgets(), description="That phase of a run.")
    run: Dollars = Field(default=50, description="Per run.")
    day: Dollars = Field(default=200, description="Per day (UTC) in this repository.")


class IterationBreaker(Section):
    """Model calls per phase of a run."""

    planning: Calls = 20
    implementation: Calls = 50
    review: Calls = 10
    testing: Calls = 5
    deployment: Calls = 3
    other: Calls = Field(default=10, description="Any other phase.")
    warn: Share = Field(default=0.8, description="Share of the limit at which a warning is given.")
    stagnation: int = Field(default=3, ge=2, le=20, description="Calls in a row without progress.")


class TimeBreaker(Section):
    """Minutes of work per phase of a run. Waiting for people, queues or rate limits does not count."""

    planning: Minutes = 30
    implementation: Minutes = 60
    review: Minutes = 30
    testing: Minutes = 20
    deployment: Minutes = 15
    total: Minutes = Field(default=120, description="The whole run.")
    warn: Share = Field(default=0.9, description="Share of the limit at which a warning is given.")


class ErrorRateBreaker(Section):
    """Share of failed calls within a sliding window."""

    window_minutes: int = Field(default=5, ge=1, le=60, description="Length of the window.")
    max_events: int = Field(default=1000, ge=20, le=10_000, description="Most calls that are looked at.")
    min_events: int = Field(default=20, ge=5, le=1000, description="Fewer calls than this say nothing.")
    warn: Share = Field(default=0.10, description="Share at which a warning is given.")
    trip: Share = Field(default=0.25, description="Share at which it trips.")
    reset_minutes: int = Field(default=5, ge=1, le=1440, description="Until one trial call is made.")


class Breakers(Section):
    """Circuit breakers. The one for cost is `budgets`."""

    iteration: IterationBreaker = Field(default=IterationBreaker(), description="Model calls in that phase of a run.")
    time: TimeBreaker = Field(
        default=TimeBreaker(), description="Minutes of work in that phase of a run; waiting does not count."
    )
    error_rate: ErrorRateBreaker = Field(default=ErrorRateBreaker(), description="Errors.")


class Guards(Section):
    """What stops one task of an agent. Kinds of tasks hold it within ranges of their own."""

    max_iterations: int = Field(
        default=10,
        ge=1,
        le=50,
        description="Model calls. A planner has 6 to 10, an implementer 10 to 15, to mend what tests found 5 to 8.",
    )
    max_runtime_minutes: int = Field(
        default=15,
        ge=1,
        le=60,
        description="Minutes. A planner has 20 to 30, an implementer 15 to 30, to mend what tests found 10 to 15.",
    )
    consecutive_errors: int = Field(default=3, ge=1, le=20, description="Errors of the same kind in a row.")


class Gate(Section):
    """A question that a person answers. A gate of your own needs `phase`, `when` and `prompt`."""

    phase: Literal["planning", "implementation", "review", "testing", "deployment", "any"] | None = Field(
        default=None,
        description="The phase at whose end it is asked: of an issue's run with its plan, its change or its tests, of "
        "a review with its verdict. `any`: in each of them that knows all that the condition names. `deployment`: "
        "never yet.",
    )
    when: str | None = Field(
        default=None,
        min_length=1,
        max_length=evaluation.LONGEST,
        description=f"The condition under which it is asked: {LANGUAGE}.",
        examples=["review.lines_changed > 500"],
    )
    prompt: str | None = Field(default=None, min_length=1, max_length=500, description="What the person is asked.")
    timeout: Duration | None = Field(
        default=None, description="After this it is rejected and escalated. A gate of your own without it: `24h`."
    )
    role: Literal["write", "maintain", "admin"] | None = Field(
        default=None, description="Who at least may answer. A gate of your own without it: `write`."
    )
    escalate: tuple[AccountName, ...] = Field(
        default=(), max_length=10, description="Accounts or teams told after that time."
    )


class Ladder(Section):
    """Bounds of the automation ladder. The level itself is earned, or set with `/forge level`."""

    max_level: Level = Field(default=4, description="The highest level Forge may reach.")
    pinned: Level | None = Field(default=None, description="Hold this level, or `max_level` if that is lower.")


class PathRule(Section):
    """Only these agents may change these files."""

    paths: Globs = Field(min_length=1, description="The files.")
    roles: tuple[Literal["planner", "implementer", "reviewer", "tester", "deployer"], ...] = Field(
        default=(),
        max_length=5,
        description="Agents that may change them; none: no agent. Only the implementer changes files today.",
    )
    severity: Literal["info", "warning", "error", "critical"] = Field(
        default="error", description="How bad a change by another agent is; from `error` it blocks the merge."
    )


class ProjectPaths(Section):
    """Files that need special care."""

    protected: Globs = Field(default=(), description="A change to them asks the gate `protected_paths`.")
    sensitive: Globs = Field(default=(), description="A change to them raises the risk.")
    rules: tuple[PathRule, ...] = Field(default=(), max_length=100, description="Which agent may change what.")


class Labels(Section):
    """Labels that mean something to Forge."""

    run: Label | None = Field(
        default="forge",
        description="On an issue: take it through the whole pipeline. On a pull request: review its head."
        " `null`: no label does.",
    )


class Issues(Section):
    """What people may ask for on issues."""

    run: bool = Field(
        default=True,
        description="Whether an issue may be taken through the whole pipeline, by `/forge run`, `/forge retry`,"
        " `/forge resume` or the label. `/forge plan` works all the same.",
    )


class Execution(Section):
    """How agents change files."""

    mode: Literal["deterministic", "interactive"] = Field(
        default="deterministic",
        description="`deterministic`: as diffs. `interactive`, in a workspace of their own, is not available yet.",
    )
    checkpoint_seconds: int = Field(
        default=30, ge=5, le=3600, description="At most this long between two checkpoints. No effect yet."
    )
    checkpoint_changes: int = Field(
        default=50, ge=1, le=10_000, description="At most this many changes between them. No effect yet."
    )


class Memory(Section):
    """What Forge learns here."""

    enabled: bool = Field(default=True, description="Learn, and use what was learned.")
    organisation: bool = Field(
        default=False,
        description="Share what is remembered in words with the other repositories of the organisation that set this, "
        "and use theirs. What a public repository uses may show in its reviews.",
    )
    max: int = Field(default=10_000, ge=0, le=10_000, description="Memories kept.")


class Testing(Section):
    """How tests are run."""

    runner: Literal["sandbox", "actions"] = Field(
        default="sandbox", description="`sandbox`: with `commands.test`. `actions`: the results of GitHub Actions."
    )


class Deploy(Section):
    """Deployment. Nothing can be set here yet."""


class Audit(Section):
    """The audit trail."""

    retention_days: int = Field(default=90, ge=1, le=3650, description="How long decisions are kept, in days.")


class Configuration(Section):
    """The whole file. Everything in it is optional."""

    review: ReviewSettings = ReviewSettings()
    commands: Commands = Commands()
    preset: Preset = Field(
        default=Preset.standard, description="Limits and a maximum level to start from; what the file says itself wins."
    )
    budgets: Budgets = Budgets()
    breakers: Breakers = Breakers()
    guards: Guards = Guards()
    gates: dict[GateName, Gate] = Field(
        default={},
        max_length=50,
        description="Gates of your own by name. Of a gate that Forge brings along, `timeout`, `role` (only a higher "
        "one) and `escalate` can be set.",
        json_schema_extra={"additionalProperties": False},
    )
    ladder: Ladder = Ladder()
    paths: ProjectPaths = ProjectPaths()
    labels: Labels = Labels()
    issues: Issues = Issues()
    execution: Execution = Execution()
    memory: Memory = Memory()
    testing: Testing = Testing()
    deploy: Deploy = Deploy()
    audit: Audit = Audit()


_ROLES = ("write", "maintain", "admin")


class Contradiction(NamedTuple):
    """What no type of a single value forbids.

    :param path: the keys that lead to the place, list positions included.
    :param nearest: what was probably meant.
    """

    path: tuple[str | int, ...]
    what: str
    allowed: str
    nearest: str = ""


def find_contradictions(configuration: Configuration) -> Iterator[Contradiction]:
    """What is wrong although each value by itself is right."""
    for name, gate in configuration.gates.items():
        yield from _check_standard_gate(name, gate) if name in STANDARD_GATES else _check_own_gate(name, gate)
    yield from _check_linters(configuration.review.linters)
    rates = configuration.breakers.error_rate
    if rates.warn > rates.trip:
        yield Contradiction(
            ("breakers", "error_rate", "warn"), f"is above `trip` ({rates.trip:g})", "a share up to `trip`"
        )
    if rates.min_events > rates.max_events:
        yield Contradiction(
            ("breakers", "error_rate", "min_events"),
            f"is above `max_events` ({rates.max_events})",
            "a number up to `max_events`",
        )


_NO_DEPLOYMENT = "there is no deployment phase yet"
_IDLE: Mapping[tuple[str, ...], str] = {
    ("execution", "checkpoint_seconds"): "no such checkpoints are made yet",
    ("execution", "checkpoint_changes"): "no such checkpoints are made yet",
    ("budgets", "phase", "deployment"): _NO_DEPLOYMENT,
    ("breakers", "iteration", "deployment"): _NO_DEPLOYMENT,
    ("breakers", "time", "deployment"): _NO_DEPLOYMENT,
}
"""Keys that this version checks and nothing reads; each leaves this table with the part of Forge that reads it."""


def find_idle_keys(values: Mapping[str, JsonValue]) -> Iterator[Contradiction]:
    """What a file says that is right and has no effect in this version of Forge.

    :param values: what the file itself says.
    """
    for path, why in _IDLE.items():
        if _get_value(values, path) is not None:
            yield Contradiction(path, f"has no effect in this version of Forge: {why}", "")
    if _get_value(values, ("execution", "mode")) == "interactive":
        what = "is not available yet, so agents work as `deterministic` says"
        yield Contradiction(("execution", "mode"), what, "")
    yield from _find_unasked_gates(values)


def _find_unasked_gates(values: Mapping[str, JsonValue]) -> Iterator[Contradiction]:
    """The gates that nothing asks yet, or in a phase that there is not yet, those of a preset included."""
    gates = _get_value(values, ("gates",))
    for name in gates if isinstance(gates, dict) else ():
        if name in NOT_ASKED:
            yield Contradiction(("gates", name), f"is never asked: {NOT_ASKED[name]}", "")
        if _get_value(values, ("gates", name, "phase")) == Phase.deployment.value:
            yield Contradiction(("gates", name, "phase"), f"is never asked: {_NO_DEPLOYMENT}", "")
    if values.get("preset") == Preset.production.value:
        yield Contradiction(("preset",), f"brings the gate `any_deploy`, which is never asked: {_NO_DEPLOYMENT}", "")


def _get_value(values: Mapping[str, JsonValue], path: tuple[str, ...]) -> JsonValue:
    value: JsonValue = dict(values)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _check_standard_gate(name: str, gate: Gate) -> Iterator[Contradiction]:
    for key in ("phase", "when", "prompt"):
        if getattr(gate, key) is not None:
            yield Contradiction(
                ("gates", name, key),
                "cannot be changed for a gate that Forge brings along",
                "`timeout`, `role` and `escalate`",
            )
    least = STANDARD_GATES[name].role
    if gate.role is not None and _ROLES.index(gate.role) < _ROLES.index(least):
        yield Contradiction(("gates", name, "role"), "is lower than this gate asks for", f"`{least}` or higher")


def _check_own_gate(name: str, gate: Gate) -> Iterator[Contradiction]:
    if _LIKE_SHA.fullmatch(name):
        yield Contradiction(
            ("gates", name), "is named like a SHA, so no command could name it", "a name with other letters"
        )
    missing = [f"`{key}`" for key in ("phase", "when", "prompt") if getattr(gate, key) is None]
    if missing:
        yield Contradiction(("gates", name), f"lacks {' and '.join(missing)}", "a gate with `phase`, `when`, `prompt`")
    if gate.when is not None:
        yield from _check_condition(("gates", name, "when"), gate.when, gate.phase)


def _check_condition(path: tuple[str, ...], text: str, phase: str | None) -> Iterator[Contradiction]:
    try:
        condition = evaluation.parse(text)
    except evaluation.ConditionError as error:
        yield Contradiction(path, error.what, error.allowed, error.nearest)
        return
    if phase is None:
        return
    if phase == "any":
        if not condition.phases & evaluation.ASKED:
            yield Contradiction(path, "names what no phase knows all of", "names that one phase knows")
        return
    unknown = [name for name in sorted(condition.names) if Phase(phase) not in evaluation.NAMES[name].phases]
    if unknown:
        named = " and ".join(f"`{name}`" for name in unknown)
        yield Contradiction(
            path, f"names {named}, which the phase {phase} does not know", _describe_known(Phase(phase))
        )


def _describe_known(phase: Phase) -> str:
    known = sorted({name.partition(".")[0] for name, each in evaluation.NAMES.items() if phase in each.phases})
    return f"names that begin with {' or '.join(f'`{each}.`' for each in known)}"


def _check_linters(linters: tuple[Linter, ...]) -> Iterator[Contradiction]:
    seen: set[str] = set()
    for index, linter in enumerate(linters):
        if linter.name in seen:
            yield Contradiction(("review", "linters", index, "name"), "is the name of another linter", "a name once")
        seen.add(linter.name)
