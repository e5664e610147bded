"""What a review says of a notebook."""

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.unit.model_review.notebooks import AFTER, BEFORE, LINE, PATH


async def test_a_remark_on_a_cell_stands_on_its_line(story: Story, model: ScriptedModel) -> None:
    code = 'print("mean", sum(prices) / len(prices))'
    found: dict[str, JsonValue] = {
        "rule": "model/logic-error",
        "path": PATH,
        "line": LINE,
        "end_line": LINE,
        "quote": code,
        "harm": "wrong_result",
        "met_by": "caller",
        "confidence": 0.9,
        "message": "No price divides by zero.",
        "replacement": 'print("mean", 0)',
    }
    model.when(f"{LINE}+{code}", {"findings": [found]})
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": code}]})
    repository, alice = story.repository({PATH: BEFORE, "tests/test_shop.py": ""})
    pull, head = await story.propose(repository, alice, {PATH: AFTER})
    [comment] = story.comments(pull)
    assert (comment.path, comment.line) == (PATH, LINE)
    assert "```suggestion" not in comment.body
    assert story.check(repository, head).conclusion == "failure"
    assert all('"outputs"' not in call.content for call in model.calls)
