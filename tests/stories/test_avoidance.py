"""A change that hides a failure instead of mending it is named, and a maintainer is asked before it passes."""

from collections.abc import Mapping

import pytest

from simulator import User
from simulator.state import PullRequest
from tests.stories.driver import Story

CODE = "def total(prices):\n    return sum(prices)\n"
TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_empty():\n    assert total([]) == 0\n"
FILES = {"shop.py": CODE, "tests/test_shop.py": TEST}
GATE = "avoidance: {test_skipped: gate}\n"
SKIPPED = {
    "tests/test_shop.py": f"import pytest\n{TEST.replace('def test_empty', '@pytest.mark.skip' + chr(10) + 'def test_empty')}"
}


async def _propose(
    story: Story, changed: Mapping[str, str | None], settings: str = ""
) -> tuple[PullRequest, User, User]:
    """A pull request of alice; carol maintains."""
    configured = {".github/forge.yml": settings} if settings else {}
    repository, alice = story.repository({**FILES, **configured})
    carol = story.member(repository, "carol", "maintain")
    pull, _ = await story.propose(repository, alice, changed, "work", title="Tidy up")
    return pull, alice, carol


def _get_conclusion(story: Story, pull: PullRequest) -> str | None:
    [check] = story.github.check_runs(pull.repository, pull.head_sha, "Forge / review")
    return check.conclusion


async def test_a_maintainer_decides_about_what_is_skipped(story: Story) -> None:
    pull, alice, carol = await _propose(story, SKIPPED, GATE)
    assert story.gates(pull) == ["destructive"]
    [question] = story.questions(pull)
    assert "tests are skipped" in question.body
    assert "Instead, " in question.body
    assert (
        "anyone with the role maintain or above, but the author of the change only if nobody else has it"
        in question.body
    )
    assert _get_conclusion(story, pull) == "action_required"
    await story.after(alice.comment(pull, "/forge approve destructive"))
    assert _get_conclusion(story, pull) == "action_required"
    await story.after(carol.comment(pull, "/forge approve destructive with: the test lied"))
    assert _get_conclusion(story, pull) == "success"
    story.pass_over(pull)


async def test_a_finding_that_is_dismissed_is_not_asked_about(story: Story) -> None:
    """A person with the role may say that it is wrong, and the next head is not asked about again."""
    pull, alice, carol = await _propose(story, SKIPPED, GATE)
    [finding] = {
        word.strip("`:") for body in story.questions(pull) for word in body.body.split() if word.startswith("F-")
    }
    await story.after(carol.comment(pull, f"/forge dismiss {finding} another suite has it"))
    await story.after(alice.push(pull.repository, "work", {"shop.py": CODE + "\n\nTAX = 0\n"}))
    assert _get_conclusion(story, pull) == "neutral"
    story.pass_over(pull)


@pytest.mark.parametrize("reaction", ["note", "off"])
async def test_a_repository_says_what_asks(story: Story, reaction: str) -> None:
    pull, _, _ = await _propose(story, SKIPPED, f"avoidance: {{test_skipped: {reaction}}}\n")
    assert story.gates(pull) == []
    assert _get_conclusion(story, pull) == "neutral"
    [check] = story.github.check_runs(pull.repository, pull.head_sha, "Forge / review")
    assert ("avoidance/test-skipped" in f"{check.summary}{check.text}{check.annotations}") == (reaction == "note")
    story.pass_over(pull)


async def test_tests_that_only_move_ask_nobody(story: Story) -> None:
    moved: dict[str, str | None] = {"tests/test_shop.py": None, "tests/unit/test_shop.py": TEST}
    pull, _, _ = await _propose(story, moved)
    [check] = story.github.check_runs(pull.repository, pull.head_sha, "Forge / review")
    assert "**Only moved**, with the same content: 1 file." in (check.summary or "")
    assert "Nobody" not in (check.summary or "")
    assert story.gates(pull) == []
    assert _get_conclusion(story, pull) == "success"
    story.pass_over(pull)
