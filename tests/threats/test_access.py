"""T-G5, T-G6 and T-G8 (docs/threats.md): access is lost, names change, and people undo or stop what Forge says."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import func, select

from memory.db.tables.deliveries import DeliveryRow
from memory.db.tables.repositories import ConfigurationRow
from memory.db.tables.runs import CheckpointRow
from messages import review as review_texts
from simulator import User
from simulator.faults import RequestInfo
from simulator.state import Installation, PullRequest, Repository
from tests.stories.driver import Story
from tests.threats.meanwhile import act_after_write

CONFIGURATION = "review: {max_comments: 7}\n"
APP = "import os\n\n\ndef main():\n    return os.name\n"
BROKEN = APP.replace("os.name", "os.name + missing")

pytestmark = pytest.mark.parametrize("backend", ["sqlite"])  # nothing here depends on the database


async def prepare_repository(told: Story, name: str = "octo-org/shop") -> tuple[Repository, User]:
    """A repository that was reviewed before, so that there is something of it to lose."""
    repository, alice = told.repository({"app.py": APP, ".github/forge.yml": CONFIGURATION}, name)
    await alice.push(repository, "before", {"note.md": "1\n"}, base="main")
    await alice.open_pull_request(repository, "before")
    await told.settle()
    assert repository.id in mirrors(told)
    return repository, alice


async def open_pull_request(told: Story, repository: Repository, author: User) -> PullRequest:
    """A pull request with one blocking finding."""
    await author.push(repository, "feature", {"app.py": BROKEN}, base="main")
    return await author.open_pull_request(repository, "feature")


async def open_reviewed(told: Story, repository: Repository, author: User) -> PullRequest:
    pull = await open_pull_request(told, repository, author)
    await told.settle()
    assert told.check(repository, pull.head_sha).conclusion == "failure"
    assert len(told.comments(pull)) == 1
    return pull


def installation(told: Story) -> Installation:
    [found] = told.github.world.installations.values()
    return found


def mirrors(told: Story) -> set[int]:
    """The repositories of which code is kept."""
    folder: Path = told.forge.settings.data_dir / "mirrors"
    return {int(each.stem) for each in folder.glob("*.git")}


async def count_rows(told: Story, table: type[CheckpointRow] | type[ConfigurationRow]) -> int:
    async with told.forge.services.database.transaction() as session:
        return await session.scalar(select(func.count()).select_from(table)) or 0


def act_on(told: Story, act: Callable[[], object], when: str) -> None:
    async def now() -> None:
        act()

    act_after_write(told, now, said=when)


async def assert_ended(told: Story) -> None:
    """The newest run ended because access was lost: by the news of it, or by what GitHub refused before that came."""
    await told.settle()
    await told.settle()
    run = (await told.runs())[0]
    assert run.state in {"cancelled", "failed"}
    assert run.reason == "access_lost"
    assert run.detail


@pytest.mark.parametrize("when", ["queued", "in_progress"])
@pytest.mark.parametrize("how", ["uninstalled", "removed", "deleted"])
async def test_t_g5_access_is_lost_while_it_reviews(told: Story, how: str, when: str) -> None:
    """The run ends with its reason, nothing is written any more, and nothing of the repository's code is kept."""
    repository, alice = await prepare_repository(told)
    match how:
        case "uninstalled":
            act_on(told, lambda: told.github.uninstall(installation(told)), when)
        case "removed":
            act_on(told, lambda: told.github.remove_from_installation(repository), when)
        case _:
            act_on(told, lambda: told.github.delete(repository), when)
    pull = await open_pull_request(told, repository, alice)
    await assert_ended(told)
    assert told.comments(pull) == []
    assert mirrors(told) == set()
    assert await count_rows(told, ConfigurationRow) == 0
    assert await count_rows(told, CheckpointRow) == 0


async def test_t_g5_only_what_is_lost_is_purged(told: Story) -> None:
    """What runs in other repositories of the installation goes on, with its code."""
    shop, _ = await prepare_repository(told)
    store, alice = await prepare_repository(told, "octo-org/store")
    told.github.remove_from_installation(shop)
    await told.settle()
    assert mirrors(told) == {store.id}
    async with told.forge.services.database.transaction() as session:
        scopes = (await session.scalars(select(ConfigurationRow.scope))).all()
    assert {scope.rpartition(" ")[2] for scope in scopes} == {str(store.id)}  # its settings, and its memory file
    assert await count_rows(told, CheckpointRow) == 1
    await open_reviewed(told, store, alice)


async def test_t_g5_a_suspended_installation_keeps_what_it_had(told: Story) -> None:
    """While it is suspended nothing runs; after that it goes on with what was found before."""
    repository, alice = await prepare_repository(told)
    act_on(told, lambda: told.github.suspend(installation(told)), "in_progress")
    pull = await open_pull_request(told, repository, alice)
    await assert_ended(told)
    assert told.comments(pull) == []
    assert await count_rows(told, CheckpointRow) == 1

    told.github.unsuspend(installation(told))
    await alice.comment(pull, "/forge review full")
    await told.settle()
    assert len(told.answers(pull)) == 1
    assert told.check(repository, pull.head_sha).conclusion == "failure"
    assert len(told.comments(pull)) == 1


