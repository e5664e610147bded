"""What keeps Forge from its work is told where people are: no event ends in silence."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from simulator.server import PERMISSIONS
from tests.stories.driver import Story
from tests.stories.gate_scenes import open_scene
from tests.world.replies import bodies, mask

APP = "def main():\n    return 1\n"


async def test_without_the_permission_for_checks_the_pull_request_says_so_once(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    installation = story.github.world.installation_of(repository)
    assert installation is not None
    installation.permissions = {name: level for name, level in PERMISSIONS.items() if name != "checks"}
    pull, _ = await story.propose(repository, alice, {"a.py": "A = 1\n"})
    await story.after(alice.push(repository, "feature", {"a.py": "A = 2\n"}))
    assert bodies(story.answers(pull)) == snapshot(
        [
            """\
**Forge cannot work here.** Could not create the check run “Forge / review” on SHA of octo-org/shop: GitHub answered 403 (Resource not accessible by integration).

**What to do:** The App needs “checks: write” here: grant it in the App's settings on GitHub. Then whoever owns the installation accepts it there.

Forge did not approve this head.\
"""
        ]
    )

    installation.permissions = dict(PERMISSIONS)  # the owner accepted
    head = await story.after(alice.push(repository, "feature", {"a.py": "A = 3\n"}))
    assert story.check(repository, head).conclusion == "neutral"


@pytest.mark.parametrize("path", [r"/pulls/\d+$", r"/branches/"])
async def test_an_answer_that_cannot_be_read_is_told_in_the_check(story: Story, path: str) -> None:
    """After the second failure; the review is done once GitHub answers as it should, and the check closed."""
    repository, alice = story.repository({"app.py": APP})
    broken = story.github.faults.add(kind="before", status=200, method="GET", path=path, times=4)
    head = await alice.push(repository, "feature", {"a.py": "A = 1\n"}, base="main")
    told: list[tuple[Any, ...]] = []

    async def watch(info: Any, moment: str) -> None:
        if moment == "after" and info.path.endswith("/check-runs"):
            told.append((info.body["name"], info.body.get("conclusion"), info.body["output"]["title"]))

    story.github.on_write(watch)
    await story.after(alice.open_pull_request(repository, "feature"))
    assert broken.fired == 4
    assert told[0] == ("Forge / review", "action_required", "Forge cannot begin its review")
    assert story.check(repository, head).conclusion == "neutral"
    conclusions = {each.conclusion for each in story.github.check_runs(repository, head)}
    assert conclusions == {"cancelled", "neutral"}


async def test_an_answer_that_stays_unreadable_leaves_a_check(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    story.github.faults.add(kind="before", status=200, method="GET", path=r"/pulls/\d+$", times=None)
    _, head = await story.propose(repository, alice, {"a.py": "A = 1\n"})
    check = story.check(repository, head)
    assert (check.conclusion, check.title) == ("action_required", "Forge cannot begin its review")
    assert mask(check.summary or "") == snapshot("""\
**Forge cannot work here.** Could not read pull request `octo-org/shop#1`: GitHub answered something unexpected (number: missing, title: missing, state: missing).

**What to do:** Write `/forge review`; if it happens again, ask the operator of Forge, whose log has this.

Forge did not approve this head.\
""")


async def test_a_merge_queue_that_cannot_be_answered_is_told_so(story: Story) -> None:
    """Its head fails at once instead of waiting for its time to run out."""
    repository, alice = story.repository({"app.py": APP})
    story.github.protect(repository, "main", ["Forge / review"])
    pull, _ = await story.propose(repository, alice, {"a.py": "A = 1\n"})
    story.github.faults.add(kind="before", status=200, method="GET", path=r"/pulls/\d+$", times=None)
    queued = story.github.queue_for_merge(pull)
    await story.settle()
    [check] = story.github.check_runs(repository, queued, "Forge / review")
    assert (check.conclusion, check.title) == ("action_required", "Forge cannot begin its review")
    [said] = bodies(story.answers(pull))
    assert said.startswith("**Forge cannot work here.** Could not read pull request")
    assert "Nothing yet: Forge tries again" in said


async def test_a_merge_queue_that_is_answered_late_is(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"a.py": "A = 1\n"})
    story.github.faults.add(kind="before", status=200, method="GET", path=r"/pulls/\d+$", times=3)
    queued = story.github.queue_for_merge(pull)
    await story.settle()
    [check] = story.github.check_runs(repository, queued, "Forge / review")
    assert check.conclusion == "neutral"
    assert len(story.answers(pull)) == 1


async def test_a_button_that_shows_nothing_is_told_below(story: Story) -> None:
    scene = await open_scene(story)
    assert story.gates(scene.pull) == ["protected_paths"]
    story.github.faults.add(kind="before", status=422, method="PATCH", path="/check-runs/", times=None)
    await scene.press(scene.carol, "view", "protected_paths")
    [said] = bodies(story.answers(scene.pull))
    assert said.startswith("**Forge cannot work here.** Could not update")


async def test_code_that_cannot_be_fetched_leaves_a_run_that_says_so(story: Story) -> None:
    """Whether the base only moved on cannot be known then; the run exists all the same, and has a check."""
    repository, alice = story.repository({"app.py": APP})
    pull, head = await story.propose(repository, alice, {"a.py": "A = 1\n"})
    await alice.push(repository, "main", {"other.py": "B = 1\n"})
    story.github.faults.add(kind="before", path="git-upload-pack|info/refs", status=404, times=None)
    await story.after(alice.comment(pull, "/forge review full"))
    assert len(await story.runs()) == 2
    assert story.check(repository, head).conclusion == "action_required"
    assert story.answers(pull)
