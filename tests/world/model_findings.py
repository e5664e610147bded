"""Code that divides by zero, what a model reports and writes about it, and a pull request with both."""

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, Uses
from simulator import User
from simulator.state import PullRequest, Repository, ReviewComment
from tests.stories.driver import Story

SHOP = {"README.md": "# Shop\n", "tests/test_shop.py": ""}
"""It has a place for tests, and none by which a model could write one for a finding."""


FILLER = "".join(f"VALUE_{number} = {number}\n" for number in range(120))


PAY = FILLER + "\n\ndef total(prices: list[float]) -> float:\n    return sum(prices) / len(prices)\n"


DIVISION = "return sum(prices) / len(prices)"
LINE = PAY.splitlines().index(f"    {DIVISION}") + 1


_MET_BY = {"error": "caller", "warning": "condition", "info": "nobody"}


def claim(line: int = LINE, quote: str = DIVISION, severity: str = "error") -> dict[str, JsonValue]:
    """A finding as the model hands it in.

    :param severity: that follows from its consequence.
    """
    return {
        "rule": "model/logic-error",
        "path": "billing/pay.py",
        "line": line,
        "end_line": line,
        "quote": quote,
        "trigger": "`total([])`: ZeroDivisionError, for everybody with an empty cart.",
        "harm": "crash",
        "met_by": _MET_BY[severity],
        "confidence": 0.9,
        "message": "An empty list divides by zero. Return 0 for it, or refuse it.",
    }


def find_division(model: ScriptedModel, severity: str = "error") -> None:
    """Let the model find the division, and stand by it when it looks again."""
    model.when("len(prices)", {"findings": [claim(severity=severity)]})
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": DIVISION}]})


WRONG = "    return sum(prices) / len(prices)"
RIGHT = "    return sum(prices) / max(1, sum(1 for _ in prices))"
ASKED = "== your task: mend"
"""What a model is shown that is to fix findings, or what fails because of that."""
FIXED: dict[str, JsonValue] = {"summary": "An empty list gives 0.", "is_done": True}


def edit(old: str, new: str, path: str = "billing/pay.py") -> Uses:
    """How the model that fixes something changes a file."""
    return Uses([("edit", {"path": path, "old": old, "new": new})])


ONE_LINE = edit(WRONG, RIGHT)


def find_own(story: Story, pull: PullRequest) -> PullRequest:
    """The one pull request that Forge opened here."""
    issues = pull.repository.issues.values()
    [made] = [each for each in issues if isinstance(each, PullRequest) and each.user is story.github.app.bot]
    return made


SAYS_NO: dict[str, JsonValue] = {"meaning": "disagreement", "has_reason": True, "confidence": 0.95}
"""How the model reads a reply that contradicts a finding and says why."""


async def open_reviewed(
    story: Story, model: ScriptedModel, severity: str = "error"
) -> tuple[Repository, User, User, PullRequest, ReviewComment]:
    """A pull request of alice's with one finding, and carol, who may write."""
    find_division(model, severity)
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    carol = story.member(repository, "carol", "write")
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    [comment] = story.comments(pull)
    return repository, alice, carol, pull, comment
