"""The checks of layers 1 and 2, a row each: what runs, resolves threads, is measured and welcomes derives from them."""

from dataclasses import dataclass
from enum import StrEnum


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
