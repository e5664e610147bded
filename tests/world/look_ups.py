"""A change whose caller no symbol leads to, what a model looks up about it, and what it then reports."""

from collections.abc import Mapping

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, Uses
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.model_findings import FILLER

TILL = "def total(cart):\n    return sum(cart)\n"
CALL = '    return load("shop.till", "total")(cart)'
"""Calls it by a text, which only a search finds."""
UNCHANGED = {
    "shop/till.py": TILL,
    "plugins/loader.py": f"from plugins.names import load\n\n\ndef pay(cart):\n{CALL}\n",
    "tests/test_shop.py": "",
}
CHANGED = TILL.replace("cart)", "cart, rate)", 1).replace("sum(cart)", "sum(cart) * rate")
LARGE = {"shop/till.py": CHANGED, "shop/values.py": FILLER * 4}
ASKED = "+def total(cart, rate):"
"""What the question shows, and the turns after it."""
GREP = Uses(
    [("grep", {"pattern": "total", "glob": "**/*.py"}), ("references", {"path": "shop/till.py", "name": "total"})]
)
READ = Uses([("read_file", {"path": "plugins/loader.py"})])


def report_caller() -> dict[str, JsonValue]:
    """The finding, at the changed line, with the caller as its evidence."""
    finding: dict[str, JsonValue] = {
        "rule": "model/breaking-change",
        "path": "shop/till.py",
        "line": 1,
        "end_line": 1,
        "quote": "def total(cart, rate):",
        "message": "pay in plugins/loader.py calls total with one argument, which now fails. Give rate a default.",
        "harm": "crash",
        "met_by": "caller",
        "confidence": 0.9,
        "evidence": [{"path": "plugins/loader.py", "line": 5}, {"path": "never/seen.py", "line": 1}],
    }
    return {"findings": [finding]}


def prove_caller(model: ScriptedModel, shown: str = "== candidates") -> None:
    """Let the second look prove it by the line that was looked up.

    :param shown: by which it is known.
    """
    model.when(shown, {"verdicts": [{"number": 1, "verdict": "proven", "quote": CALL.strip()}]})


async def open_change(
    story: Story, configuration: str = "", more: Mapping[str, str] = UNCHANGED
) -> tuple[Repository, User, PullRequest, str]:
    """alice's large pull request; Forge is at rest.

    :param more: files that are there, too.
    """
    settings = {".github/forge.yml": configuration} if configuration else {}
    repository, alice = story.repository({**UNCHANGED, **more, **settings})
    pull, head = await story.propose(repository, alice, LARGE, title="Totals with a rate")
    return repository, alice, pull, head
