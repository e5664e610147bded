"""Runs commands of Forge as processes of their own, as operators do, against a simulated GitHub."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from messages import review as review_texts
from simulator import Simulator
from simulator.state import PullRequest
from tests.stories.driver import SECRET

PATIENCE = 90.0  # seconds in which a process starts or ends, on a machine that has other things to do
ROOT = Path(__file__).parents[2]


def conclude(github: Simulator, pull: PullRequest) -> str | None:
    """The conclusion of the one review of a pull request; None while it goes on."""
    [check] = github.check_runs(pull.repository, pull.head_sha, review_texts.CHECK_NAME)
    return check.conclusion


def build_environment(github: Simulator, url: str, folder: Path, **more: str) -> dict[str, str]:
    """The settings of a process that works.

    :param more: further settings, without ``FORGE_``, in small letters; an empty one is left out.
    """
    settings = {
        "FORGE_GITHUB_API_URL": github.api_url,
        "FORGE_GITHUB_WEB_URL": github.url,
        "FORGE_APP_ID": str(github.app.id),
        "FORGE_PRIVATE_KEY": github.app.private_key_pem,
        "FORGE_WEBHOOK_SECRET": SECRET,
        "FORGE_DATABASE_URL": url,
        "FORGE_DATA_DIR": str(folder / "data"),
        "FORGE_PORT": "0",
        "FORGE_LOG_FORMAT": "json",
        "FORGE_WRITE_INTERVAL": "0",
        "FORGE_QUEUE_POLLING": "0.3",
        "FORGE_TOOL_WORKERS": "1",
        "FORGE_REFLECTION": "false",
        **{f"FORGE_{name.upper()}": value for name, value in more.items()},
    }
    outside = {name: value for name, value in os.environ.items() if not name.startswith("FORGE_")}
    given = {name: value for name, value in settings.items() if value}
    return {**outside, **given}


class ServedProcess:
    """A command of Forge that runs until it is stopped, and the lines it logged."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.said: list[str] = []
        self._changed = asyncio.Event()
        self._log = asyncio.create_task(self._listen())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it logged, and what its own processes did."""
        return [json.loads(line) for line in self.said if line.startswith("{")]

    async def wait_for_event(self, event: str, count: int = 1) -> dict[str, Any]:
        """The ``count``-th line of this event.

        :raises AssertionError: it ended before, or does not say so in time.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                found = [each for each in self.events if each["event"] == event]
                if len(found) >= count:
                    return found[count - 1]
                assert not self._log.done(), f"it ended: {''.join(self.said)[-3000:]}"
                self._changed.clear()
                await self._changed.wait()

    async def get(self, path: str, port: int) -> tuple[int, str]:
        """What it answers to a request."""
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/{path}") as answer:
            return answer.status, await answer.text()

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def wait_for_end(self) -> int:
        """Its exit code."""
        async with asyncio.timeout(PATIENCE):
            code = await self._process.wait()
            await self._log
            return code

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.said.append(line.decode())
            self._changed.set()
        self._changed.set()


@asynccontextmanager
async def run_command(
    environment: Mapping[str, str],
    folder: Path,
    *command: str,
    prepare: Callable[[], None] | None = None,
    source: Path = ROOT,
) -> AsyncGenerator[ServedProcess]:
    """``forge COMMAND`` in this folder, which is stopped in the end.

    :param prepare: called in the new process before it becomes Forge.
    :param source: the tree whose Forge runs.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", *command),
        env={**environment, "PYTHONPATH": str(source)},
        cwd=folder,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=prepare,
    )
    running = ServedProcess(process)
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            if process.returncode is None:
                running.send(signal.SIGTERM)
        try:
            await running.wait_for_end()
        except TimeoutError:
            running.send(signal.SIGKILL)
            await running.wait_for_end()
