"""T-B3, T-B4: one account cannot keep Forge busy, nor use up what others need."""

import pytest

from domain.events import Event, EventType
from memory.reports import audit
from messages import review as review_texts
from safety.eligibility import COMMENTS_PER_OUTSIDER, PER_STRANGER
from simulator import User
from simulator.state import CheckRun, PullRequest, Repository
from tests.stories.driver import Story


async def open_from_fork(repository: Repository, stranger: User, number: int = 0) -> PullRequest:
    """One more pull request of a stranger, from a fork."""
    fork = next((each for each in _repositories(stranger) if each.owner is stranger.account), None)
    fork = fork or await stranger.fork(repository)
    await stranger.push(fork, f"branch-{number}", {f"note-{number}.md": "Buy!\n"}, base="main")
    return await stranger.open_pull_request(repository, f"branch-{number}", head_repo=fork)


def _repositories(user: User) -> list[Repository]:
    return list(user.world.repositories.values())


def check(story: Story, pull: PullRequest) -> CheckRun:
    """The one check on a head: nothing is said twice."""
    [found] = story.github.check_runs(pull.repository, pull.head_sha, review_texts.CHECK_NAME)
    assert story.answers(pull) == story.reviews(pull) == []
    return found


async def refusals(story: Story) -> list[Event]:
    """What the audit has of who was refused something."""
    found = await audit.list_newest(story.forge.services.database, audit.EventFilter(), 1_000)
    return [each.event for each in found if each.event.type is EventType.permission_refused]


@pytest.mark.deep
async def test_t_b3_a_stranger_who_floods_a_repository(story: Story) -> None:
    """What is beyond a stranger's share is named once per head and not looked at; everybody else is served."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    mallory = story.github.user("mallory")
    flood = [await open_from_fork(repository, mallory, number) for number in range(PER_STRANGER + 3)]
    await story.settle()
    seen = [check(story, pull) for pull in flood]
    assert sum(each.title == "Too many reviews" for each in seen) == 3
    assert sum(each.conclusion == "success" for each in seen) == PER_STRANGER
    refused = next(each for each in seen if each.conclusion != "success")
    assert f"of what this account sent from forks; {PER_STRANGER} are allowed" in (refused.summary or "")

    await alice.press(refused, "review")  # a person who may write is answered, whatever that account did before
    await story.settle()
    assert story.check(repository, refused.head_sha).conclusion == "success"

    other = await open_from_fork(repository, story.github.user("bob"))
    own, _ = await story.propose(repository, alice, {"app.py": "VALUE = 1\n"})
    assert [check(story, pull).conclusion for pull in (other, own)] == ["success", "neutral"]

    story.clock.move(minutes=61)
    late = await open_from_fork(repository, mallory, 99)
    await story.settle()
    assert check(story, late).conclusion == "success"


@pytest.mark.deep
async def test_t_b4_a_stranger_who_floods_with_commands(story: Story) -> None:
    """What is beyond a stranger's share is neither answered nor reacted to; everybody else is heard."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    await alice.push(repository, "feature", {"app.py": "VALUE = 1\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    mallory = story.github.user("mallory")
    for _ in range(COMMENTS_PER_OUTSIDER + 5):
        await mallory.comment(pull, "/forge help\n" * 20)
    await story.settle()
    answers = [each.body for each in story.answers(pull)]
    assert len(answers) == COMMENTS_PER_OUTSIDER + 1
    assert sum(map(len, answers)) < 10_000 * len(answers)
    assert sum(each.count("| command |") for each in answers) == COMMENTS_PER_OUTSIDER
    assert sum(f"{COMMENTS_PER_OUTSIDER} are allowed without a role here" in each for each in answers) == 1
    reactions = [each for each in story.github.requests if each.path.endswith("/reactions")]
    assert len(reactions) == COMMENTS_PER_OUTSIDER
    audited = await refusals(story)
    assert len(audited) == 5

    for author in (alice, story.github.user("bob")):
        before = len(story.answers(pull))
        await author.comment(pull, "/forge status")
        await story.settle()
        assert len(story.answers(pull)) == before + 1
    for _ in range(COMMENTS_PER_OUTSIDER):
        await alice.comment(pull, "/forge status")
    await story.settle()
    assert len(story.answers(pull)) == before + 1 + COMMENTS_PER_OUTSIDER
    story.clock.move(minutes=61)
    await mallory.comment(pull, "/forge status")
    await story.settle()
    assert len(story.answers(pull)) == before + 2 + COMMENTS_PER_OUTSIDER


async def test_t_b4_a_stranger_is_refused_once_for_each_comment(story: Story) -> None:
    """Readers of a private repository are colleagues. The quota of comments stops strangers; all is audited."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    issue = await alice.open_issue(repository, "Prices", "They are wrong.")
    for login in ("mallory", "mallory", "bob", "mallory"):
        await story.github.user(login).comment(issue, "/forge run")
        await story.settle()
    assert [each.body.splitlines()[0] for each in story.answers(issue)] == [
        f"Refused: `/forge run` needs the role write; `{login}` has read."
        for login in ("mallory", "mallory", "bob", "mallory")
    ]
    audited = await refusals(story)
    assert len(audited) == 4
