"""T-P (docs/threats.md): who may command is asked for at the moment of the act, by account and not by name."""

import pytest

from simulator import User
from simulator.state import PullRequest, Repository, ReviewComment
from tests.stories.driver import Story
from tests.threats.meanwhile import act_after_write
from tests.world.automation import APP, BROKEN

DISMISS = "/forge dismiss the name is injected at run time"
PERMISSION = r"/collaborators/[^/]+/permission$"

pytestmark = pytest.mark.parametrize("backend", ["sqlite"])  # nothing here depends on the database


async def open_reviewed(story: Story) -> tuple[Repository, PullRequest, ReviewComment]:
    """A pull request of alice with one blocking finding, and the comment that carries it."""
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"app.py": BROKEN})
    [comment] = story.comments(pull)
    return repository, pull, comment


def writer(story: Story, repository: Repository, login: str = "carol") -> User:
    """Somebody besides the author who may write."""
    return story.member(repository, login, "write")


async def assert_refused(story: Story, pull: PullRequest, comment: ReviewComment, why: str) -> None:
    """It was said once why not, and the finding stands."""
    await story.settle()
    [answer] = story.thread_answers(pull, comment)
    assert why in answer.body
    assert story.check(pull.repository, pull.head_sha).conclusion == "failure"
    assert not comment.thread.resolved


@pytest.mark.parametrize("who", ["reader", "outsider", "ghost"])
async def test_who_may_not_write_is_refused_once(story: Story, who: str) -> None:
    """The sense of T-P1, as long as no gate can be approved: a ghost's account is deleted before Forge asks."""
    repository, pull, comment = await open_reviewed(story)
    mallory = story.github.user("mallory")
    if who == "reader":
        story.github.grant(repository, mallory, "read")
    story.github.hold_deliveries()
    await mallory.reply(comment, DISMISS)
    if who == "ghost":
        del story.github.world.accounts["mallory"]
    story.github.release_deliveries()
    held = "none" if who == "ghost" else "read"
    await assert_refused(story, pull, comment, f"needs the role write; `mallory` has {held}.")
    for delivery in list(story.github.deliveries):
        await story.github.redeliver(delivery)
    await assert_refused(story, pull, comment, "needs the role write")


@pytest.mark.parametrize("command", [DISMISS, "/forge review full"])
async def test_t_p2_the_author_of_a_fork_is_refused(story: Story, command: str) -> None:
    """Who opened the pull request from a fork decides nothing about it."""
    repository, _ = story.repository({"app.py": APP})
    bob = story.github.user("bob")
    fork = await bob.fork(repository)
    await bob.push(fork, "feature", {"app.py": BROKEN}, base="main")
    pull = await bob.open_pull_request(repository, "feature", head_repo=fork)
    await story.settle()
    [comment] = story.comments(pull)
    await bob.reply(comment, command)
    await assert_refused(story, pull, comment, "needs the role write")
    await bob.press(story.check(repository, pull.head_sha), "review")
    await bob.resolve(comment.thread)
    await story.settle()
    assert len(await story.runs()) == 1
    assert story.check(repository, pull.head_sha).conclusion == "failure"
    [answer] = story.answers(pull)
    assert "needs the role write" in answer.body  # to the button


async def test_t_p7_right_removed_before_forge_hears_of_the_comment(story: Story) -> None:
    repository, pull, comment = await open_reviewed(story)
    carol = writer(story, repository)
    story.github.hold_deliveries()
    await carol.reply(comment, DISMISS)
    story.github.revoke(repository, carol)
    story.github.release_deliveries()
    await assert_refused(story, pull, comment, "`carol` has read.")


async def test_t_p7_right_removed_between_two_commands_of_a_comment(story: Story) -> None:
    """What the first command was allowed does not count for the second."""
    repository, pull, comment = await open_reviewed(story)
    carol = writer(story, repository)

    async def revoke() -> None:
        story.github.revoke(repository, carol)

    act_after_write(story, revoke, "/check-runs$")
    await carol.reply(comment, f"/forge review full\n{DISMISS}")
    await assert_refused(story, pull, comment, "`/forge dismiss` needs the role write; `carol` has read.")
    assert len(await story.runs()) == 2


