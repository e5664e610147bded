"""T-B3: one account cannot keep Forge busy, nor use up what others need."""

from domain import texts
from safety.quota import PER_STRANGER
from simulator import User
from simulator.state import CheckRun, PullRequest, Repository
from tests.stories.driver import Story


async def proposed(repository: Repository, stranger: User, number: int = 0) -> PullRequest:
    """One more pull request of a stranger, from a fork."""
    fork = next((each for each in _repositories(stranger) if each.owner is stranger.account), None)
    fork = fork or await stranger.fork(repository)
    await stranger.push(fork, f"branch-{number}", {f"note-{number}.md": "Buy!\n"}, base="main")
    return await stranger.open_pull_request(repository, f"branch-{number}", head_repo=fork)


def _repositories(user: User) -> list[Repository]:
    return list(user.world.repositories.values())


def check(told: Story, pull: PullRequest) -> CheckRun:
    """The one check on a head: nothing is said twice."""
    [found] = told.github.check_runs(pull.repository, pull.head_sha, texts.CHECK_NAME)
    assert told.answers(pull) == told.reviews(pull) == []
    return found


async def test_t_b3_a_stranger_who_floods_a_repository(told: Story) -> None:
    """What is beyond a stranger's share is named once per head and not looked at; everybody else is served."""
    repository, alice = told.repository({"README.md": "# Shop\n"})
    mallory = told.github.user("mallory")
    flood = [await proposed(repository, mallory, number) for number in range(PER_STRANGER + 3)]
    await told.rest()
    seen = [check(told, pull) for pull in flood]
    assert sum(each.title == "Too many reviews" for each in seen) == 3
    assert sum(each.conclusion == "success" for each in seen) == PER_STRANGER
    refused = next(each for each in seen if each.conclusion != "success")
    assert f"of what this account sent from forks; {PER_STRANGER} are allowed" in (refused.summary or "")

    await alice.press(refused, "review")  # a person who may write is answered, whatever that account did before
    await told.rest()
    assert told.check(repository, refused.head_sha).conclusion == "success"

    other = await proposed(repository, told.github.user("bob"))
    await alice.push(repository, "feature", {"app.py": "VALUE = 1\n"}, base="main")
    own = await alice.open_pull_request(repository, "feature")
    await told.rest()
    assert [check(told, pull).conclusion for pull in (other, own)] == ["success", "success"]

    told.clock.move(minutes=61)
    late = await proposed(repository, mallory, 99)
    await told.rest()
    assert check(told, late).conclusion == "success"
