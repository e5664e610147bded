"""T-G5, T-G6 and T-G8 (docs/threats.md): access is lost, names change, and people undo or stop what Forge says."""

from collections.abc import Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from sqlalchemy import func, select

from memory.db.tables.deliveries import DeliveryRow
from memory.db.tables.repositories import ConfigurationRow
from memory.db.tables.runs import CheckpointRow
from messages import review as review_texts
from simulator import User
from simulator.errors import RequestInfo
from simulator.state import Installation, PullRequest, Repository
from tests.stories.driver import Story
from tests.threats.meanwhile import act_after_write
from tests.world.automation import APP, BROKEN
from tests.world.replies import first_lines

CONFIGURATION = "review: {max_comments: 7}\n"

pytestmark = pytest.mark.parametrize("backend", ["sqlite"])  # nothing here depends on the database


async def prepare_repository(story: Story, name: str = "octo-org/shop") -> tuple[Repository, User]:
    """A repository that was reviewed before, so that there is something of it to lose."""
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": CONFIGURATION}, name)
    await story.propose(repository, alice, {"note.md": "1\n"}, "before")
    assert repository.id in mirrors(story)
    return repository, alice


async def open_pull_request(story: Story, repository: Repository, author: User) -> PullRequest:
    """A pull request with one blocking finding."""
    await author.push(repository, "feature", {"app.py": BROKEN}, base="main")
    return await author.open_pull_request(repository, "feature")


async def open_reviewed(story: Story, repository: Repository, author: User) -> PullRequest:
    pull = await open_pull_request(story, repository, author)
    await story.settle()
    assert story.check(repository, pull.head_sha).conclusion == "failure"
    assert len(story.comments(pull)) == 1
    return pull


def installation(story: Story) -> Installation:
    [found] = story.github.world.installations.values()
    return found


def mirrors(story: Story) -> set[int]:
    """The repositories of which code is kept."""
    folder: Path = story.forge.settings.data_dir / "mirrors"
    return {int(each.stem) for each in folder.glob("*.git")}


async def count_rows(story: Story, table: type[CheckpointRow] | type[ConfigurationRow]) -> int:
    async with story.forge.services.database.transaction() as session:
        return await session.scalar(select(func.count()).select_from(table)) or 0


def act_on(story: Story, act: Callable[[], object], when: str) -> None:
    async def now() -> None:
        act()

    act_after_write(story, now, said=when)


async def assert_ended(story: Story) -> None:
    """The newest run ended because access was lost: by the news of it, or by what GitHub refused before that came."""
    await story.settle()
    await story.settle()
    run = (await story.runs())[0]
    assert run.state in {"cancelled", "failed"}
    assert run.reason == "access_lost"
    assert run.detail


@pytest.mark.parametrize("when", ["queued", "in_progress"])
@pytest.mark.parametrize("how", ["uninstalled", "removed", "deleted"])
async def test_t_g5_access_is_lost_while_it_reviews(story: Story, how: str, when: str) -> None:
    """The run ends with its reason, nothing is written any more, and nothing of the repository's code is kept."""
    repository, alice = await prepare_repository(story)
    match how:
        case "uninstalled":
            act_on(story, lambda: story.github.uninstall(installation(story)), when)
        case "removed":
            act_on(story, lambda: story.github.remove_from_installation(repository), when)
        case _:
            act_on(story, lambda: story.github.delete(repository), when)
    pull = await open_pull_request(story, repository, alice)
    await assert_ended(story)
    assert story.comments(pull) == []
    assert mirrors(story) == set()
    assert await count_rows(story, ConfigurationRow) == 0
    assert await count_rows(story, CheckpointRow) == 0


async def test_t_g5_only_what_is_lost_is_purged(story: Story) -> None:
    """What runs in other repositories of the installation goes on, with its code."""
    shop, _ = await prepare_repository(story)
    store, alice = await prepare_repository(story, "octo-org/store")
    story.github.remove_from_installation(shop)
    await story.settle()
    assert mirrors(story) == {store.id}
    async with story.forge.services.database.transaction() as session:
        scopes = (await session.scalars(select(ConfigurationRow.scope))).all()
    assert {scope.rpartition(" ")[2] for scope in scopes} == {str(store.id)}  # its settings
    assert await count_rows(story, CheckpointRow) == 1
    await open_reviewed(story, store, alice)


async def test_t_g5_a_suspended_installation_keeps_what_it_had(story: Story) -> None:
    """While it is suspended nothing runs; after that it goes on with what was found before."""
    repository, alice = await prepare_repository(story)
    act_on(story, lambda: story.github.suspend(installation(story)), "in_progress")
    pull = await open_pull_request(story, repository, alice)
    await assert_ended(story)
    assert story.comments(pull) == []
    assert await count_rows(story, CheckpointRow) == 1

    story.github.unsuspend(installation(story))
    await alice.comment(pull, "/forge review full")
    await story.settle()
    assert len(story.answers(pull)) == 1
    assert story.check(repository, pull.head_sha).conclusion == "failure"
    assert len(story.comments(pull)) == 1


