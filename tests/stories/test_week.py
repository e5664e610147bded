"""What authors and maintainers meet in a week: words of verdicts, drafts, one pull request left alone, linked issues."""

import re

import pytest

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import UNTHOUGHT, Story
from tests.world.automation import APP, BROKEN
from tests.world.issues import SHOP
from tests.world.model_findings import open_reviewed

_MARKER = re.compile(r"\n\n<!-- forge:review:.*-->\Z")
FREE = "def shipping(cents):\n    return 0 if cents >= 5000 else 495\n"


async def _propose(
    story: Story, files: dict[str, str], change: dict[str, str], *, body: str = ""
) -> tuple[Repository, User, User, PullRequest]:
    """A pull request of alice; carol may maintain the repository."""
    repository, alice = story.repository(files)
    carol = story.member(repository, "carol", "maintain")
    pull, _ = await story.propose(repository, alice, change, body=body)
    return repository, alice, carol, pull


@pytest.mark.parametrize(
    ("settings", "conclusion"),
    [("{}", "neutral"), ("review: {unread: approve}", "success"), ("review: {unread: ask}", "action_required")],
)
async def test_linters_alone_never_say_approved(story: Story, settings: str, conclusion: str) -> None:
    """The boundary moves by one cent, and a test of the repository would fail; no linter sees that."""
    files = {"shop.py": FREE, ".github/forge.yml": settings + "\n"}
    repository, _, _, pull = await _propose(story, files, {"shop.py": FREE.replace(">=", ">")})
    check = story.check(repository, pull.head_sha)
    assert check.conclusion == conclusion
    assert "Approved" not in f"{check.title} {check.summary}"
    if conclusion != "action_required":
        assert check.title == UNTHOUGHT
    story.pass_over(pull)


async def test_a_required_check_passes_where_linters_are_all_there_is(story: Story) -> None:
    repository, alice = story.repository({"shop.py": FREE})
    story.github.protect(repository, "main", ["Forge / review"])
    _, head = await story.propose(repository, alice, {"shop.py": FREE.replace(">=", ">")})
    assert (story.check(repository, head).conclusion, story.check(repository, head).title) == ("neutral", UNTHOUGHT)


async def test_where_tests_ran_the_review_names_their_check(story: Story) -> None:
    change = {"shop/cart.py": "def total(prices):\n    return sum(prices, 0)\n"}
    repository, alice, _, pull = await _propose(story, SHOP, change)
    assert "Forge ran no test" in (story.check(repository, pull.head_sha).summary or "")
    await story.after(alice.comment(pull, "/forge test"))
    [tested] = story.github.check_runs(repository, pull.head_sha, "Forge / test")
    assert tested.title == "Passed: 1 test"
    for again in (False, True):
        if again:
            await story.after(alice.comment(pull, "/forge review full"))
        check = story.check(repository, pull.head_sha)
        assert "What its tests say is in the check `Forge / test`." in (check.summary or "")
        assert "Forge ran no test" not in (check.summary or "")
    story.pass_over(pull)


async def test_what_a_model_read_is_approved(story: Story, model: ScriptedModel) -> None:
    repository, _, _, pull = await _propose(story, {"shop.py": FREE}, {"shop.py": FREE.replace("495", "490")})
    check = story.check(repository, pull.head_sha)
    assert (check.conclusion, check.title) == ("success", "Approved: no findings")
    assert "Forge ran no test" not in (check.summary or "")


@pytest.mark.parametrize("is_required", [False, True])
async def test_a_draft_asks_for_nothing(story: Story, is_required: bool) -> None:
    repository, alice = story.repository({"app.py": APP})
    if is_required:
        story.github.protect(repository, "main", ["Forge / review"])
    pull, head = await story.propose(repository, alice, {"app.py": BROKEN}, draft=True)
    check = story.check(repository, head)
    assert (check.title, check.conclusion) == ("Not reviewed", "action_required" if is_required else "neutral")
    assert "This is a draft." in (check.summary or "")
    await story.after(alice.mark_ready(pull))
    assert story.check(repository, head).conclusion == "failure"
    story.pass_over(pull)


async def test_review_and_check_say_one_thing_while_a_gate_waits_and_after(story: Story) -> None:
    change = {"infra/main.py": "import os\n"}
    files = {"app.py": APP, ".github/forge.yml": "paths: {protected: ['infra/**']}\n"}
    repository, _, carol, pull = await _propose(story, files, change)
    [review] = story.reviews(pull)
    assert review.body.startswith("**Needs a human review.**")
    assert story.check(repository, pull.head_sha).title == "Needs a human review"
    assert story.gates(pull) == ["protected_paths"]

    await story.after(carol.comment(pull, "/forge approve"))
    assert story.check(repository, pull.head_sha).title == "Approved by a person, with 1 finding"
    assert review.body.startswith("**Approved by a person, with 1 finding.**")
    story.pass_over(pull)


