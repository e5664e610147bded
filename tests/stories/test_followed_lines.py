"""A finding of the model keeps its place when its author edits its line, or renames its file."""

from agents.llm.scripted import ScriptedModel
from simulator.state import Repository
from tests.stories.driver import Story
from tests.world.model_findings import LINE, PAY, WRONG, open_reviewed


def find_places(story: Story, repository: Repository, head: str) -> set[str]:
    """Where the check says that the finding is."""
    check = story.check(repository, head)
    words = f"{check.summary} {check.text}".replace("`", " ").split()
    return {word for word in words if word.startswith("billing/") and ":" in word}


async def test_an_edited_line_keeps_its_finding(story: Story, model: ScriptedModel) -> None:
    """Also through further pushes, after which the model is shown the line as it is by then."""
    repository, alice, _, pull, _ = await open_reviewed(story, model)
    edited = PAY.replace(WRONG, f"    # the mean\n{WRONG.replace('len(prices)', 'max(len(prices), 0)')}")
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": edited}))
    assert find_places(story, repository, head) == {f"billing/pay.py:{LINE + 1}"}

    again = f"TOP = 1\n{edited.replace('max(len(prices), 0)', 'max(0, len(prices))')}"
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": again}))
    now = model.calls[-1].content.split("== earlier finding")[1].split("Now billing/pay.py:")[1]
    assert f"{LINE + 2}+    return sum(prices) / max(0, len(prices))" in now
    assert find_places(story, repository, head) == {f"billing/pay.py:{LINE + 2}"}
    story.pass_over(pull)


async def test_a_renamed_file_keeps_its_finding(story: Story, model: ScriptedModel) -> None:
    repository, alice, _, pull, _ = await open_reviewed(story, model)
    head = await alice.push(repository, "feature", {"billing/pay.py": None, "billing/till.py": f"TOP = 1\n{PAY}"})
    await story.settle()
    assert find_places(story, repository, head) == {f"billing/till.py:{LINE + 1}"}
    assert story.check(repository, head).conclusion == "failure"
    story.pass_over(pull)


async def test_code_that_moves_to_another_file_takes_its_finding_along(story: Story, model: ScriptedModel) -> None:
    """What comes in its place is another function, and innocent."""
    repository, alice, _, pull, _ = await open_reviewed(story, model)
    other = PAY.replace(WRONG, "    return sum(prices)")
    head = await story.after(
        alice.push(
            repository,
            "feature",
            {
                "billing/pay.py": other,
                "billing/mean.py": f"TOP = 1\n\n\ndef mean(prices: list[float]) -> float:\n{WRONG}\n",
            },
        )
    )
    assert find_places(story, repository, head) == {"billing/mean.py:5"}
    now = model.calls[-1].content.split("== earlier finding")[1]
    assert "Now billing/mean.py:" in now
    story.pass_over(pull)
