"""A process dies by ``kill -9`` while it tells somebody something: another one tells it again, under the same id."""

import asyncio
import os
import sys
from pathlib import Path

from simulator import Simulator
from tests.clock import MovableClock
from tests.databases import create_database
from tests.stories.driver import SECRET, run_forge
from tests.stories.gate_scenes import open_scene
from tests.world.notice_receiver import run_receiver
from tests.world.notices import configure, fail_runs, wait_for_ends


async def test_what_was_on_its_way_is_told_again(tmp_path: Path) -> None:
    clock, url = MovableClock(), create_database("sqlite", tmp_path)
    async with (
        Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github,
        run_receiver() as receiver,
    ):
        async with run_forge(github, clock, url, tmp_path) as story:
            scene = await open_scene(story, configuration=configure(receiver))
            await receiver.wait(1)
            await wait_for_ends(1)
            receiver.is_mute = True
            await fail_runs(story, scene, 1)
            story.pass_over(scene.pull)
            await receiver.wait_for_attempts(2)
        before = len(receiver.heard)

        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("FORGE_")},
            "FORGE_GITHUB_API_URL": github.api_url,
            "FORGE_GITHUB_WEB_URL": github.url,
            "FORGE_APP_ID": str(github.app.id),
            "FORGE_PRIVATE_KEY": github.app.private_key_pem,
            "FORGE_WEBHOOK_SECRET": SECRET,
            "FORGE_DATABASE_URL": url,
            "FORGE_DATA_DIR": str(tmp_path / "data"),
            "FORGE_OUTBOUND_ALLOW": "127.0.0.0/8",
            "FORGE_PORT": "0",
            "FORGE_SANDBOX": "none",
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "serve"), env=environment, stderr=asyncio.subprocess.DEVNULL
        )
        await receiver.wait_for_attempts(before + 1)  # the next is on its way when this one dies
        process.kill()
        await process.wait()

        receiver.is_mute = False
        clock.move(minutes=30)  # the lease of the process that died is over, and so is the pause
        async with run_forge(github, clock, url, tmp_path) as story:
            await receiver.wait(2)
            scene.told = story
            await fail_runs(story, scene, 1)
            await receiver.wait(3)
            assert await wait_for_ends(3) == ["sent"] * 3
            story.pass_over(scene.pull)
        assert receiver.types == ["gate.opened", "run.failed", "run.failed"]
        _, *ids, last = [each.id for each in receiver.heard]
        assert len({*ids}) == 1
        assert last not in ids
        assert len(ids) == before + 1
        assert len({each.body for each in receiver.heard[1:-1]}) == 1
