"""The automation level as people see it: shown, set, pinned, and moved by what happens."""

import pytest
from inline_snapshot import snapshot

from memory.repositories import automation_level
from simulator import User
from simulator.state import IssueComment, PullRequest, Repository
from tests.stories.driver import Story
from tests.world.automation import APP, BROKEN
from tests.world.replies import first_lines


async def open_reviewed(
    story: Story, files: dict[str, str] | None = None, forge_yml: str | None = None
) -> tuple[Repository, User, User, PullRequest, str]:
    """A reviewed pull request of alice's; carol is an admin."""
    configured = {} if forge_yml is None else {".github/forge.yml": forge_yml}
    repository, alice = story.repository({"app.py": APP, **configured})
    carol = story.member(repository, "carol", "admin")
    pull, head = await story.propose(repository, alice, files or {"README.md": "# Shop\n"})
    story.pass_over(pull)
    return repository, alice, carol, pull, head


async def answer(story: Story, by: User, pull: PullRequest, text: str) -> IssueComment:
    """What Forge answers to a comment."""
    before = len(story.answers(pull))
    await story.after(by.comment(pull, text))
    [found] = story.answers(pull)[before:]
    return found


async def test_an_admin_sets_the_level(story: Story) -> None:
    _, alice, carol, pull, _ = await open_reviewed(story)
    assert "needs the role admin" in (await answer(story, alice, pull, "/forge level 2")).body
    assert "Automation level 1 → **2** (acts)" in (await answer(story, carol, pull, "/forge level 2")).body
    assert "Automation level **2** (acts)" in (await answer(story, alice, pull, "/forge level")).body


@pytest.mark.parametrize(
    ("ladder", "why", "stays"),
    [
        ("max_level: 2", "Level 3 is not set: the highest one allowed here is 2.", "level **1**"),
        ("pinned: 0", "the configuration pins it with `ladder.pinned: 0`", "level **0** (manual)"),
    ],
)
async def test_no_level_is_set_that_the_configuration_does_not_let(
    story: Story, ladder: str, why: str, stays: str
) -> None:
    _, _, carol, pull, _ = await open_reviewed(story, forge_yml=f"ladder: {{{ladder}}}\n")
    assert why in (await answer(story, carol, pull, "/forge level 3")).body
    said = (await answer(story, carol, pull, "/forge level")).body
    assert f"Automation {stays}" in said
    assert ("The configuration pins it" in said) is ("pinned" in ladder)


async def test_a_pin_leaves_what_was_reached(story: Story) -> None:
    repository, _, carol, pull, _ = await open_reviewed(story)
    await answer(story, carol, pull, "/forge level 2")
    await carol.push(repository, "main", {".github/forge.yml": "ladder: {pinned: 4}\n"})
    await answer(story, carol, pull, "/forge missed carts lose their contents")
    said = (await answer(story, carol, pull, "/forge level")).body
    assert "Automation level **4** (acts alone at low risk)" in said
    assert "`ladder.pinned: 4`. Level 2 was reached." in said
    await carol.push(repository, "main", {".github/forge.yml": "{}\n"})
    assert "Automation level **2** (acts)" in (await answer(story, carol, pull, "/forge level")).body


async def test_a_missed_bug_costs_a_level(story: Story) -> None:
    repository, alice, carol, pull, head = await open_reviewed(story)
    await answer(story, carol, pull, "/forge level 3")
    said = (await answer(story, alice, pull, "/forge missed carts lose their contents")).body
    assert "Noted as a critical bug that Forge missed" in said
    [run] = await story.runs()
    assert run.id in said
    assert "Automation level 3 → 2: " in (story.check(repository, head).summary or "")
    assert "1 critical bug missed, at most 0 allowed" in (story.check(repository, head).summary or "")
    assert "Automation level **2**" in (await answer(story, alice, pull, "/forge level")).body


