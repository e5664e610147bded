"""What GitHub says of an installation and of a whole repository, and how it refuses issues where there are none."""

import pytest

from domain.errors import NotFound
from domain.github.installations import InstallationState, RepositoryTraits
from tests.contract.stage import Stage


async def test_what_an_owner_granted(stage: Stage) -> None:
    installation = stage.sim.world.installation_of(stage.shelf)
    assert installation is not None
    installation.permissions["issues"] = "read"
    granted = await stage.host.installation_permissions(installation.id)
    assert granted["issues"] == "read"
    with pytest.raises(NotFound):
        await stage.host.installation_permissions(999_999)


async def test_whether_an_installation_is_there(stage: Stage) -> None:
    installation = stage.sim.world.installation_of(stage.shelf)
    assert installation is not None
    assert await stage.host.installation_state(installation.id) is InstallationState.active
    stage.sim.suspend(installation)
    assert await stage.host.installation_state(installation.id) is InstallationState.suspended
    stage.sim.uninstall(installation)
    assert await stage.host.installation_state(installation.id) is InstallationState.gone


async def test_a_repository_as_a_whole(stage: Stage) -> None:
    assert await stage.host.traits(stage.repository) == RepositoryTraits(default_branch="main")
    stage.shelf.archived, stage.shelf.has_issues = True, False
    shown = await stage.host.traits(stage.repository)
    assert (shown.is_archived, shown.has_issues, shown.has_commits) == (True, False, True)
    with pytest.raises(NotFound, match="Issues has been disabled"):
        await stage.host.create_issue(stage.repository, "Hello", "World", [])


async def test_a_repository_without_a_commit(stage: Stage) -> None:
    empty = stage.sim.create_repository("octo-org/empty", commits=[])
    installation = stage.sim.install(empty)
    repository = stage.repository.model_copy(
        update={"installation_id": installation.id, "id": empty.id, "owner": "octo-org", "name": "empty"}
    )
    assert not (await stage.host.traits(repository)).has_commits
    assert await stage.host.file_content(repository, ".github/forge.yml") is None
