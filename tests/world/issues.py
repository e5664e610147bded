"""Issues that people ask Forge to solve, and the plans and patches that its model answers with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, Uses
from memory.db.tables.runs import RunRow
from simulator import User
from simulator.state import Issue, PullRequest, Repository
from tests.stories.driver import Story

PROJECT = '[tool.pytest.ini_options]\npythonpath = ["."]\n'


SHOP = {
    "README.md": "# Shop\n",
    "pyproject.toml": PROJECT,
    "shop/cart.py": "def total(prices):\n    return sum(prices)\n",
    "shop/secret.env": "nothing of yours\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
}


MODES: Mapping[str, Mapping[str, str]] = {
    "deterministic": {},
    "interactive": {".github/forge.yml": "execution: {mode: interactive, commands: ['python3 *']}\n"},
}
"""The modes in which Forge's own agent works, each with the files that a repository asks for it with."""


LOOKS = Uses([("read_file", {"path": "shop/cart.py"}), ("grep", {"pattern": "total"})])


def plan(level: str = "low", summary: str = "Carts get a discount.", then: str = "") -> dict[str, JsonValue]:
    """What a planner hands in.

    :param then: the title of a second task.
    """
    task: dict[str, JsonValue] = {
        "id": "T1",
        "title": "Take a discount off the total",
        "description": "`total` takes a share between 0 and 1 and takes it off.",
        "files": ["shop/cart.py", "tests/test_cart.py"],
        "depends_on": [],
        "acceptance": "A test shows a tenth taken off.",
    }
    made: dict[str, JsonValue] = {
        "title": "Take a share off the total",
        "summary": summary,
        "decisions": [{"decision": "The share is a float.", "reason": "Prices are floats, too."}],
        "tasks": [task, *([{**task, "id": "T2", "title": then, "depends_on": ["T1"]}] if then else [])],
        "risk": {"level": level, "reasons": [] if level == "low" else ["It touches what customers pay."]},
        "estimate": {"lines": 20, "minutes": 10},
        "allowed_areas": ["shop/**", "tests/**"],
    }
    return {"plan": made, "questions": []}


@dataclass(eq=False)
class IssueScene:
    """An issue that alice opened; she may write, and Forge plans what she asks for."""

    told: Story
    repository: Repository
    alice: User
    issue: Issue

    async def comment(self, who: User, words: str) -> str:
        """Somebody comments; everything Forge says then, and what is decided by it."""
        before, decided = {each.id for each in self._own_comments()}, self.told.decisions(self.issue)
        self.told.clock.move(seconds=2)  # GitHub cuts the moment of writing to the second
        await self.told.after(who.comment(self.issue, words))
        said = [each.body for each in self._own_comments() if each.id not in before]
        return "\n\n".join(
            [*said, *(text for text in self.told.decisions(self.issue) if text not in {*decided, *said})]
        )

    @property
    def status(self) -> str:
        """The comment that says how far the newest run is."""
        return [each.body for each in self._own_comments() if "<!-- forge:status:" in each.body][-1]

    async def run(self) -> RunRow:
        return (await self.told.runs())[0]

    def _own_comments(self):
        return [*self.told.answers(self.issue), *self.told.questions(self.issue)]


async def open_issue(
    story: Story, body: str = "Customers want a discount on the whole cart.", **files: str
) -> IssueScene:
    repository, alice = story.repository({**SHOP, **files})
    return IssueScene(story, repository, alice, await alice.open_issue(repository, "Discounts", body))


TEST = """\
--- a/tests/test_cart.py
+++ b/tests/test_cart.py
@@ -3,3 +3,7 @@

 def test_total():
     assert total([1, 2]) == 3
+
+
+def test_discount():
+    assert total([10], discount=0.5) == 5
"""


DONE: dict[str, JsonValue] = {
    "summary": "`total` takes a discount.",
    "is_done": True,
    "tests_added": ["tests/test_cart.py"],
}


TASK = "== your task: T1"


def patches(*diffs: str, then: Sequence[str] = ()) -> Uses:
    """Applies diffs and, at the same time, uses tools that take nothing."""
    return Uses([*(("apply_patch", {"diff": diff}) for diff in diffs), *((tool, {}) for tool in then)])


def get_pull_request(asked: IssueScene) -> PullRequest:
    """The one pull request there is."""
    [pull] = [each for each in asked.repository.issues.values() if isinstance(each, PullRequest)]
    return pull


def last_instructions(model: ScriptedModel) -> str:
    """What whoever carries out a task was told last; the reviewer's questions come behind that."""
    return [call.content for call in model.calls if "== your task" in call.content][-1]