async def test_a_missed_bug_is_told_in_words_or_by_its_place(story: Story) -> None:
    _, alice, carol, pull, _ = await open_reviewed(story)
    await answer(story, carol, pull, "/forge level 3")
    assert (await answer(story, alice, pull, "/forge missed it works")).body.partition("<!--")[0].strip() == (
        "Nothing was noted: this does not tell what was missed. Name the file, with the line if you know it, or say in "
        "a few more words what goes wrong, such as `/forge missed the total is wrong for two discounts`."
    )
    assert "Automation level **3**" in (await answer(story, alice, pull, "/forge level")).body
    assert "Noted as a critical bug" in (await answer(story, alice, pull, "/forge missed app.py:3")).body


@pytest.mark.usefixtures("model")
async def test_a_revert_of_what_forge_approved_counts_once(story: Story) -> None:
    repository, alice, carol, pull, _ = await open_reviewed(story)
    await story.after(carol.comment(pull, "/forge level 3"))
    assert first_lines(story.answers(pull)) == snapshot(
        ["Automation level 1 → **3** (acts and tells). Forge also merges changes of low r…"]
    )
    await story.after(carol.merge(pull))
    for number, branch in enumerate(("revert-1", "revert-2")):
        await alice.push(repository, branch, {"README.md": f"# {number}\n"}, base="main")
        body = f"Reverts octo-org/shop#{pull.number}"
        undo = await story.after(alice.open_pull_request(repository, branch, title='Revert "A change"', body=body))
        await story.after(carol.merge(undo))
        assert first_lines(story.reviews(undo)) == snapshot(["Approved without being asked, for head `SHA` only."])
        story.pass_over(undo)
    assert len((await automation_level.load_facts(story.forge.services.database, repository.id)).missed) == 1
    assert "Automation level **2**" in (await answer(story, alice, pull, "/forge level")).body


@pytest.mark.usefixtures("model")
async def test_words_about_another_repository_revert_nothing(story: Story) -> None:
    repository, alice, carol, pull, _ = await open_reviewed(story)
    await answer(story, carol, pull, "/forge level 3")
    await carol.merge(pull)
    await alice.push(repository, "again", {"README.md": "# 2\n"}, base="main")
    body = f"Reverts octo-org/other#{pull.number}"
    undo = await story.after(alice.open_pull_request(repository, "again", title='Revert "A change"', body=body))
    await story.after(carol.merge(undo))
    assert first_lines(story.reviews(undo)) == snapshot(["Approved without being asked, for head `SHA` only."])
    assert first_lines(story.answers(undo)) == snapshot(
        ["**Forge merges** `SHA` after TIME, if nothing changes until then."]
    )
    assert "Automation level **3**" in (await answer(story, alice, pull, "/forge level")).body


async def test_merging_against_the_verdict_is_no_approval(story: Story) -> None:
    _, alice, carol, pull, _ = await open_reviewed(story, {"app.py": BROKEN})
    await answer(story, carol, pull, "/forge level 2")
    await story.after(carol.merge(pull))
    assert "Automation level **1**" in (await answer(story, alice, pull, "/forge level")).body


@pytest.mark.usefixtures("model")
async def test_merging_with_the_verdict_is_an_approval(story: Story) -> None:
    _, alice, carol, pull, _ = await open_reviewed(story, {"cart.py": "LIMIT = 3\n"})
    await story.after(carol.merge(pull))
    body = (await answer(story, alice, pull, "/forge level")).body
    assert "approval rate 10 %, at least 80 % needed" in body


async def test_an_answer_at_low_risk_is_no_approval(story: Story) -> None:
    """But the run of a pull request that was merged counts."""
    gate = "gates: {look: {phase: review, when: 'review.files_changed > 0', prompt: Is it meant}}\n"
    repository, alice, carol, pull, _ = await open_reviewed(story, forge_yml=gate)
    await story.after(carol.comment(pull, "/forge approve look"))
    assert story.gate_outcomes(pull) == ["look: Approved by carol"]
    facts = await automation_level.load_facts(story.forge.services.database, repository.id)
    assert (list(facts.decisions), [run.merged for run in facts.runs]) == ([], [False])
    await story.after(alice.merge(pull))
    facts = await automation_level.load_facts(story.forge.services.database, repository.id)
    assert (list(facts.decisions), [run.merged for run in facts.runs]) == ([], [True])
    story.pass_over(pull)


