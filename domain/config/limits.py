"""The settings that limit agents: files, command lines, budgets in USD, circuit breakers, guards for a task."""

import shlex
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field

from domain.config.values import Calls, Dollars, Globs, Minutes, Section, Share


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


def split_line(line: str) -> tuple[str, ...]:
    """The words of a command line, as a shell splits it; no shell takes part, so nothing else of it means anything.

    :raises ValueError: it names no program, or a quotation mark is not closed.
    """
    words = tuple(shlex.split(line))
    if not words or not words[0]:
        raise ValueError("names no program")
    return words


@dataclass(frozen=True)
class AllowedCommands:
    """The command lines that are allowed.

    :param globs: of lines whose words are quoted as ``shlex.join`` does; ``*`` matches anything.
    :param lines: further ones, each by itself.
    """

    globs: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.globs or self.lines)

    def permits(self, words: tuple[str, ...]) -> bool:
        """Whether these words may be run as a command."""
        if words in map(split_line, self.lines):
            return True
        line = shlex.join(words)
        return any(fnmatchcase(line, glob) for glob in self.globs)

    def __str__(self) -> str:
        return ", ".join(f"`{each}`" for each in (*self.globs, *self.lines))


def narrow_globs(began: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """The globs of command lines that are still allowed: those that are named now, or fall under one that is."""
    return tuple(each for each in began if any(each == wider or fnmatchcase(each, wider) for wider in now))


_WITHOUT_EFFECT = "No effect: a deployment calls no model."


class PhaseBudgets(Section):
    """USD per phase of a run."""

    planning: Dollars = 5
    implementation: Dollars = 10
    review: Dollars = 2
    testing: Dollars = 3
    deployment: Dollars = Field(default=2, description=_WITHOUT_EFFECT)


class Budgets(Section):
    """USD for models; the smallest one applies."""

    phase: PhaseBudgets = Field(
        default=PhaseBudgets(), description="For that phase of a run; `deployment` has no effect."
    )
    run: Dollars = Field(default=50, description="For a run.")
    day: Dollars = Field(default=200, description="For a day (UTC) in this repository.")


class IterationBreaker(Section):
    """Model calls per phase of a run."""

    planning: Calls = 20
    implementation: Calls = 50
    review: Calls = 10
    testing: Calls = 5
    deployment: Calls = Field(default=3, description=_WITHOUT_EFFECT)
    other: Calls = Field(default=10, description="In any other phase.")
    warn: Share = Field(default=0.8, description="Share of the limit at which people are warned.")
    stagnation: int = Field(default=3, ge=2, le=20, description="Calls in a row without progress.")


class TimeBreaker(Section):
    """Minutes of work per phase of a run. Waiting for people, queues or rate limits does not count."""

    planning: Minutes = 30
    implementation: Minutes = 60
    review: Minutes = 30
    testing: Minutes = 20
    deployment: Minutes = 15
    total: Minutes = Field(default=120, description="The whole run.")
    warn: Share = Field(default=0.9, description="Share of the limit at which people are warned.")


class ErrorRateBreaker(Section):
    """Share of failed calls within a sliding window."""

    window_minutes: int = Field(default=5, ge=1, le=60, description="Length of the window.")
    max_events: int = Field(default=1000, ge=20, le=10_000, description="The most calls it looks at.")
    min_events: int = Field(default=20, ge=5, le=1000, description="With fewer calls it does not judge.")
    warn: Share = Field(default=0.10, description="Share at which people are warned.")
    trip: Share = Field(default=0.25, description="Share at which it trips.")
    reset_minutes: int = Field(default=5, ge=1, le=1440, description="Until one trial call is made.")


class Breakers(Section):
    """Circuit breakers."""

    iteration: IterationBreaker = Field(
        default=IterationBreaker(),
        description="Model calls in that phase of a run; `stagnation`: so many in a row without progress; `warn`: "
        "the share that warns.",
    )
    time: TimeBreaker = Field(
        default=TimeBreaker(), description="Minutes of work in that phase, and in the run; waiting does not count."
    )
    error_rate: ErrorRateBreaker = Field(
        default=ErrorRateBreaker(),
        description="Failed calls of a provider: from `trip` of at least `min_events` within the window on, none is"
        " made for `reset_minutes`.",
    )


class Guards(Section):
    """What stops one task of an agent, each kind of task within its own range."""

    max_iterations: int = Field(
        default=10,
        ge=1,
        le=50,
        description="Model calls. A planner has 6 to 10, an implementer 10 to 15, to fix failing tests 5 to 8.",
    )
    max_runtime_minutes: int = Field(
        default=15,
        ge=1,
        le=60,
        description="A planner has 20 to 30, an implementer 15 to 30, to fix failing tests 10 to 15.",
    )
    consecutive_errors: int = Field(default=3, ge=1, le=20, description="Errors of one kind in a row.")
