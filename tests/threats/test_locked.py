"""In a locked conversation GitHub takes neither reactions nor comments of an App (T-G9)."""

from structlog.testing import capture_logs

from memory.deliveries import deliveries
from tests.stories.driver import Story


async def test_t_g9_a_command_in_a_locked_conversation(story: Story) -> None:
    """It acts all the same; that nobody could be answered is kept with its delivery, and logged."""
    repository, alice = story.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await story.settle()
    await alice.lock(pull)
    with capture_logs() as logs:
        comment = await alice.comment(pull, "/forge review full")
        await story.settle()
    assert len(await story.runs()) == 2
    assert story.check(repository, pull.head_sha).conclusion == "neutral"
    assert comment.reactions == []
    assert story.answers(pull) == []
    delivery, *_ = [each for each in story.github.deliveries if each.event == "issue_comment"]
    row = await deliveries.find(story.forge.services.database, delivery.guid)
    assert row is not None
    assert row.reason.startswith("1 obeyed, unanswered: ")
    assert [each["event"] for each in logs if each["log_level"] == "warning"] == ["command.unanswered"]


async def test_t_g9_a_pause_where_no_reaction_is_taken(story: Story) -> None:
    """That the reaction fails, in whatever way, keeps no command waiting."""
    repository, alice = story.repository({"app.py": "print()\n"})
    admin = story.member(repository, "ada", "admin")
    issue = await alice.open_issue(repository, "Prices")
    for status in (403, 404, 422, 502):
        story.github.faults.add(kind="before", path="/reactions$", status=status)
        await admin.comment(issue, "/forge pause" if status % 2 else "/forge unpause")
        await story.settle()
    paused, unpaused, *_ = [each.body for each in story.answers(issue)]
    assert "paused" in paused.lower()
    assert paused != unpaused
    assert len(story.answers(issue)) == 4