@pytest.mark.parametrize(("permission", "level"), [("pull_requests", "read"), ("checks", "read")])
async def test_t_g5_a_permission_is_lowered_while_it_reviews(story: Story, permission: str, level: str) -> None:
    """Without comments the verdict is on the check alone, which says why; without the check the run ends."""
    repository, alice = await prepare_repository(story)

    def lower() -> None:
        for each in (installation(story), *story.github.world.tokens.values()):
            each.permissions[permission] = level

    act_on(story, lower, "in_progress")
    pull = await open_pull_request(story, repository, alice)
    await story.settle()
    story.pass_over(pull)
    check = story.check(repository, pull.head_sha)
    if permission == "checks":
        await assert_ended(story)
        assert check.conclusion is None
    else:
        assert check.conclusion == "failure"
        assert "ruff/F821" in (check.summary or "")
        assert "here: grant it in the App's settings on GitHub" in (check.summary or "")


@pytest.mark.parametrize("when", ["queued", "in_progress"])
async def test_t_g6_renamed_while_it_reviews(story: Story, when: str) -> None:
    """GitHub redirects to the repository's id, which is followed; what follows carries the new name."""
    repository, alice = await prepare_repository(story)
    act_on(story, lambda: story.github.rename(repository, "store"), when)
    pull = await open_pull_request(story, repository, alice)
    await story.settle()
    [check] = story.github.check_runs(repository, pull.head_sha, review_texts.CHECK_NAME)
    assert check.conclusion == "failure"
    assert len(story.comments(pull)) == 1
    head = await alice.push(repository, "feature", {"app.py": APP + "\n"})
    await story.settle()
    assert story.check(repository, head).conclusion == "success"
    assert (await story.runs())[0].name == "store"


async def test_t_g6_the_old_name_is_taken_by_another_repository(story: Story) -> None:
    """Another repository under the old name is not written to: the numeric id decides."""
    repository, alice = await prepare_repository(story)

    def replace() -> None:
        story.github.rename(repository, "store")
        story.github.install(story.github.create_repository("octo-org/shop", files={"other.py": "1\n"}))

    act_on(story, replace, "in_progress")
    pull = await open_pull_request(story, repository, alice)
    await assert_ended(story)
    assert first_lines(story.comments(pull)) == snapshot([])
    [other] = [each for each in story.github.world.repositories.values() if each.name == "shop"]
    assert not [each for each in story.github.world.check_runs.values() if each.repository is other]


@pytest.mark.parametrize("when", ["queued", "in_progress"])
async def test_t_g6_transferred_to_who_has_not_installed_it(story: Story, when: str) -> None:
    repository, alice = await prepare_repository(story)
    act_on(story, lambda: story.github.transfer(repository, "new-org"), when)
    pull = await open_pull_request(story, repository, alice)
    await assert_ended(story)
    assert story.comments(pull) == []


async def test_t_g8_a_deleted_comment_stays_deleted(story: Story) -> None:
    """What a person deleted is not said again, neither by a push nor by another review."""
    repository, alice = await prepare_repository(story)
    pull = await open_reviewed(story, repository, alice)
    [comment] = story.comments(pull)
    await alice.delete_comment(comment)
    await alice.push(repository, "feature", {"note.md": "2\n"})
    await story.settle()
    await alice.comment(pull, "/forge help")
    await story.settle()
    [answer] = story.answers(pull)
    await alice.delete_comment(answer)
    await alice.comment(pull, "/forge review full")
    await story.settle()
    assert story.comments(pull) == []
    assert len(story.answers(pull)) == 1
    assert story.check(repository, pull.head_sha).conclusion == "failure"


async def test_t_g8_a_locked_conversation_is_not_stormed(story: Story) -> None:
    """Where GitHub lets nobody comment Forge tries once per thing it has to say; the check still says it."""
    repository, alice = await prepare_repository(story)
    fault = story.github.faults.add(
        kind="before",
        method="POST",
        path=r"/(reviews|comments|replies)$",
        status=403,
        message="Unable to create comment because issue is locked.",
        times=None,
    )
    pull = await open_pull_request(story, repository, alice)
    await story.settle()
    assert posts(story, "/reviews") == 1
    await alice.comment(pull, "/forge help")
    await story.settle()
    assert posts(story, "/comments") == 1
    assert fault.fired == 2
    check = story.check(repository, pull.head_sha)
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert "issue is locked" in (check.summary or "")
    assert "unlock the conversation" in (check.summary or "")
    assert "ruff/F821" in (check.summary or "")
    async with story.forge.services.database.transaction() as session:
        said = await session.scalars(select(DeliveryRow.reason).where(DeliveryRow.event == "issue_comment"))
        assert ["issue is locked" in each for each in said] == [True]


def posts(story: Story, end: str) -> int:
    """How often Forge tried to say something."""

    def is_one(request: RequestInfo) -> bool:
        return request.method == "POST" and request.path.endswith(end)

    return sum(map(is_one, story.github.requests))
