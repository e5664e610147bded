"""Decides at which sandbox level a tool may look at the code of a pull request (docs/security.md, Sandbox)."""

from dataclasses import dataclass
from enum import StrEnum

PARSERS = 1
"""The level that is enough for a tool that only parses, on the code of people who may write to the repository."""
CODE = 2
"""The level that contains code of others, and parsers of code that anybody may have sent."""

ADVICE = "Install bubblewrap where Forge runs, or use a kernel with Landlock; `forge doctor` shows what works."
"""What an operator can do where neither works."""


class CodeOrigin(StrEnum):
    """Whose code it is."""

    own = "own"  # the checkout of the person who runs Forge on it
    member = "member"  # a branch of the repository, by an author who may write to it
    stranger = "stranger"  # a fork, or an author who may not write


@dataclass(frozen=True)
class Containment:
    """The level a tool runs at; None with the reason if it may not run here."""

    level: int | None
    refusal: str = ""


def choose_containment(tool: str, strongest: int, why_not: str, *, origin: CodeOrigin, executes: bool) -> Containment:
    """Where a tool may run: always at the strongest level there is, and not at all where that is too weak.

    :param strongest: the highest level that works for it here.
    :param why_not: why no higher one does, as the rest of a sentence.
    :param executes: whether it may execute what it looks at, or what that configures.
    """
    if strongest >= _least_level(origin, executes):
        return Containment(strongest)
    what = "may execute code of the pull request" if executes else "reads code that anybody may have sent"
    return Containment(None, f"{tool} {what} and was not run, because {why_not or 'no sandbox works here'}. {ADVICE}")


def _least_level(origin: CodeOrigin, executes: bool) -> int:
    if origin is CodeOrigin.own or (origin is CodeOrigin.member and not executes):
        return PARSERS
    return CODE