@pytest.mark.parametrize(("permission", "level"), [("pull_requests", "read"), ("checks", "read")])
async def test_t_g5_a_permission_is_lowered_while_it_reviews(told: Story, permission: str, level: str) -> None:
    """Without comments the verdict is on the check alone, which says why; without the check the run ends."""
    repository, alice = await prepare_repository(told)

    def lower() -> None:
        for each in (installation(told), *told.github.world.tokens.values()):
            each.permissions[permission] = level

    act_on(told, lower, "in_progress")
    pull = await open_pull_request(told, repository, alice)
    await told.settle()
    told.reviews(pull)
    check = told.check(repository, pull.head_sha)
    if permission == "checks":
        await assert_ended(told)
        assert check.conclusion is None
    else:
        assert check.conclusion == "failure"
        assert "ruff/F821" in (check.summary or "")
        assert "Check the App's permissions and whether the owner accepted them." in (check.summary or "")


@pytest.mark.parametrize("when", ["queued", "in_progress"])
async def test_t_g6_renamed_while_it_reviews(told: Story, when: str) -> None:
    """GitHub redirects to the repository's id, which is followed; what follows carries the new name."""
    repository, alice = await prepare_repository(told)
    act_on(told, lambda: told.github.rename(repository, "store"), when)
    pull = await open_pull_request(told, repository, alice)
    await told.settle()
    [check] = told.github.check_runs(repository, pull.head_sha, review_texts.CHECK_NAME)
    assert check.conclusion == "failure"
    assert len(told.comments(pull)) == 1
    head = await alice.push(repository, "feature", {"app.py": APP + "\n"})
    await told.settle()
    assert told.check(repository, head).conclusion == "success"
    assert (await told.runs())[0].name == "store"


async def test_t_g6_the_old_name_is_taken_by_another_repository(told: Story) -> None:
    """Another repository under the old name is not written to: the numeric id decides."""
    repository, alice = await prepare_repository(told)

    def replace() -> None:
        told.github.rename(repository, "store")
        told.github.install(told.github.create_repository("octo-org/shop", files={"other.py": "1\n"}))

    act_on(told, replace, "in_progress")
    pull = await open_pull_request(told, repository, alice)
    await assert_ended(told)
    told.comments(pull)
    [other] = [each for each in told.github.world.repositories.values() if each.name == "shop"]
    assert not [each for each in told.github.world.check_runs.values() if each.repository is other]


@pytest.mark.parametrize("when", ["queued", "in_progress"])
async def test_t_g6_transferred_to_who_has_not_installed_it(told: Story, when: str) -> None:
    repository, alice = await prepare_repository(told)
    act_on(told, lambda: told.github.transfer(repository, "new-org"), when)
    pull = await open_pull_request(told, repository, alice)
    await assert_ended(told)
    assert told.comments(pull) == []


async def test_t_g8_a_deleted_comment_stays_deleted(told: Story) -> None:
    """What a person deleted is not said again, neither by a push nor by another review."""
    repository, alice = await prepare_repository(told)
    pull = await open_reviewed(told, repository, alice)
    [comment] = told.comments(pull)
    await alice.delete_comment(comment)
    await alice.push(repository, "feature", {"note.md": "2\n"})
    await told.settle()
    await alice.comment(pull, "/forge help")
    await told.settle()
    [answer] = told.answers(pull)
    await alice.delete_comment(answer)
    await alice.comment(pull, "/forge review full")
    await told.settle()
    assert told.comments(pull) == []
    assert len(told.answers(pull)) == 1
    assert told.check(repository, pull.head_sha).conclusion == "failure"


async def test_t_g8_a_locked_conversation_is_not_stormed(told: Story) -> None:
    """Where GitHub lets nobody comment Forge tries once per thing it has to say; the check still says it."""
    repository, alice = await prepare_repository(told)
    fault = told.github.faults.add(
        kind="before",
        method="POST",
        path=r"/(reviews|comments|replies)$",
        status=403,
        message="Unable to create comment because issue is locked.",
        times=None,
    )
    pull = await open_pull_request(told, repository, alice)
    await told.settle()
    assert posts(told, "/reviews") == 1
    await alice.comment(pull, "/forge help")
    await told.settle()
    assert posts(told, "/comments") == 1
    assert fault.fired == 2
    check = told.check(repository, pull.head_sha)
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert "issue is locked" in (check.summary or "")
    assert "unlock the conversation" in (check.summary or "")
    assert "ruff/F821" in (check.summary or "")
    async with told.forge.services.database.transaction() as session:
        said = await session.scalars(select(DeliveryRow.reason).where(DeliveryRow.event == "issue_comment"))
        assert ["issue is locked" in each for each in said] == [True]


def posts(told: Story, end: str) -> int:
    """How often Forge tried to say something."""

    def is_one(request: RequestInfo) -> bool:
        return request.method == "POST" and request.path.endswith(end)

    return sum(map(is_one, told.github.requests))
