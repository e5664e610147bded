"""The settings for protected and sensitive files, and for the files that an agent may change."""

from typing import Literal

from pydantic import Field

from domain.config.values import Globs, Section


class PathRule(Section):
    """Only these agents may change these files."""

    paths: Globs = Field(min_length=1, description="The files.")
    roles: tuple[Literal["planner", "implementer", "reviewer", "tester", "deployer"], ...] = Field(
        default=(),
        max_length=5,
        description="Agents that may change them; none: no agent. Only the implementer changes files.",
    )
    severity: Literal["info", "warning", "error", "critical"] = Field(
        default="error",
        description="How grave another's change is: `info`, `warning`, and blocking: `error`, `critical`.",
    )


class ProjectPaths(Section):
    """Files that need special care."""

    protected: Globs = Field(default=(), description="A change asks the gate `protected_paths`.")
    sensitive: Globs = Field(default=(), description="A change raises the risk.")
    rules: tuple[PathRule, ...] = Field(default=(), max_length=100, description="Which agent may change what.")
