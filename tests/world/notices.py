"""Who is told of what, and what happens that they are told of."""

from collections.abc import Sequence
from pathlib import Path

from dbos import DBOS

from domain.events import EventType
from domain.notices import TargetState, show_secret
from memory import ledger
from memory.deliveries import notice_targets
from tests.stories.driver import Story
from tests.stories.gate_scenes import GateScene
from tests.world.notice_receiver import NoticeReceiver
from tests.world.waiting import until

PATH = "/forge"


def configure(receiver: NoticeReceiver, more: str = "") -> str:
    """A configuration that names a receiver by its address."""
    return f"notify: [{{url: '{receiver.url}{PATH}'{more}}}]\n"


def define(folder: Path, **targets: str) -> Path:
    """The operator's file of targets."""
    file = folder / "targets.toml"
    file.write_text("".join(f"[{name}]\n{values}\n" for name, values in targets.items()))
    return file


async def find_secret(story: Story, scene: GateScene, receiver: NoticeReceiver) -> str:
    """What `forge notices --secret` prints for the receiver."""
    repository = (await scene.run()).as_run().repository
    return show_secret(story.forge.services.notices.build_target(repository, f"{receiver.url}{PATH}").secret)


async def fail_runs(story: Story, scene: GateScene, number: int, detail: str = "It broke.") -> None:
    """So many runs fail, as the ledger tells it."""
    run = await scene.run()
    for _ in range(number):
        async with story.forge.services.database.transaction() as session:
            told = {"reason": "error", "detail": detail}
            ledger.record(session, run.id, EventType.run_failed, story.clock.now(), payload=told)


async def wait_for_ends(number: int) -> Sequence[str]:
    """Wait until so many notices are over, or more; how they ended, the oldest first."""
    ends: Sequence[str] = ()

    async def look() -> bool:
        nonlocal ends
        found = await DBOS.list_workflows_async(name="notice", status=["SUCCESS"])
        ends = [str(each.output) for each in found]
        return len(ends) >= number

    await until(look, lambda: f"these notices are over: {ends}")
    return ends


async def wait_for_failing(story: Story, number: int) -> Sequence[TargetState]:
    """Wait until so many targets are known to fail."""
    found: Sequence[TargetState] = ()

    async def look() -> bool:
        nonlocal found
        known = await notice_targets.list_all(story.forge.services.database)
        found = [each for each in known if each.problem]
        return len(found) == number

    await until(look, lambda: f"these targets fail: {found}")
    return found
