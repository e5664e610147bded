"""Issues whose changes touch protected paths."""

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import DONE, TASK, TEST, IssueScene, open_issue, patches, plan

LOCK, OTHER = "poetry.lock", "lib/poetry.lock"


LOCKS = {LOCK: "version = 1 # shop\n", OTHER: "version = 1 # lib\n"}


def update_lock(path: str) -> str:
    """A diff of a lock file."""
    name = "lib" if path == OTHER else "shop"
    return f"--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,1 @@\n-version = 1 # {name}\n+version = 2 # {name}\n"


def build_plan(*files: str) -> dict[str, JsonValue]:
    """A plan whose only task changes these files."""
    made = plan("high")
    inner = made["plan"]
    assert isinstance(inner, dict)
    assert isinstance(inner["tasks"], list)
    [task] = inner["tasks"]
    assert isinstance(task, dict)
    inner["tasks"] = [{**task, "files": [*files]}]
    inner["allowed_areas"] = ["shop/**", "tests/**", "lib/**", LOCK, ".gitattributes"]
    return made


def gates(**asked: str) -> dict[str, str]:
    """A configuration with a gate for each phase.

    :param asked: phase → condition.
    """
    lines = [
        f"  of_{phase}: {{phase: {phase}, when: '{when}', prompt: 'Fine, {phase}?'}}" for phase, when in asked.items()
    ]
    return {".github/forge.yml": "\n".join(["gates:", *lines, ""])}


async def start_issue(story: Story, model: ScriptedModel, **asked: str) -> IssueScene:
    """An issue whose run does all it should."""
    there = await open_issue(story, **gates(**asked))
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    await there.comment(there.alice, "/forge run")
    return there
