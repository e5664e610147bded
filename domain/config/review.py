"""The settings for reviews: files, linters, the model, comments."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from domain.config.values import BotName, CommandLine, Globs, LinterName, Section
from domain.review.reading import Effort
from domain.review.review import IfUnread

CONVENTIONS = (
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
    """Accepts `true` and `false`, the former values of this key."""
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
