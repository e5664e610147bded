"""Somebody who follows the pages at the terminal of a clean machine, and looks whether what they say is so."""

import asyncio
import sys
import time
from collections.abc import Mapping

import httpx2

from simulator import Simulator
from tests.install.known import BLOCKS
from tests.install.machine import CleanMachine
from tests.install.page import find_block
from tests.world.first_run import FLAW, wait_for_review

FORGE = "http://127.0.0.1:3000"
"""Where Forge listens on the machine, whose network is ours."""
_AT = "/var/tmp/reader.at"


class BrokenPromiseError(Exception):
    """A page says what is not so."""


class Reader:
    """Follows blocks on a machine.

    :param values: what stands for each placeholder that is filled in.
    """

    def __init__(self, machine: CleanMachine, github: Simulator, values: Mapping[str, str]) -> None:
        self.machine = machine
        self.github = github
        self.values = values
        self._at = "/root"

    async def follow(self, page: str, section: str, number: int = 1) -> str:
        """Type what a block says, in the folder that the block before it led to; what was printed.

        :raises MachineError: a command of it failed.
        """
        block = find_block(page, section, number)
        return await self.type(self.fill(page, section, number), block.name)

    def fill(self, page: str, section: str, number: int = 1) -> str:
        """A block's text with our values."""
        known = BLOCKS[(page, section, number)]
        values = {each: each for each in known.keeps} | {each: self.values[each] for each in known.fills}
        return find_block(page, section, number).fill(values)

    async def type(self, commands: str, title: str, *, stay: bool = False) -> str:
        """Type commands of our own, or of a sentence of a page; what they printed.

        :param stay: the folder stays where it was before them.
        """
        begun = time.monotonic()
        typed = commands if stay else f"{commands}\npwd > {_AT}"
        printed = await asyncio.to_thread(self.machine.run, typed, title=title, at=self._at)
        if not stay:
            self._at = self.machine.read(_AT).strip()
        say(f"  · {title} ({time.monotonic() - begun:.0f} s)")
        return printed

    async def wait_until_ready(self, seconds: float = 120) -> None:
        """Wait until /readyz says 200; /healthz has to say it, too."""
        await self.wait_for_status("/readyz", 200, seconds)
        await self.wait_for_status("/healthz", 200, 5)
        say("  ✓ /readyz and /healthz answer 200")

    async def wait_for_status(self, path: str, status: int, seconds: float) -> None:
        """Wait for an answer of Forge.

        :raises BrokenPromiseError: it did not come.
        """
        ended, seen = time.monotonic() + seconds, "nothing"
        async with httpx2.AsyncClient(timeout=10) as client:
            while time.monotonic() < ended:
                try:
                    answer = await client.get(f"{FORGE}{path}")
                except httpx2.TransportError as error:
                    seen = repr(error)
                else:
                    seen = f"{answer.status_code} {answer.text[:500]}"
                    if answer.status_code == status:
                        return
                await asyncio.sleep(0.3)
        raise BrokenPromiseError(f"{path} did not answer {status} within {seconds:.0f} s, but {seen}")

    async def see_review(self, secret: str) -> None:
        """Open a pull request on the simulated GitHub, and wait for its review.

        :param secret: of the webhooks, as the page made it.
        :raises BrokenPromiseError: it reports nothing.
        """
        self.github.hooks.secret = secret.strip()
        count = len(self.github.world.repositories)
        repository = self.github.create_repository(f"octo-org/shop{count}", {"shop.py": "x = 1\n"})
        alice = self.github.user("alice")
        self.github.grant(repository, alice, "write")
        self.github.install(repository)
        begun = time.monotonic()
        sha = await alice.push(repository, "topic", FLAW, base="main")
        pull = await alice.open_pull_request(repository, "topic", title="Run what is asked")
        verdict = await wait_for_review(self.github, repository, sha)
        comments = self.github.review_comments(pull)
        self.see("the pull request is reviewed", bool(comments), verdict)
        say(f"    {verdict} after {time.monotonic() - begun:.1f} s: {_first(comments[0].body)}")

    def see(self, promise: str, is_kept: bool, shown: str) -> None:
        """Look whether a page is right.

        :param shown: what there is to see, for whom it is not.
        :raises BrokenPromiseError: it is wrong.
        """
        if not is_kept:
            raise BrokenPromiseError(f"not so: {promise}\n{shown[-6000:]}")
        say(f"  ✓ {promise}")

    def see_doctor(self, printed: str, level: int) -> None:
        """Look whether `forge doctor` finds settings, GitHub and the sandbox as the page says."""
        self.see("forge doctor: the settings are complete", "✓ settings: complete" in printed, printed)
        used = f"level {level} " in printed and "is used and refuses 20 of 20 attacks" in printed
        self.see(f"forge doctor: level {level} is used and refuses 20 of 20 attacks", used, printed)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _first(body: str) -> str:
    """The first line that says something, shortened."""
    return next((line for line in body.splitlines() if line.strip() and not line.startswith("<")), "")[:80]
