"""Repositories that were lost, or that only a late event calls lost: what is gone is purged, and nothing else."""

import shutil
from datetime import timedelta

from domain.runs.run import RepositoryRef
from memory.reports import lost_repositories, retention
from memory.repositories import configurations, permits, purges
from memory.repositories.configurations import ConfigurationScope
from pipeline.maintenance.retention import Retention
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story

BROKEN = "import os\n\n\ndef main():\n    return missing\n"


async def _open_reviewed(told: Story, repository: Repository, author: User, branch: str = "feature") -> PullRequest:
    await author.push(repository, branch, {f"{branch}.py": BROKEN}, base="main")
    pull = await author.open_pull_request(repository, branch)
    await told.settle()
    assert told.comments(pull)
    return pull


async def _get_state(told: Story, repository: Repository) -> tuple[bool, bool]:
    """Whether it is paused, and whether its mirror is there."""
    services = told.forge.services
    where = RepositoryRef(installation_id=0, id=repository.id, owner=repository.owner.login, name=repository.name)
    paused = await permits.find_pauser(services.database, where)
    return paused is not None, services.mirrors.path(repository.id).exists()


async def _pause(told: Story, repository: Repository, pull: PullRequest, who: User) -> None:
    told.github.grant(repository, who, "admin")
    await who.comment(pull, "/forge pause")
    await told.settle()
    assert told.answers(pull)
    assert await _get_state(told, repository) == (True, True)


async def test_t_g10_a_transferred_repository_is_its_new_owners(told: Story) -> None:
    forge_yml = "review: {never_send: [secrets/**]}\n"
    repository, alice = told.repository({"README.md": "# Shop\n", ".github/forge.yml": forge_yml})
    await _open_reviewed(told, repository, alice)
    [theirs] = told.github.world.installations.values()
    other = told.github.create_repository("mill/corn", files={"README.md": "# Corn\n"})
    told.github.install(other)
    told.github.transfer(repository, "mill")
    again = await _open_reviewed(told, repository, alice, "more")
    await _pause(told, repository, again, told.github.user("mia"))

    told.github.uninstall(theirs)
    await told.settle()
    assert await _get_state(told, repository) == (True, True)
    services = told.forge.services
    assert await lost_repositories.list_runs(services.database, [repository.id])
    assert await purges.list_purged(services.database) == []
    scope = ConfigurationScope(f"repository {repository.id}", 0, is_organisation=False)
    assert await configurations.find_last_valid(services.database, scope) is not None


async def test_t_g10_a_late_removal_of_what_was_added_again_purges_nothing(told: Story) -> None:
    repository, alice = told.repository({"README.md": "# Shop\n"})
    pull = await _open_reviewed(told, repository, alice)
    await _pause(told, repository, pull, told.github.user("mia"))
    told.github.hooks.hold()
    told.github.remove_from_installation(repository)
    told.github.install(repository)
    told.github.hooks.release()
    await told.settle()
    assert await _get_state(told, repository) == (True, True)

    told.github.remove_from_installation(repository)
    await told.settle()
    assert await _get_state(told, repository) == (False, False)
    assert await purges.list_purged(told.forge.services.database) == [repository.id]
    told.github.install(repository)
    await _open_reviewed(told, repository, alice, "again")
    assert await purges.list_purged(told.forge.services.database) == []


async def test_t_g10_each_machine_removes_its_own_copies(told: Story) -> None:
    """The folder that is put back stands for what another machine keeps below its own FORGE_DATA_DIR."""
    repository, alice = told.repository({"README.md": "# Shop\n"})
    await _open_reviewed(told, repository, alice)
    services = told.forge.services
    mirror = services.mirrors.path(repository.id)
    shutil.copytree(mirror, told.forge.settings.data_dir / "elsewhere")
    [installation] = told.github.world.installations.values()
    told.github.uninstall(installation)
    await told.settle()
    assert not mirror.exists()
    shutil.copytree(told.forge.settings.data_dir / "elsewhere", mirror)

    await Retention(services).sweep()
    assert not mirror.exists()
    await retention.remove(services.database, {}, told.clock.now() + timedelta(days=61))
    assert await purges.list_purged(services.database) == []
