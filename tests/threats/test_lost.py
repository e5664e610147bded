"""Repositories that were lost, or that only a late event calls lost: what is gone is purged, and nothing else."""

import shutil
from datetime import timedelta

from domain.runs.run import RepositoryRef
from memory.reports import retention
from memory.repositories import addresses, configurations, permits
from memory.repositories.configurations import ConfigurationScope
from pipeline.maintenance.retention import Retention
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story

BROKEN = "import os\n\n\ndef main():\n    return missing\n"


async def _open_reviewed(story: Story, repository: Repository, author: User, branch: str = "feature") -> PullRequest:
    pull, _ = await story.propose(repository, author, {f"{branch}.py": BROKEN}, branch)
    assert story.comments(pull)
    return pull


async def _get_state(story: Story, repository: Repository) -> tuple[bool, bool]:
    """Whether it is paused, and whether its mirror is there."""
    services = story.forge.services
    where = RepositoryRef(installation_id=0, id=repository.id, owner=repository.owner.login, name=repository.name)
    paused = await permits.find_pauser(services.database, where)
    return paused is not None, services.mirrors.path(repository.id).exists()


async def _pause(story: Story, repository: Repository, pull: PullRequest, who: User) -> None:
    story.github.grant(repository, who, "admin")
    await who.comment(pull, "/forge pause")
    await story.settle()
    assert story.answers(pull)
    assert await _get_state(story, repository) == (True, True)


async def test_t_g10_a_transferred_repository_is_its_new_owners(story: Story) -> None:
    forge_yml = "review: {never_send: [secrets/**]}\n"
    repository, alice = story.repository({"README.md": "# Shop\n", ".github/forge.yml": forge_yml})
    await _open_reviewed(story, repository, alice)
    [theirs] = story.github.world.installations.values()
    other = story.github.create_repository("mill/corn", files={"README.md": "# Corn\n"})
    story.github.install(other)
    story.github.transfer(repository, "mill")
    again = await _open_reviewed(story, repository, alice, "more")
    await _pause(story, repository, again, story.github.user("mia"))

    story.github.uninstall(theirs)
    await story.settle()
    assert await _get_state(story, repository) == (True, True)
    services = story.forge.services
    assert await retention.list_lost_runs(services.database, [repository.id])
    assert await addresses.list_purged(services.database) == []
    scope = ConfigurationScope(f"repository {repository.id}", 0, is_organisation=False)
    assert await configurations.find_last_valid(services.database, scope) is not None


async def test_t_g10_a_late_removal_of_what_was_added_again_purges_nothing(story: Story) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n"})
    pull = await _open_reviewed(story, repository, alice)
    await _pause(story, repository, pull, story.github.user("mia"))
    story.github.hooks.hold()
    story.github.remove_from_installation(repository)
    story.github.install(repository)
    story.github.hooks.release()
    await story.settle()
    assert await _get_state(story, repository) == (True, True)

    story.github.remove_from_installation(repository)
    await story.settle()
    assert await _get_state(story, repository) == (False, False)
    assert await addresses.list_purged(story.forge.services.database) == [repository.id]
    story.github.install(repository)
    await _open_reviewed(story, repository, alice, "again")
    assert await addresses.list_purged(story.forge.services.database) == []


async def test_t_g10_each_machine_removes_its_own_copies(story: Story) -> None:
    """The folder that is put back stands for what another machine keeps below its own FORGE_DATA_DIR."""
    repository, alice = story.repository({"README.md": "# Shop\n"})
    await _open_reviewed(story, repository, alice)
    services = story.forge.services
    mirror = services.mirrors.path(repository.id)
    shutil.copytree(mirror, story.forge.settings.data_dir / "elsewhere")
    [installation] = story.github.world.installations.values()
    story.github.uninstall(installation)
    await story.settle()
    assert not mirror.exists()
    shutil.copytree(story.forge.settings.data_dir / "elsewhere", mirror)

    await Retention(services).sweep()
    assert not mirror.exists()
    await retention.remove(services.database, {}, story.clock.now() + timedelta(days=61))
    assert await addresses.list_purged(services.database) == []
