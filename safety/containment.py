"""Decides the sandbox level at which a tool may read the code of a pull request (docs/security.md)."""

from dataclasses import dataclass
from enum import StrEnum

PARSERS = 1
"""The level for a tool that only parses code of people with write permission."""
CODE = 2
"""The level for running code of others, and for parsing code of strangers."""

ADVICE = "Install bubblewrap where Forge runs, or use a kernel with Landlock; `forge doctor` shows what works."
"""The advice for an operator without a working sandbox."""


class CodeOrigin(StrEnum):
    """Whose code it is, the most trusted first."""

    own = "own"  # the checkout of the person who runs Forge on it
    member = "member"  # a branch of the repository, by an author who may write to it
    stranger = "stranger"  # a fork, or an author who may not write


@dataclass(frozen=True)
class Containment:
    """The level a tool runs at; None with the reason if it may not run here."""

    level: int | None
    refusal: str = ""


def choose_containment(tool: str, strongest: int, why_not: str, *, origin: CodeOrigin, executes: bool) -> Containment:
    """Chooses the strongest level there is, or refuses if that is too weak.

    :param strongest: the highest level that works here.
    :param why_not: why no higher level works, as the rest of a sentence.
    :param executes: whether it may execute the code it reads, or something that the code configures.
    """
    if strongest >= _least_level(origin, executes):
        return Containment(strongest)
    what = "may execute code of the pull request" if executes else "reads code from people without write access"
    return Containment(None, f"{tool} {what} and was not run, because {why_not or 'no sandbox works here'}. {ADVICE}")


def _least_level(origin: CodeOrigin, executes: bool) -> int:
    if origin is CodeOrigin.own or (origin is CodeOrigin.member and not executes):
        return PARSERS
    return CODE


def find_origin(from_fork: bool, trusted: bool = False) -> CodeOrigin:
    """Whose code it is. Only a person with write permission can push a branch to the repository itself."""
    if trusted:
        return CodeOrigin.own
    return CodeOrigin.stranger if from_fork else CodeOrigin.member
