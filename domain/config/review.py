"""The settings for reviews: files, linters, the model, comments."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from domain.config.values import BotName, CommandLine, Globs, LinterName, Section
from domain.review.effort import Effort
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
    """A linter that prints SARIF 2.1.0 on standard output.

    It may execute code of a pull request, so it runs only in a sandbox of level 2 or better. Its program and plugins
    come from `/usr`, `/opt` or a folder in `FORGE_SANDBOX_TOOLS`. It sees the changed files and what `files` names; a
    type checker needs more and belongs to the tests (`commands.typecheck`). For eslint in `/opt/lint`: `{name: eslint,
    run: /opt/lint/node_modules/.bin/eslint -f /opt/lint/node_modules/@microsoft/eslint-formatter-sarif/sarif.js, paths:
    ["**/*.js"], files: [eslint.config.js]}`; the configuration loads plugins with `createRequire("/opt/lint/")`.
    """

    name: LinterName = Field(description="How findings name it.")
    run: CommandLine = Field(
        description="Its command, split into words as a shell would but run without one; changed files are appended."
    )
    paths: Globs = Field(
        default=("**",),
        description="The files it is given. It counts as a reader of those whose suffix or name a pattern ends in, as "
        "`**/*.js` or `**/Dockerfile`, and that it does not say it leaves out; of none where one may be its "
        "configuration.",
    )
    files: Globs = Field(
        default=(),
        description="Files of the merge base that are laid beside them: its configuration and what that reads, as "
        "`eslint.config.js` and `package.json`. Of these the pull request's own versions are never used, nor is any "
        "other file that may configure it.",
    )


class Paths(Section):
    """Which files are looked at: all that match `include` and none of `exclude`."""

    include: Globs = Field(default=("**",), description="Files that Forge reviews.")
    exclude: Globs = Field(default=(), description="Files that are left out all the same; the check names them.")


class ReviewSettings(Section):
    """The review of pull requests."""

    on_pull_request: bool = Field(default=True, description="Review pull requests without being asked.")
    drafts: bool = Field(default=False, description="Review drafts as well.")
    forks: Forks = Field(
        default=Forks.first_time_needs_ok,
        description="Forks. `first_time_needs_ok`: someone new gets linters and security checks, but no model, "
        "test or push before a person approves that head. `needs_ok`: the same for everyone. `ignore`: not "
        "reviewed unless asked.",
    )
    paths: Paths = Field(default=Paths(), description="Which files Forge reviews.")
    linters: tuple[Linter, ...] = Field(default=(), max_length=10, description="More linters.")
    max_comments: int = Field(
        default=25, ge=0, le=100, description="Inline comments per review; the check lists the rest."
    )
    model: WhenRead = Field(
        default=ReadMode.auto,
        description="`auto`: where a model is set up, it reads every change of source; without one, a person is asked "
        "if its risk has 18 points or more beside the 25 that every change of behaviour has. Where the budget runs "
        "short, it reads the riskiest files and the check names the others. `always`: the model reads all, and asks "
        "people for more money where it must; without a model every change of source asks for a person. `never`: "
        "no code is sent to a model, so linters and security checks are all there is. `true` means `auto`, `false` "
        "means `never`.",
    )
    effort: Effort = Field(
        default=Effort.standard,
        description="How thoroughly a model reads. `low`: the fast model, one question of 12,000 tokens, a second "
        "look only at what would block, of the rest only what it is sure of; no conventions, no look-ups. "
        "`standard`: the fast model, up to seven questions, a second look at everything; it looks things up where a "
        "change is large or risky. Both leave out what does no harm (`info`). `deep`: the strong model, questions "
        "twice as large with several times the code around the change, and it may always look things up. `/forge "
        "review EFFORT` chooses for one review. What does not fit is named, and a person is asked; budgets hold for "
        "each.",
    )
    unread: IfUnread = Field(
        default=IfUnread.neutral,
        description="The result where nothing blocks, but linters alone read what may change what the program does, or "
        "neither a linter of its language nor a model read some source. `neutral`: the check is neutral and says so; "
        "for source that nobody read it asks a person where a branch requires the check, because GitHub would let "
        "neutral pass. `ask`: a person is asked. `approve`: the check succeeds and says so. Forge never approves, "
        "fixes or merges it unasked.",
    )
    proof_seconds: int = Field(
        default=120,
        ge=0,
        le=900,
        description="How long, in seconds for all together, tests are written and run for what the model calls an "
        "error, before the review is posted: with the change and without it, in the sandbox. What no time is left for "
        "is not run. Each run begins with `commands.setup`. 0: none is written.",
    )
    unshown: IfUnshown = Field(
        default=IfUnshown.block,
        description="What the model calls an error, and no test that was run shows. `block`: changes are requested "
        "where a second look proves it by a line of code, but not where its test passes. `warn`: it is a warning.",
    )
    never_send: Globs = Field(default=(), description="Files whose content Forge never sends to a model provider.")
    instructions: Globs = Field(
        default=CONVENTIONS,
        description="Files that say how code is written here ([conventions.md](conventions.md)), read from the default "
        "branch. Planner and implementer follow them; a review quotes what an added line breaks, as a warning at most. "
        "They loosen nothing, and agents change none of them unasked. The nearest to the changed files come first, "
        "then in this order. `[]`: none is read.",
    )
    dry_run: bool = Field(default=False, description="Show everything in the check run and post no comments.")
    bots: tuple[BotName, ...] = Field(
        default=("dependabot",),
        max_length=50,
        description="Bots whose pull requests are reviewed; those of others once somebody writes `/forge review`.",
    )

    @property
    def may_ask_model(self) -> bool:
        """Whether code may be sent to a model."""
        return self.model is not ReadMode.never