async def test_t_p10_github_does_not_say_who_may(story: Story) -> None:
    """Without an answer nothing is done, which is said; once GitHub answers again the same command works."""
    repository, pull, comment = await open_reviewed(story)
    carol = writer(story, repository)
    story.github.faults.add(kind="before", path=PERMISSION, status=502, times=None)
    await carol.reply(comment, DISMISS)
    await assert_refused(story, pull, comment, "GitHub did not say what `carol` may do here, so Forge did nothing.")
    story.github.faults.clear()
    await carol.reply(comment, DISMISS)
    await story.settle()
    assert "is dismissed" in story.thread_answers(pull, comment)[1].body
    assert story.check(repository, pull.head_sha).conclusion == "neutral"


async def test_t_p10_a_passing_failure_is_not_noticed(story: Story) -> None:
    """One failed answer is asked for again, before anybody has to."""
    repository, pull, comment = await open_reviewed(story)
    fault = story.github.faults.add(kind="before", path=PERMISSION, status=502, times=2)
    await writer(story, repository).reply(comment, DISMISS)
    await story.settle()
    [answer] = story.thread_answers(pull, comment)
    assert "is dismissed" in answer.body
    assert fault.fired == 2


async def test_t_p10_a_button_and_a_thread_fail_closed(story: Story) -> None:
    """What asks without words is refused without an answer of GitHub, too."""
    repository, pull, comment = await open_reviewed(story)
    carol = writer(story, repository)
    story.github.faults.add(kind="before", path=PERMISSION, status=502, times=None)
    await carol.press(story.check(repository, pull.head_sha), "review")
    await carol.resolve(comment.thread)
    await story.settle()
    assert len(await story.runs()) == 1
    assert story.check(repository, pull.head_sha).conclusion == "failure"
    assert story.thread_answers(pull, comment) == []


async def test_t_p11_a_name_that_somebody_with_rights_took(story: Story) -> None:
    """The command of an outsider does not count because the name belongs to a writer by the time it is read."""
    repository, pull, comment = await open_reviewed(story)
    mallory = story.github.user("mallory")
    story.github.hold_deliveries()
    await mallory.reply(comment, DISMISS)
    rename(story, mallory, "mallory-before")
    story.github.grant(repository, register(story, "mallory"), "write")
    story.github.release_deliveries()
    await assert_refused(story, pull, comment, "`mallory` has none.")


async def test_t_p11_a_name_that_somebody_with_rights_gave_up(story: Story) -> None:
    """Who registers the name of a writer anew has none of the writer's rights; the writer keeps them."""
    repository, pull, comment = await open_reviewed(story)
    carol = writer(story, repository)
    rename(story, carol, "carol-now")
    await register(story, "carol").reply(comment, DISMISS)
    await assert_refused(story, pull, comment, "`carol` has read.")
    await carol.reply(comment, DISMISS)
    await story.settle()
    assert "is dismissed" in story.thread_answers(pull, comment)[1].body


async def test_t_p11_an_author_under_another_name_is_still_the_author(story: Story) -> None:
    repository, pull, comment = await open_reviewed(story)
    writer(story, repository)
    alice = story.github.user("alice")
    rename(story, alice, "alice-now")
    await alice.reply(comment, DISMISS)
    await assert_refused(story, pull, comment, "is not for the author of the change")


def rename(story: Story, user: User, login: str) -> None:
    """Give an account another name; the old one is free at once, as on GitHub."""
    accounts = story.github.world.accounts
    accounts[login] = accounts.pop(user.login)
    user.account.login = login


def register(story: Story, login: str) -> User:
    """Whoever registers this name now."""
    return User(story.github.world, story.github.world.account(login))
