"""Who reads a change: the table of checks, and what a model reads of it, how much, and what it looks up."""

from dataclasses import dataclass
from enum import StrEnum

from domain.review.changes import SkippedFile
from domain.value import Value


class CheckName(StrEnum):
    """The name of a check in reports, metrics and the welcome."""

    ruff = "ruff"
    oxlint = "oxlint"
    shellcheck = "shellcheck"
    hadolint = "hadolint"
    zizmor = "zizmor"
    syntax = "syntax"
    ast_grep = "ast-grep"
    patterns = "patterns"
    hidden_text = "hidden-text"
    secrets = "detect-secrets"
    avoidance = "avoidance"
    dependencies = "dependencies"


DOCKERFILES, WORKFLOWS = "Dockerfiles", "workflows"
"""Kinds of files beside the languages that a check may be for."""


@dataclass(frozen=True)
class CheckRow:
    """A check.

    :param rules: how the ids of its rules begin, up to the slash.
    :param welcomed_for: the languages and kinds of files in a repository for which the welcome names it.
    :param always_runs: it runs on every changed file it is for, so that its silence means that a finding is gone.
    """

    name: CheckName
    rules: tuple[str, ...]
    welcomed_for: tuple[str, ...] = ()
    always_runs: bool = True


_DANGERS = ("python", "js", "ruby", "php", "go", "java", "csharp", "rust", "c")
_ROWS = (
    CheckRow(CheckName.ruff, ("ruff",), ("Python",)),
    CheckRow(CheckName.oxlint, ("oxlint",), ("JavaScript", "TypeScript")),
    CheckRow(CheckName.shellcheck, ("shellcheck",), ("shell",)),
    CheckRow(CheckName.hadolint, ("hadolint",), (DOCKERFILES,)),
    CheckRow(CheckName.zizmor, ("zizmor",), (WORKFLOWS,)),
    CheckRow(CheckName.syntax, ("syntax",)),
    CheckRow(CheckName.ast_grep, _DANGERS),
    CheckRow(CheckName.patterns, ("docker", "shell", "pipfile")),
    CheckRow(CheckName.hidden_text, ("hidden-text",)),
    CheckRow(CheckName.secrets, ("secret",)),
    CheckRow(CheckName.avoidance, ("avoidance",), always_runs=False),
    CheckRow(CheckName.dependencies, ("dependency",), always_runs=False),
)
CHECKS = {row.name: row for row in _ROWS}
BY_RULE = {prefix: row for row in _ROWS for prefix in row.rules}
"""The beginning of a rule's id → the check that reports it; none for the linters that repositories configure."""


class Effort(StrEnum):
    """How thoroughly a model reads a change, and so what that costs."""

    low = "low"  # the fast model, one question, a second look at what would block
    standard = "standard"  # the fast model, as many questions as it takes, a second look at everything
    deep = "deep"  # the strong model, and more code around the change


class EffortCost(Value):
    """What a review may cost; money in micro-USD.

    :param model: that reads; empty if none can be asked.
    :param last_model: that read in the last review of this pull request; empty if none did.
    :param most: what the review phase may cost.
    """

    effort: Effort
    model: str
    last_model: str
    last_tokens: int
    last_cost: int
    most: int


class FunctionSpan(Value):
    """Where a function or class is, in lines at head, from 1.

    :param body: the line on which its body begins; its signature ends there.
    """

    name: str
    start: int
    body: int
    end: int


class Outline(Value):
    """What a reader of a changed file wants to see beside the change itself.

    :param spans: the functions and classes around changed lines, the outermost first.
    :param exits: added lines that leave a function or loop early.
    :param uses: unchanged lines with a name that the change removes or changes.
    :param called: the unchanged functions and classes of the file that added lines name.
    """

    spans: tuple[FunctionSpan, ...] = ()
    exits: tuple[int, ...] = ()
    uses: tuple[int, ...] = ()
    called: tuple[FunctionSpan, ...] = ()


NO_OUTLINE = Outline()


class ConventionFile(Value):
    """A file of conventions, as a model is shown it.

    :param lines: the number and the text of each line.
    :param cut: how many more lines with text it has, for which there was no room.
    """

    path: str
    lines: tuple[tuple[int, str], ...]
    cut: int = 0


class Conventions(Value):
    """The conventions for some files, the nearest to them first.

    :param elsewhere: paths of more files of conventions, which are about other folders or files.
    :param left_out: files of conventions that are not shown, and why.
    """

    files: tuple[ConventionFile, ...] = ()
    elsewhere: tuple[str, ...] = ()
    left_out: tuple[SkippedFile, ...] = ()


NO_CONVENTIONS = Conventions()


class ShownFile(Value):
    """How much of a file of conventions a model was shown, in lines with text."""

    path: str
    shown: int
    cut: int


class HeldConventions(Value):
    """Which conventions a review held a change against; in journals and checkpoints.

    :param left_out: files of conventions that were not shown, and why.
    :param problem: why it held the change, or a part of it, against none.
    :param says_nothing: whether no sentence there is about the changed code.
    """

    files: tuple[ShownFile, ...] = ()
    left_out: tuple[SkippedFile, ...] = ()
    problem: str = ""
    says_nothing: bool = False


NOTHING_HELD = HeldConventions()


class LookUps(Value):
    """What was looked up, within which bound, and what that cost.

    :param why: it was offered, as a clause.
    :param used: tool → how often.
    :param turns, most_turns: messages in which something was looked up, and in how many it might have been.
    :param tokens, most_tokens: of the answers.
    :param cost: of these messages, in micro-USD.
    """

    why: str
    used: dict[str, int] = {}
    turns: int = 0
    most_turns: int = 0
    tokens: int = 0
    most_tokens: int = 0
    cost: int = 0

    def __add__(self, other: "LookUps") -> "LookUps":
        tools = {*self.used, *other.used}
        return LookUps(
            why=self.why,
            used={tool: self.used.get(tool, 0) + other.used.get(tool, 0) for tool in sorted(tools)},
            turns=self.turns + other.turns,
            most_turns=self.most_turns + other.most_turns,
            tokens=self.tokens + other.tokens,
            most_tokens=self.most_tokens + other.most_tokens,
            cost=self.cost + other.cost,
        )


class Impact(StrEnum):
    """What a change of a file can do to the program; the first three cannot change what it does."""

    layout = "layout"  # comments and spaces: the same program
    document = "document"  # people read it, nothing runs it
    data = "data"  # programs only show or store it
    comment = "comment"  # comments, docstrings and layout: the same program, but tools may read them
    version = "version"  # the number of the program's own version, and nothing else
    guide = "guide"  # people read it, and it may lead them on: a command, a link
    test = "test"  # a test that starts nothing, as far as its new lines tell
    behaviour = "behaviour"

    @property
    def can_act(self) -> bool:
        """Whether it may change what the program, CI or a person does."""
        return self not in {Impact.layout, Impact.document, Impact.data}

    @property
    def is_logic(self) -> bool:
        """Whether it may do so by more than comments, docstrings, layout and the number of a version."""
        return self.can_act and self not in {Impact.comment, Impact.version}
