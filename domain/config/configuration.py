"""The configuration of a repository, its JSON Schema in words and for editors, and what contradicts itself in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from domain.config.deploy import DeploySettings, find_deploy_mistakes
from domain.config.limits import AllowedCommands, Breakers, Budgets, ErrorRateBreaker, Guards, ProjectPaths
from domain.config.sections import (
    AvoidanceSettings,
    GateSettings,
    Linter,
    NotifiedTarget,
    ReviewSettings,
    find_gate_mistakes,
    find_secret_addresses,
)
from domain.config.values import CommandGlobs, CommandLine, Contradiction, GateName, Label, Level, Section
from domain.runs.run import ExecutionMode

_NO_MODEL = "a deployment asks no model"
_IDLE: Mapping[tuple[str, ...], str] = {
    ("budgets", "phase", "deployment"): _NO_MODEL,
    ("breakers", "iteration", "deployment"): _NO_MODEL,
}
"""Keys that this version validates but does not use."""
_OWN_COMMANDS = [("commands", name) for name in ("setup", "test", "lint", "typecheck", "build")]


ADDRESS = "/schema/forge.yml.json"
"""Where a server of Forge shows it."""

Schema = dict[str, Any]  # a JSON Schema
Place = Sequence[str | int]
"""Keys and list positions that lead to a value."""


@cache
def build_schema() -> Schema:
    """The whole schema, JSON Schema 2020-12."""
    schema = _strip_titles(Configuration.model_json_schema())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of Forge (.github/forge.yml)",
        **schema,
    }


def find_node(place: Place) -> Schema | None:
    """The schema of a place, with its references followed; None if there is no such place."""
    node: Schema | None = build_schema()
    for step in place:
        node = _child(drop_null(resolve_reference(node)), step) if node is not None else None
    return None if node is None else resolve_reference(node)


def list_keys(place: Place) -> list[str]:
    """The keys that a section knows."""
    node = find_node(place)
    return [] if node is None else list(drop_null(node).get("properties", {}))


def describe(node: Schema) -> str:
    """Describes the allowed values in a few words of Markdown, such as "a whole number from 0 to 100"."""
    node = resolve_reference(node)
    if "anyOf" in node:
        return " or ".join(describe(option) for option in node["anyOf"])
    if "enum" in node:
        return _join_choices([f"`{value}`" for value in node["enum"]])
    kind = node.get("type")
    if kind == "array":
        return f"a list, each entry {describe(node['items'])}"
    return _NAMES[kind] + _range(node) + _examples(node) if kind in _NAMES else "a value"


def resolve_reference(node: Schema) -> Schema:
    """A node with its reference resolved; keys beside the reference win."""
    if "$ref" not in node:
        return node
    target = build_schema()["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return {**target, **{key: value for key, value in node.items() if key != "$ref"}}


def drop_null(node: Schema) -> Schema:
    """The node without its null option; default and description stay."""
    options = [option for option in node.get("anyOf", ()) if option.get("type") != "null"]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    return (
        {**rest, **resolve_reference(options[0])}
        if len(options) == 1
        else {**rest, "anyOf": options}
        if options
        else node
    )


_NAMES = {
    "boolean": "`true` or `false`",
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "null": "`null`",
    "object": "a section",
}


def _range(node: Schema) -> str:
    if node["type"] == "string":
        longest = node.get("maxLength")
        return "" if longest is None else f" of up to {longest} characters"
    low = node.get("minimum")
    above = node.get("exclusiveMinimum")
    if low is not None:
        return f" from {low:g} to {node['maximum']:,}"
    return "" if above is None else f" above {above:g} and up to {node['maximum']:,}"


def _examples(node: Schema) -> str:
    examples = [f"`{value}`" for value in node.get("examples", ())]
    return f" such as {_join_choices(examples)}" if examples else ""


def _join_choices(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"


def _child(node: Schema, step: str | int) -> Schema | None:
    if isinstance(step, int):
        return node.get("items")
    if step in node.get("properties", {}):
        return node["properties"][step]
    matching = (child for pattern, child in node.get("patternProperties", {}).items() if re.search(pattern, step))
    return next(matching, None)


def _strip_titles(node: Any) -> Any:
    """Drops the titles that pydantic derives from names."""
    if isinstance(node, list):
        listed: list[Any] = node
        return [_strip_titles(item) for item in listed]
    if not isinstance(node, dict):
        return node
    items: dict[str, Any] = node
    return {
        key: _strip_titles(value) for key, value in items.items() if not (key == "title" and isinstance(value, str))
    }


class Preset(StrEnum):
    """A named set of limits and a maximum level."""

    conservative = "conservative"
    standard = "standard"
    aggressive = "aggressive"
    production = "production"


class Commands(Section):
    """The repository's own commands. Each runs in the sandbox, without a shell."""

    setup: CommandLine | None = Field(default=None, description="Prepares a checkout.")
    test: CommandLine | None = Field(default=None, description="Runs the tests.")
    lint: CommandLine | None = Field(default=None, description="Checks the style.")
    typecheck: CommandLine | None = Field(default=None, description="Checks the types.")
    build: CommandLine | None = Field(default=None, description="Builds the artifact.")
    network: bool = Field(
        default=False,
        description="Let `setup` reach the operator's registry or proxy (`FORGE_SANDBOX_PROXY`).",
    )


