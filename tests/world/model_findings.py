"""Code that divides by zero, what a model reports and writes about it, and a pull request with both."""

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest, Repository, ReviewComment
from tests.stories.driver import Story

SHOP = {"README.md": "# Shop\n", "tests/test_shop.py": ""}
"""It has a place for tests, and none by which a model could write one for a finding."""


FILLER = "".join(f"VALUE_{number} = {number}\n" for number in range(120))


PAY = FILLER + "\n\ndef total(prices: list[float]) -> float:\n    return sum(prices) / len(prices)\n"


LINE = PAY.splitlines().index("    return sum(prices) / len(prices)") + 1


def claim(
    line: int = LINE, quote: str = "return sum(prices) / len(prices)", severity: str = "error"
) -> dict[str, JsonValue]:
    """A finding as the model hands it in."""
    return {
        "rule": "model/logic-error",
        "path": "billing/pay.py",
        "line": line,
        "end_line": line,
        "quote": quote,
        "severity": severity,
        "confidence": 0.9,
        "message": "An empty list divides by zero. Return 0 for it, or refuse it.",
    }


def find_division(model: ScriptedModel, severity: str = "error") -> None:
    """Let the model find the division, and stand by it when it looks again."""
    model.when("len(prices)", {"findings": [claim(severity=severity)]})
    model.when("== candidates", {"verdicts": [{"number": 1, "confirmed": True, "confidence": 0.9}]})


def write_fix(*edits: dict[str, JsonValue], summary: str = "An empty list gives 0.") -> dict[str, JsonValue]:
    """A fix as the model hands it in."""
    return {"edits": list(edits), "summary": summary, "refusal": ""}


def edit_lines(first: int, before: str, after: str) -> dict[str, JsonValue]:
    """A change of whole lines as the model hands it in.

    :param first: the number of the first line.
    """
    last = first + before.count("\n")
    return {"start_line": first, "end_line": last, "before": before, "after": after}


WRONG = "    return sum(prices) / len(prices)"
RIGHT = "    return sum(prices) / len(prices) if prices else 0.0"
ASKED = "== finding"
"""What a model is shown that is asked for a fix."""

ONE_LINE = write_fix(edit_lines(LINE, WRONG, RIGHT))
TWO_PLACES = write_fix(
    edit_lines(1, "VALUE_0 = 0", "VALUE_0 = 0\nNONE = 0.0"), edit_lines(LINE, WRONG, RIGHT.replace("0.0", "NONE"))
)


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
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "write")
    await alice.push(repository, "feature", {"billing/pay.py": PAY}, base="main")
    pull = await alice.open_pull_request(repository, "feature", title="Add totals")
    await story.settle()
    [comment] = story.comments(pull)
    return repository, alice, carol, pull, comment
