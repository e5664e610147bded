"""Issues whose tests fail, and what the model proposes then."""

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from memory import ledger
from simulator.state import PullRequest
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import DONE, TASK, IssueScene, get_pull_request, open_issue, patches, plan

WRONG = DIFF.replace("1 - discount)", "1 - discont)")


MEND = "== your task: mend"


MENDED: dict[str, JsonValue] = {"summary": "The name is right now.", "is_done": True}


ASKS = {".github/forge.yml": "gates:\n  design: {phase: review, when: review.lines_changed > 0, prompt: Fine}\n"}


def change(before: str, after: str) -> str:
    """A diff of the line that is wrong."""
    return (
        "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -1,2 +1,2 @@\n def total(prices, discount=0):\n"
        f"-    return sum(prices) * (1 - {before})\n+    return sum(prices) * (1 - {after})\n"
    )


async def events(story: Story, kind: str) -> list[dict[str, JsonValue]]:
    """What the ledger tells of the issue's run."""
    run = next(each for each in await story.runs() if each.trigger == "issue")
    told = await ledger.load_events(story.forge.services.database, run.id)
    return [each.payload for each in told if each.type == kind]


async def propose_diffs(
    story: Story, model: ScriptedModel, *diffs: str, **files: str
) -> tuple[IssueScene, PullRequest]:
    """An issue whose run proposed these diffs."""
    asked = await open_issue(story, **files)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(*diffs), DONE)
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    story.pass_over(pull)
    return asked, pull


async def get_outcome(story: Story) -> tuple[str, str]:
    run = next(each for each in await story.runs() if each.trigger == "issue")
    return run.state, run.reason


OFF = DIFF.replace("1 - discount)", "1 + discount)")


FAILED = "== what failed"


def build_judgement(confidence: float) -> dict[str, JsonValue]:
    """What a model says of the one failure."""
    said: JsonValue = {
        "test": 1,
        "failure_class": "real_bug",
        "root_cause": "The discount is added.",
        "suggested_fix": "Take it off: 1 - discount.",
        "path": "shop/cart.py",
        "line": 2,
        "confidence": confidence,
    }
    return {"failures": [said]}


ACTIONS = {
    ".github/forge.yml": "testing: {runner: actions}\n",
    ".github/workflows/ci.yml": "on: pull_request\njobs: {}\n",
}