class Ladder(Section):
    """Bounds of the automation ladder. The level itself is earned, or set with `/forge level`."""

    max_level: Level = Field(default=4, description="The highest level that Forge may reach, 0 to 4.")
    pinned: Level | None = Field(default=None, description="Keep this level, or `max_level` if that is lower.")


class Labels(Section):
    """Labels that mean something to Forge."""

    run: Label | None = Field(
        default="forge",
        description="On an issue: plan and implement it. On a pull request: review it. `null`: no label does.",
    )


class IssueSettings(Section):
    """What people may ask for on issues."""

    run: bool = Field(
        default=True,
        description="Let Forge implement issues; `/forge plan` always works.",
    )


class Execution(Section):
    """How agents change files."""

    mode: ExecutionMode = Field(
        default="deterministic",
        description="`deterministic`: Forge's own agent, by edits; `interactive`: the agent of "
        "`agents.implementer.command`, or Forge's own with `commands`.",
    )
    commands: CommandGlobs = Field(
        default=(),
        description="What Forge's own agent may also run in interactive mode, such as `python *`.",
    )
    checkpoint_seconds: int = Field(
        default=30,
        ge=5,
        le=3600,
        description="After so many seconds the work of `agents.implementer.command` is kept.",
    )
    checkpoint_changes: int = Field(
        default=50,
        ge=1,
        le=10_000,
        description="After so many changed files it is kept earlier, though not within 5 s.",
    )


class ImplementerSettings(Section):
    """A command-line agent that carries out tasks in place of Forge's own."""

    command: CommandLine | None = Field(
        default=None,
        description="Starts it in the sandbox, in interactive mode; `{task}` is its task, `{task_file}` a file with"
        " it.",
    )
    minutes: int = Field(default=15, ge=1, le=60, description="Time for one task.")
    calls: int = Field(default=60, ge=1, le=500, description="Model calls for one task.")


class AgentSettings(Section):
    """Agents of other makes."""

    implementer: ImplementerSettings = ImplementerSettings()


class MemorySettings(Section):
    """What Forge learns here."""

    enabled: bool = Field(default=True, description="Learn, and use what was learned.")
    organisation: bool = Field(
        default=False,
        description="Share memories of `/forge remember` with the organisation's repositories that set this, too; a"
        " public repository may show them.",
    )
    max: int = Field(default=10_000, ge=0, le=10_000, description="Memories kept, up to 10,000.")


class Testing(Section):
    """How tests are run."""

    runner: Literal["sandbox", "actions"] = Field(
        default="sandbox", description="`sandbox`: Forge runs them. `actions`: it reads the results of GitHub Actions."
    )


class Audit(Section):
    """The audit trail."""

    retention_days: int = Field(default=90, ge=1, le=3650, description="How long decisions are kept.")


