"""The base of a pull request is its base branch as it is now, whatever GitHub's ``base.sha`` says."""

from inline_snapshot import snapshot

from tests.stories.driver import UNTHOUGHT, Story
from tests.world.replies import bodies

APP = "def main():\n    return 1\n"
OTHERS = "def run():\n    return missing\n"
BAD = "def go():\n    return missing\n"


async def test_what_others_merged_is_not_the_authors(story: Story) -> None:
    """The base is merged into the pull request, also twice, and rebased: only the author's file is reviewed."""
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"a.py": "A = 1\n"})
    opened_on = pull.base_sha

    await alice.push(repository, "main", {"others.py": OTHERS})
    head = await story.after(alice.update_branch(pull))
    assert pull.base_sha == opened_on  # as on GitHub
    assert story.check(repository, head).title == UNTHOUGHT
    assert "1 file" in (story.check(repository, head).summary or "")

    await alice.push(repository, "main", {"more.py": OTHERS})
    start = repository.git.branch("main")
    rebased = await story.after(alice.push(repository, "feature", {"a.py": "A = 1\n"}, base=start, force=True))
    assert story.check(repository, rebased).title == UNTHOUGHT
    pushed = await story.after(alice.push(repository, "feature", {"a.py": "A = 2\n"}))
    assert story.check(repository, pushed).title == UNTHOUGHT
    assert story.comments(pull) == []


async def test_what_the_author_wrote_is_found_after_an_update(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"a.py": BAD})
    assert [each.path for each in story.comments(pull)] == ["a.py"]
    await alice.push(repository, "main", {"others.py": OTHERS})
    head = await story.after(alice.update_branch(pull))
    assert story.check(repository, head).conclusion == "failure"
    assert {each.path for each in story.github.review_comments(pull)} == {"a.py"}


async def test_a_base_that_moves_on_makes_no_head_new(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    pull, head = await story.propose(repository, alice, {"a.py": "A = 1\n"})
    await alice.push(repository, "main", {"others.py": OTHERS})
    await story.after(alice.comment(pull, "/forge review"))
    assert bodies(story.answers(pull)) == snapshot(
        ["`SHA`: this head was reviewed before; see its check. `/forge review full` starts again."]
    )
    assert [run.head_sha for run in await story.runs()] == [head]


async def test_a_base_that_was_rewritten_is_compared_with_anew(story: Story) -> None:
    """What a force push took from the base comes back with a merge, so it is the pull request's."""
    repository, alice = story.repository({"app.py": APP})
    start = repository.git.branch("main")
    await alice.push(repository, "main", {"others.py": OTHERS})
    pull, head = await story.propose(repository, alice, {"a.py": "A = 1\n"})
    assert story.check(repository, head).conclusion == "neutral"
    assert start is not None
    await alice.reset_branch(repository, "main", start)
    await story.after(alice.comment(pull, "/forge review"))
    assert story.check(repository, head).conclusion == "failure"
    assert [each.path for each in story.comments(pull)] == ["others.py"]
    [answer] = bodies(story.answers(pull))
    begun = "`SHA`: this head is being reviewed; see its check. `/forge review full` starts again."  # by the push
    assert answer in {"Reviewing `SHA`; the check shows the progress.", begun}


async def test_stacked_pull_requests(story: Story) -> None:
    """The second is about its own part: before the first is merged, and once it goes into main."""
    repository, alice = story.repository({"app.py": APP})
    await alice.push(repository, "first", {"first.py": BAD}, base="main")
    first = await alice.open_pull_request(repository, "first")
    head = await alice.push(repository, "second", {"second.py": "B = 1\n"}, base="first")
    second = await story.after(alice.open_pull_request(repository, "second", base="first"))
    assert story.check(repository, head, base="first").conclusion == "neutral"
    await alice.merge(first)
    await story.after(alice.edit_base(second, "main"))
    assert story.check(repository, head).conclusion == "neutral"
    assert story.comments(second) == []
    assert [each.path for each in story.comments(first)] == ["first.py"]


async def test_what_a_squash_brought_does_not_block_the_pull_request_above(story: Story) -> None:
    """Its history still has the commits of the one below, and merging it changes nothing of them."""
    repository, alice = story.repository({"app.py": "def main():\n    return 1\n"})
    broken = {"app.py": "def main():\n    return missing\n"}
    await alice.push(repository, "lower", broken, base="main")
    lower = await alice.open_pull_request(repository, "lower")
    head = await alice.push(repository, "upper", {"README.md": "# Shop\n"}, base="lower")
    upper = await story.after(alice.open_pull_request(repository, "upper", "lower"))
    await alice.merge(lower, "squash")
    await story.after(alice.edit_base(upper, "main"))
    check = story.check(repository, head)
    assert check.conclusion != "failure"
    assert "Findings in app.py are left out: the base branch has that exactly so." in (check.summary or "")
    story.pass_over(lower)
    story.pass_over(upper)
