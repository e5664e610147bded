"""What a repository configures in ``.github/forge.yml``: every section, with its defaults."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from domain.config.deploy import DeploySettings
from domain.config.gates import AvoidanceSettings, GateSettings
from domain.config.limits import AllowedCommands, Breakers, Budgets, Guards, ProjectPaths
from domain.config.notify import NotifySettings
from domain.config.review import ReviewSettings
from domain.config.values import CommandGlobs, CommandLine, GateName, Label, Level, Section
from domain.github.installations import WelcomeWay
from domain.runs.run import ExecutionMode


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
    gates: dict[GateName, GateSettings] = Field(
        default={},
        max_length=50,
        description="Gates of your own, by name. A built-in gate takes `timeout`, a higher `role`, and `escalate`.",
        json_schema_extra={"additionalProperties": False},
    )
    ladder: Ladder = Ladder()
    paths: ProjectPaths = ProjectPaths()
    labels: Labels = Labels()
    issues: IssueSettings = IssueSettings()
    execution: Execution = Execution()
    agents: AgentSettings = AgentSettings()
    memory: MemorySettings = MemorySettings()
    testing: Testing = Testing()
    deploy: DeploySettings = DeploySettings()
    notify: NotifySettings = NotifySettings()
    audit: Audit = Audit()
    avoidance: AvoidanceSettings = AvoidanceSettings()
    welcome: WelcomeWay = Field(
        default=WelcomeWay.issue,
        description="How Forge introduces itself once: in an `issue` (if at most three repositories were chosen), "
        "in the first `check`, or `off`.",
    )

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
