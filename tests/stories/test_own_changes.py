"""What Forge changed, as `/forge diff` shows it."""

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.automation import APP, after_looks, at_level, open_pull_request
from tests.world.cart import DIFF
from tests.world.verification import propose_diffs

UNUSED = APP.replace("import os\n", "import os\nimport sys\n")


async def test_a_correction_is_shown_with_its_diff(story: Story) -> None:
    repository, alice, _ = await at_level(story, 2)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    await after_looks(story, story.github.user("reader").comment(pull, "/forge diff"))
    [answer] = story.answers(pull)
    assert f"Forge made 1 commit here, up to `{pull.head_sha[:7]}`" in answer.body
    assert f"- {pull.head_sha} Correct 1 finding of formatting and simple lint" in answer.body
    assert "  - `app.py` +0 −1" in answer.body
    assert "<details><summary>The diff</summary>" in answer.body
    assert "-import sys" in answer.body


async def test_of_a_finding_its_own_lines_are_shown(story: Story) -> None:
    repository, alice, _ = await at_level(story, 1)
    far = "".join(f"NUMBER_{n} = {n}\n" for n in range(30))
    changed = {"app.py": f"{UNUSED}\n\n{far}".replace("= 25", "= 0")}
    await alice.push(repository, "main", {"app.py": f"{APP}\n\n{far}"})
    pull, _ = await open_pull_request(story, repository, alice, changed)
    [name] = story.finding_names(pull)
    await after_looks(story, alice.comment(pull, f"/forge diff {name}"))
    said = story.answers(pull)[-1].body
    assert "+import sys" in said
    assert said.count("@@ -") == 1
    assert "NUMBER_25" not in said


async def test_where_people_changed_everything_it_says_so(story: Story) -> None:
    """A trailer that somebody copied makes no commit Forge's."""
    repository, alice, _ = await at_level(story, 1)
    pull, _ = await open_pull_request(story, repository, alice, {"app.py": UNUSED})
    [run] = await story.runs()
    head = await alice.push(repository, "feature", {"README.md": "# New\n"}, f"Mine\n\nForge-Run: {run.id}")
    await after_looks(story, alice.comment(pull, "/forge diff"))
    [answer] = story.answers(pull)
    assert f"Forge changed nothing in this pull request, up to `{head[:7]}`." in answer.body
    assert "Left out: 1 that bears Forge's name." in answer.body
    assert "<details>" not in answer.body


async def test_a_pull_request_of_its_own(story: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(story, model, DIFF)
    assert f"Forge changed #{pull.number} for this issue." in await asked.comment(asked.alice, "/forge diff")
    await asked.alice.push(asked.repository, pull.head_ref, {"README.md": "# Mine\n"})
    await story.after(asked.alice.comment(pull, "/forge diff"))
    answer = story.answers(pull)[-1]
    assert "Forge made 1 commit here" in answer.body
    assert "`shop/cart.py` +2 −2" in answer.body
    assert "README.md" not in answer.body


async def test_an_issue_without_changes(story: Story) -> None:
    repository, alice, _ = await at_level(story, 1)
    issue = await alice.open_issue(repository, "Discounts", "Please.")
    await story.after(alice.comment(issue, "/forge diff"))
    assert "opened no pull request for this issue" in story.answers(issue)[0].body