async def test_a_review_that_was_overtaken_says_so(story: Story) -> None:
    repository, alice, _, pull = await _propose(story, {"app.py": APP}, {"app.py": BROKEN})
    [review] = story.reviews(pull)
    assert review.body.startswith("**Changes requested: 1 finding to fix.**")
    told = story.check(repository, pull.head_sha).summary or ""
    assert "- No model read the logic of app.py" in told
    assert "nothing that blocks" not in told
    head = await story.after(alice.push(repository, "feature", {"app.py": BROKEN.replace("missing", "'x'")}))
    assert story.reviews(pull) == [review]
    assert _MARKER.sub("", review.body) == f"**Overtaken by `{head[:7]}`: see the check `Forge / review`.**"


async def test_a_dismissal_changes_what_the_review_says(story: Story) -> None:
    _, _, carol, pull = await _propose(story, {"app.py": APP}, {"app.py": BROKEN})
    [comment] = story.comments(pull)
    await story.after(carol.reply(comment, "/forge dismiss it is injected"))
    review = story.reviews(pull)[0]
    assert review.body.startswith(f"**{UNTHOUGHT}.**")
    story.pass_over(pull)


async def test_one_pull_request_is_left_alone(story: Story) -> None:
    repository, alice, carol, pull = await _propose(story, {"app.py": APP}, {"app.py": BROKEN})
    rex = story.github.user("rex")
    await story.after(rex.comment(pull, "/forge pause here"))
    await story.after(alice.comment(pull, "/forge pause here"))
    refused, done = [each.body for each in story.answers(pull)]
    assert "write" in refused
    assert done.startswith("Forge leaves this alone until `/forge unpause here`.")

    head = await story.after(alice.push(repository, "feature", {"more.py": BROKEN}))
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("neutral", "Not reviewed")
    assert "`alice` told Forge to leave this pull request alone" in (check.summary or "")
    assert len(story.comments(pull)) == 1

    await story.after(carol.comment(pull, "/forge review"))
    assert story.check(repository, head).conclusion == "failure"
    await story.after(carol.comment(pull, "/forge unpause here"))
    head = await story.after(alice.push(repository, "feature", {"most.py": BROKEN}))
    assert story.check(repository, head).conclusion == "failure"
    story.pass_over(pull)


async def test_a_question_in_a_thread_has_an_answer_where_no_model_is(story: Story) -> None:
    _, _, carol, pull = await _propose(story, {"app.py": APP}, {"app.py": BROKEN})
    [comment] = story.comments(pull)
    await carol.reply(comment, "Why is that a problem?")
    await story.after(carol.reply(comment, "Thanks."))
    [answer] = story.thread_answers(pull, comment)
    assert answer.body.startswith("No answer: ")
    assert "Ask again later" not in answer.body


async def test_the_review_says_what_is_missing_of_the_issue(story: Story, model: ScriptedModel) -> None:
    repository, alice = story.repository({"shop.py": FREE})
    issue = await alice.open_issue(repository, "Ship for free from 40 on", "And say so on the page of the cart.")
    told = "Shipping is free from 40 on; the page of the cart does not say it."
    model.when(f"== what issue #{issue.number} asks", {"summary": "Lowers the limit.", "issue": told, "findings": []})
    _, head = await story.propose(
        repository, alice, {"shop.py": FREE.replace("5000", "4000")}, body=f"Closes #{issue.number}"
    )
    summary = story.check(repository, head).summary or ""
    assert f"**What #{issue.number} asks:** {told}" in summary
    assert "And say so on the page of the cart." in model.calls[0].content


async def test_a_coding_agent_is_told_place_and_problem(story: Story, model: ScriptedModel) -> None:
    repository, _, _, pull, comment = await open_reviewed(story, model)
    told = story.check(repository, pull.head_sha).summary or ""
    assert "<summary>For your coding agent</summary>\n\n```\nFix each of these at its cause, " in told
    assert re.search(r"^F-[A-Z0-9]{6} billing/pay\.py:\d+ \(error\): An empty list", told, re.MULTILINE)
    assert comment.body.count("<sub>") == 1
    assert "coding agent" not in comment.body
    assert "Someone else with the role write (you, if nobody else has it) replies" in comment.body
