"""T-D3: a process stands still for longer than its lease, in the middle of a run, and goes on."""

import asyncio
import contextlib
import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.process import executors
from memory.process.executors import LEASE, TAKEOVER_PERIOD
from simulator.errors import Moment, RequestInfo
from simulator.state import PullRequest
from tests.databases import Backend
from tests.threats.serving import PATIENCE, ForgeProcess, start_process
from tests.world.processes import conclude

pytestmark = pytest.mark.deep  # a lease is half a minute


@pytest.mark.parametrize("forgotten", [False, True])
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_t_d3_a_frozen_process_that_nobody_replaced_goes_on(
    backend: Backend, forgotten: bool, tmp_path: Path
) -> None:
    async with start_process(backend, tmp_path) as forge:
        pull = await freeze_in_the_middle(forge)
        if forgotten:
            await forget_lease(forge)
        os.kill(forge.pid, signal.SIGCONT)
        await forge.settle()
        assert conclude(forge.github, pull) == "success"
        assert not any('"displaced"' in line for line in forge.said)
        assert any('"lease.taken_up_again"' in line for line in forge.said)


@pytest.mark.parametrize("forgotten", [False, True])
async def test_t_d3_a_frozen_process_whose_work_another_took_writes_nothing_more(
    forgotten: bool, tmp_path: Path
) -> None:
    async with start_process("postgresql", tmp_path) as first:
        other = ForgeProcess(first.github, first.url_of_database, tmp_path, {"FORGE_EXECUTOR_ID": "other"})
        pull = await freeze_in_the_middle(first)
        try:
            await other.start()
            await other.settle()
            assert conclude(first.github, pull) == "success"
            writes: list[str] = []

            async def note(request: RequestInfo, moment: Moment) -> None:
                writes.append(f"{moment} {request.method} {request.path}")

            first.github.on_write(note)
            if forgotten:
                await forget_lease(first)
            os.kill(first.pid, signal.SIGCONT)
            assert await first.wait_for_exit() == os.EX_TEMPFAIL
            await other.settle()
            assert writes == []
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(first.pid, signal.SIGCONT)
            await other.stop()
            await other.database.close()


async def freeze_in_the_middle(forge: ForgeProcess) -> PullRequest:
    """A pull request whose review the process began, before it stood still for longer than its lease."""
    frozen = asyncio.Event()

    async def freeze(request: RequestInfo, moment: Moment) -> None:
        if moment == "after" and request.body.get("status") == "in_progress" and not frozen.is_set():
            os.kill(forge.pid, signal.SIGSTOP)
            frozen.set()

    forge.github.on_write(freeze)
    repository = forge.github.create_repository("octo-org/shop", files={"app.py": "print()\n"})
    forge.github.install(repository)
    alice = forge.github.user("alice")
    forge.github.grant(repository, alice, "write")
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await asyncio.wait_for(frozen.wait(), PATIENCE)
    await asyncio.sleep(LEASE.total_seconds() + 2)
    return pull


async def forget_lease(forge: ForgeProcess) -> None:
    """As a sweep of another process does with one that is gone for a day."""
    await executors.forget(forge.database, "served", datetime.now(UTC) + TAKEOVER_PERIOD)
    assert await executors.find(forge.database, "served") is None
