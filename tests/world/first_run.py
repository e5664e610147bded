"""Plays the first run of a whole Forge in a browser: a real process, the simulated GitHub, and a person."""

import asyncio
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from playwright.async_api import Page

from simulator import Simulator
from simulator.state import Repository
from tests.provider import KEY

_ADDRESS = re.compile(r"https?://\S+/setup\S*")
_PATIENCE = 120.0  # seconds for a loaded machine
FLAW = {"shop.py": "import subprocess\n\n\ndef run(text):\n    return subprocess.run(text, shell=True)\n"}


def find_port() -> int:
    """A port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class ServedForge:
    """A process of Forge, and what it printed.

    :param folder: where it runs; its data and its database are there.
    """

    process: Process
    folder: Path
    port: int
    printed: list[str] = field(default_factory=list[str])
    _reading: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """All it printed so far."""
        return "".join(self.printed)

    def keep_reading(self) -> None:
        """Read what it prints until it ends."""

        async def read() -> None:
            assert self.process.stderr is not None
            while line := await self.process.stderr.readline():
                self.printed.append(line.decode(errors="replace"))

        self._reading = asyncio.create_task(read())

    async def wait_for_address(self, number: int = 1) -> str:
        """The address that it printed for the set-up, the number-th one."""
        for _ in range(int(_PATIENCE / 0.05)):
            if len(found := _ADDRESS.findall(self.log)) >= number:
                return found[number - 1]
            if self.process.returncode is not None:
                break
            await asyncio.sleep(0.05)
        raise AssertionError(f"it printed no address: {self.log}")

    async def wait_until_ready(self) -> None:
        """Wait until it serves."""
        async with httpx2.AsyncClient() as client:
            for _ in range(int(_PATIENCE / 0.1)):
                try:
                    if (await client.get(f"{self.url}/readyz")).status_code == 200:
                        return
                except httpx2.TransportError:
                    pass
                await asyncio.sleep(0.1)
        raise AssertionError(f"it does not serve: {self.log}")

    async def stop(self) -> int:
        """End it, and return its exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(self.process.wait(), _PATIENCE)
        if self._reading is not None:
            await self._reading
        return code


@asynccontextmanager
async def run_forge(
    folder: Path, *command: str, settings: Mapping[str, str] | None = None, port: int = 0
) -> AsyncGenerator[ServedForge]:
    """A command of Forge in a process of its own; it ends with the block.

    :param settings: of its environment, beside those that every test needs.
    :param port: 0: a free one.
    """
    folder.mkdir(exist_ok=True)
    port = port or find_port()
    kept = {name: value for name, value in os.environ.items() if not re.match("FORGE_|ANTHROPIC_|OPENAI_|TEST_", name)}
    environment = {
        **kept,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "FORGE_PORT": str(port),
        "FORGE_QUEUE_POLLING": "0.5",
        "FORGE_WRITE_INTERVAL": "0",
        **(settings or {}),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *command, cwd=folder, env=environment, stderr=PIPE
    )
    served = ServedForge(process, folder, port)
    served.keep_reading()
    try:
        yield served
    except Exception as error:
        error.add_note(f"Forge printed:\n{served.log}")
        raise
    finally:
        await served.stop()


async def press(page: Page, label: str) -> None:
    """Press the button whose label has these words."""
    await page.get_by_role("button", name=label).click()


async def begin(page: Page, address: str) -> None:
    """Open the printed address, and begin."""
    await page.goto(address)
    await press(page, "Begin")


async def choose(page: Page, **fields: str) -> None:
    """Fill in the form of the App, and send it; a relay is chosen where one is given."""
    if "relay" in fields:
        await page.check("#by-relay")
    for name, value in fields.items():
        await page.fill(f"#{name}", value)
    await press(page, "Continue")


async def confirm_on_github(page: Page) -> None:
    """Go to GitHub, and register the App there."""
    await press(page, "Continue on")
    await press(page, "Create GitHub App for")


async def give_key(page: Page, key: str = KEY) -> None:
    """Give the key of a model."""
    await page.fill("#key", key)
    await press(page, "Check and store the key")


async def finish(page: Page) -> None:
    """Look at the checks, and finish."""
    await press(page, "Finish, and start Forge")


async def install(page: Page, repository: Repository) -> None:
    """Follow the link to GitHub, and install the App on a repository."""
    await page.get_by_role("link", name="Install the App on repositories").click()
    await page.get_by_label(repository.full_name).check()
    await press(page, "Install")


async def wait_for_review(github: Simulator, repository: Repository, sha: str) -> str:
    """How Forge's check of this head ended."""
    for _ in range(int(_PATIENCE / 0.1)):
        found = [run for run in github.check_runs(repository, sha, "Forge / review") if run.conclusion]
        if found:
            return str(found[-1].conclusion)
        await asyncio.sleep(0.1)
    raise AssertionError("there is no review")
