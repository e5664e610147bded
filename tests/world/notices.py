"""Who is told of what, and what happens that they are told of."""

from collections.abc import Callable, Sequence
from pathlib import Path

from domain.events import EventType
from domain.notices import make_key, show_secret
from memory import ledger
from memory.deliveries import notice_targets, notices
from memory.deliveries.notice_targets import TargetState
from memory.deliveries.notices import StoredNotice
from tests.stories.driver import Story
from tests.stories.gate_scenes import GateScene
from tests.world.notice_receiver import NoticeReceiver, wait_until

PATH = "/forge"


def configure(receiver: NoticeReceiver, more: str = "") -> str:
    """A configuration that names a receiver by its address."""
    return f"notify: {{targets: [{{url: '{receiver.url}{PATH}'{more}}}]}}\n"


def define(folder: Path, **targets: str) -> Path:
    """The operator's file of targets."""
    file = folder / "targets.toml"
    file.write_text("".join(f"[{name}]\n{values}\n" for name, values in targets.items()))
    return file


async def find_key(scene: GateScene, receiver: NoticeReceiver) -> str:
    """By what Forge knows the receiver that the repository names."""
    return make_key((await scene.run()).as_run().repository, f"{receiver.url}{PATH}")


async def find_secret(story: Story, scene: GateScene, receiver: NoticeReceiver) -> str:
    """What `forge notices --secret` prints for the receiver."""
    return show_secret(story.forge.services.notices.make_secret(await find_key(scene, receiver)))


async def fail_runs(story: Story, scene: GateScene, number: int, detail: str = "It broke.") -> None:
    """So many runs fail, as the ledger tells it."""
    run = await scene.run()
    for _ in range(number):
        async with story.forge.services.database.transaction() as session:
            told = {"reason": "error", "detail": detail}
            ledger.record(session, run.id, EventType.run_failed, story.clock.now(), payload=told)


async def list_notices(story: Story) -> Sequence[StoredNotice]:
    """What there is, oldest first."""
    return [*reversed(await notices.list_latest(story.forge.services.database, 1000))]


async def wait_for_states(story: Story, is_right: Callable[[list[str]], bool]) -> Sequence[StoredNotice]:
    """Wait until the states of all notices, oldest first, are as they should be."""
    return await wait_for_notices(story, lambda found: is_right([each.state for each in found]))


async def wait_for_notices(story: Story, is_right: Callable[[Sequence[StoredNotice]], bool]) -> Sequence[StoredNotice]:
    """Wait until all notices, oldest first, are as they should be."""
    found: Sequence[StoredNotice] = ()

    async def look() -> bool:
        nonlocal found
        found = await list_notices(story)
        return is_right(found)

    await wait_until(look, lambda: f"the notices are {[(each.state, each.problem) for each in found]}")
    return found


async def wait_for_failing(story: Story, number: int) -> Sequence[TargetState]:
    """Wait until so many targets are known to fail."""
    found: Sequence[TargetState] = ()

    async def look() -> bool:
        nonlocal found
        found = await notice_targets.list_failing(story.forge.services.database)
        return len(found) == number

    await wait_until(look, lambda: f"these targets fail: {found}")
    return found
