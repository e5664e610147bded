"""A check that is shown again says all that it said, and what changed."""

from tests.stories.driver import Story

CODE = "def total(prices):\n    return sum(prices)\n"
BROKEN = "def total(prices):\n    return sum(prizes)\n"


async def test_a_dismissal_leaves_the_other_lines_of_the_check(story: Story) -> None:
    repository, alice = story.repository({".github/forge.yml": "review: {comments: sometimes}\n", "app.py": CODE})
    carol = story.member(repository, "carol", "write")
    await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")
    await alice.push(repository, "main", {"app.py": CODE.replace("sum(", "max(")})
    pull = await story.after(alice.open_pull_request(repository, "feature"))
    before = story.check(repository, pull.head_sha).summary or ""
    told = [line for line in before.splitlines() if line.startswith(("⚠️", "The branch conflicts"))]
    assert len(told) == 2, before

    [comment] = story.comments(pull)
    await story.after(carol.reply(comment, "/forge dismiss the name is injected at run time"))

    after = story.check(repository, pull.head_sha).summary or ""
    assert "### Dismissed" in after
    assert [line for line in told if line not in after.splitlines()] == []
    story.pass_over(pull)