async def test_another_review_of_the_same_head_is_no_further_run(story: Story) -> None:
    _, alice, _, pull, _ = await open_reviewed(story)
    story.clock.move(seconds=2)
    await answer(story, alice, pull, "/forge review full")
    assert len(await story.runs()) == 2
    assert (
        "0 completed runs of merged pull requests, at least 50 needed"
        in (await answer(story, alice, pull, "/forge level")).body
    )


async def test_level_zero_comments_only_where_somebody_asks(story: Story) -> None:
    repository, alice = story.repository({"app.py": "VALUE = 1\n"})
    ann = story.member(repository, "ann", "admin")
    pull, head = await story.propose(repository, alice, {"app.py": "import os\n\nprint(nobody)\n"})
    assert story.comments(pull)
    await story.after(ann.comment(pull, "/forge level 0"))
    assert first_lines(story.answers(pull)) == snapshot(
        ["Automation level 1 → **0** (manual). Forge reviews and shows its findings in th…"]
    )

    second, other = await story.propose(repository, alice, {"app.py": "import sys\n\nprint(no_one)\n"}, "other")
    assert story.comments(second) == []
    assert "Forge commented nothing unasked" in (story.check(repository, other).summary or "")
    assert story.check(repository, other).conclusion == "failure"
    story.clock.move(seconds=2)
    await story.after(alice.comment(second, "/forge review full"))
    assert first_lines(story.answers(second)) == snapshot(
        ["Reviewing `SHA` from scratch; the check shows the progress."]
    )
    assert story.comments(second)
    assert story.check(repository, head).conclusion == "failure"


async def test_why_there_are_no_comments_is_said_whenever_the_check_is_shown(story: Story) -> None:
    repository, alice = story.repository({"app.py": "VALUE = 1\n", ".github/forge.yml": "ladder: {max_level: 0}\n"})
    ann = story.member(repository, "ann", "admin")
    pull, head = await story.propose(repository, alice, {"app.py": "import os\n\nprint(nobody)\n"})
    summary = story.check(repository, head).summary or ""
    assert (story.comments(pull), "Forge commented nothing unasked" in summary) == ([], True)
    name = f"F-{summary.split('F-')[1][:6]}"
    await story.after(ann.comment(pull, f"/forge dismiss {name} it is injected"))
    assert f"**{name}** is dismissed" in story.answers(pull)[0].body
    assert "Forge commented nothing unasked" in (story.check(repository, head).summary or "")


async def test_at_level_0_nothing_is_opened(story: Story) -> None:
    """Who asks for it is told how to have it; a plan is no pull request."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    admin = story.member(repository, "root", "admin")
    issue = await alice.open_issue(repository, "Discounts", "Customers want a discount.")
    for who, words in ((admin, "/forge level 0"), (alice, "/forge run"), (alice, "/forge retry")):
        await story.after(who.comment(issue, words))
    await story.after(alice.label(issue, "forge"))
    level, run, again, label = story.answers(issue)
    assert "never opens a pull request" in level.body
    for each in (run, label):
        assert "Not started: automation is at level 0 here, at which Forge opens no pull request" in each.body
        assert "an admin raises it with `/forge level 1`, and `/forge plan` only plans" in each.body
    assert "Not started: no run of this issue ended" in again.body
    assert not await story.runs()
    for who, words in ((admin, "/forge level 1"), (alice, "/forge run")):
        await story.after(who.comment(issue, words))
    assert [each.trigger for each in await story.runs()] == ["issue"]
    assert first_lines(story.answers(issue)) == snapshot(
        [
            "Automation level 1 → **0** (manual). Forge reviews and shows its findings in th…",
            "Not started: automation is at level 0 here, at which Forge opens no pull reques…",
            "Not started: no run of this issue ended before it was through. `/forge status`…",
            "Not started: automation is at level 0 here, at which Forge opens no pull reques…",
            "Automation level 0 → **1** (suggests). Forge comments; people fix, approve and…",
            "**Not planned: no model is available.** anthropic:claude-haiku-4-5 cannot be as…",
        ]
    )