class Configuration(Section):
    """The whole file. Everything in it is optional."""

    review: ReviewSettings = ReviewSettings()
    commands: Commands = Commands()
    preset: Preset = Field(
        default=Preset.standard,
        description="Limits to start from: `conservative`, `standard`, `aggressive` or `production`; keys of the "
        "file win.",
    )
    budgets: Budgets = Budgets()
    breakers: Breakers = Breakers()
    guards: Guards = Guards()
    gates: Annotated[
        dict[GateName, GateSettings],
        Field(
            max_length=50,
            description="Gates of your own, by name. A built-in gate takes `timeout`, a higher `role`, and `escalate`.",
            json_schema_extra={"additionalProperties": False},
        ),
    ] = {}
    ladder: Ladder = Ladder()
    paths: ProjectPaths = ProjectPaths()
    labels: Labels = Labels()
    issues: IssueSettings = IssueSettings()
    execution: Execution = Execution()
    agents: AgentSettings = AgentSettings()
    memory: MemorySettings = MemorySettings()
    testing: Testing = Testing()
    deploy: DeploySettings = DeploySettings()
    notify: tuple[NotifiedTarget, ...] = Field(
        default=(), max_length=10, description="Who is told of gates, limits, levels and failures; up to ten."
    )
    audit: Audit = Audit()
    avoidance: AvoidanceSettings = AvoidanceSettings()

    @property
    def off_limits_to_agents(self) -> tuple[str, ...]:
        """Globs of files that agents change only where a person lets them: what is protected, and what they follow."""
        return (*self.paths.protected, *self.review.instructions)

    @property
    def commands_of_agents(self) -> AllowedCommands:
        """What an agent may run in interactive mode."""
        own = self.commands
        lines = (own.setup, own.test, own.lint, own.typecheck, own.build)
        return AllowedCommands(self.execution.commands, tuple(line for line in lines if line is not None))


def find_contradictions(configuration: Configuration) -> Iterator[Contradiction]:
    """Finds contradictions between valid values."""
    for name, gate in configuration.gates.items():
        yield from find_gate_mistakes(name, gate)
    yield from _check_linters(configuration.review.linters)
    yield from _check_error_rate(configuration.breakers.error_rate)
    yield from find_deploy_mistakes(configuration.deploy)
    yield from find_secret_addresses(configuration.notify)


def find_idle_keys(values: Mapping[str, JsonValue]) -> Iterator[Contradiction]:
    """Finds valid keys without effect in this version of Forge, or as its operator set it up.

    :param values: the file's own values.
    """
    for path, why in _IDLE.items():
        if _get_value(values, path) is not None:
            yield Contradiction(path, f"has no effect in this version of Forge: {why}", "")
    yield from _find_missing_agent(values)


def _find_missing_agent(values: Mapping[str, JsonValue]) -> Iterator[Contradiction]:
    """A mode without an agent or a command for it, and such an agent without the mode."""
    is_interactive = _get_value(values, ("execution", "mode")) == "interactive"
    has_agent = _get_value(values, ("agents", "implementer", "command")) is not None
    named = [_get_value(values, path) for path in (("execution", "commands"), *_OWN_COMMANDS)]
    if is_interactive and not has_agent and not any(named):
        what = "needs `execution.commands`; without them Forge's agent works as with `deterministic`"
        yield Contradiction(("execution", "mode"), what, "")
    for name in ("checkpoint_seconds", "checkpoint_changes"):
        if not has_agent and _get_value(values, ("execution", name)) is not None:
            what = "has no effect without `agents.implementer.command`: edits of Forge's agent are kept anyway"
            yield Contradiction(("execution", name), what, "")
    if has_agent and not is_interactive:
        what = "has no effect without `execution.mode: interactive`, or `/forge run interactive`"
        yield Contradiction(("agents", "implementer", "command"), what, "")


def _get_value(values: Mapping[str, JsonValue], path: tuple[str, ...]) -> JsonValue:
    value: JsonValue = dict(values)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _check_linters(linters: tuple[Linter, ...]) -> Iterator[Contradiction]:
    seen: set[str] = set()
    for index, linter in enumerate(linters):
        if linter.name in seen:
            yield Contradiction(("review", "linters", index, "name"), "is the name of another linter", "a name once")
        seen.add(linter.name)


def _check_error_rate(rates: ErrorRateBreaker) -> Iterator[Contradiction]:
    path = ("breakers", "error_rate")
    if rates.warn > rates.trip:
        yield Contradiction((*path, "warn"), f"is above `trip` ({rates.trip:g})", "a share up to `trip`")
    if rates.min_events > rates.max_events:
        what = f"is above `max_events` ({rates.max_events})"
        yield Contradiction((*path, "min_events"), what, "a number up to `max_events`")
