"""The implementer's result of a task, checks of its consistency, and required fixes."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from domain.review.avoidance import LEGITIMATE, Avoidance, list_certain
from domain.runs.plan import Place, Words
from domain.value import Value

RED_CHECK = "check "
"""How the rule of a red check begins; its name follows."""
MOST_TESTS = 50
MOST_FIXES = 20
"""One attempt cannot mend more."""


class Worked(Value):
    """The result of a task; the changes themselves are in the draft. See :func:`find_mistakes`.

    :param summary: a summary for readers of the pull request.
    :param not_done: the missing part and why; empty if the task is done.
    :param gone: the ids of what was to be fixed, but is not there any more.
    :param tests_added: paths of files with new or extended tests.
    """

    summary: Words
    is_done: bool
    not_done: Annotated[str, StringConstraints(strip_whitespace=True, max_length=1_000)] = ""
    gone: tuple[str, ...] = Field(default=(), max_length=MOST_FIXES)
    tests_added: tuple[Place, ...] = Field(default=(), max_length=MOST_TESTS)


class RequiredFix(Value):
    """A problem found by a review or a test.

    :param id: of a finding on which people look; empty for anything else.
    :param path: empty if it is about no file.
    :param rule: of the finding, or the name of the test.
    :param confidence: of the finding.
    :param by_id: the account of the person who asks for it; None if a tool, model or test does.
    :param edited_by: who may have written part of its words, with :data:`domain.github.commits.AN_APP`.
    :param demanded: the lines of a test that fails; :param output: the last lines that it printed.
    """

    id: str = ""
    path: str
    line: int | None = None
    rule: str
    message: str
    confidence: float = 1.0
    by_id: int | None = None
    edited_by: tuple[int, ...] = ()
    demanded: tuple[str, ...] = ()
    output: str = ""


def list_required_fixes(found: Sequence[Avoidance]) -> tuple[RequiredFix, ...]:
    """What an agent has to take back, or to justify: what has no excuse and is not doubtful; the first ones."""
    return tuple(
        RequiredFix(
            path=each.path,
            line=each.line,
            rule=each.kind.rule,
            message=f"{each.what} {LEGITIMATE[each.kind]} Take it back, or let the task say why it had to be.",
            confidence=each.confidence,
        )
        for each in list_certain(found)[:MOST_FIXES]
    )


def find_mistakes(worked: Worked) -> str | None:
    """Returns the inconsistencies in words for the implementer; None if there are none."""
    if worked.is_done and worked.not_done:
        return "is_done is true, and not_done says that something is missing: only one of them can be right."
    if not worked.is_done and not worked.not_done:
        return "is_done is false, and not_done does not say what is missing and why."
    return None
