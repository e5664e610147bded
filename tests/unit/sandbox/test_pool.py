"""The warm workers: what they may do, and what happens when one goes wrong."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from domain.errors import ToolError
from workspace.pool import WorkerLimits, WorkerPool

MODULE = "tests.unit.sandbox.jobs_for_tests"


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool(MODULE, size=2, limits=WorkerLimits(memory=512 << 20, message=1 << 20)) as started:
        yield started


async def described(pool: WorkerPool) -> dict[str, object]:
    answer = await pool.call("describe", None, 5)
    assert isinstance(answer, dict)
    return dict(answer)


async def test_a_worker_has_no_rights_and_no_secrets(pool: WorkerPool) -> None:
    worker = await described(pool)
    assert worker["environment"] == {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": pool_folder(worker)}
    assert worker["folder"] == []
    assert worker["no_new_privileges"]
    if os.geteuid() == 0:
        assert worker["uid"] != 0
        assert worker["groups"] == 0


def pool_folder(worker: dict[str, object]) -> str:
    return str(cast(dict[str, object], worker["environment"])["HOME"])


@pytest.mark.parametrize(("job", "request_"), [("fork", None), ("write", None), ("fail", "secret-text")])
async def test_what_it_may_not_do_is_an_error_of_that_job_only(
    pool: WorkerPool, job: str, request_: str | None
) -> None:
    first = {(await described(pool))["pid"], (await described(pool))["pid"]}
    with pytest.raises(ToolError) as error:
        await pool.call(job, request_, 5)
    assert "secret-text" not in str(error.value)
    assert (await described(pool))["pid"] in first


@pytest.mark.parametrize(
    ("job", "request_", "said"),
    [
        ("sleep", 60, "did not finish"),
        ("spin", None, "did not finish"),
        ("die", None, "crashed"),
        ("babble", None, "crashed"),
        ("fill", 1 << 31, "crashed"),
    ],
)
async def test_a_worker_that_goes_wrong_is_replaced(
    pool: WorkerPool, job: str, request_: int | None, said: str
) -> None:
    before = {(await described(pool))["pid"] for _ in range(4)}
    with pytest.raises(ToolError, match=said):
        await pool.call(job, request_, 0.5)
    after = set[object]()
    for _ in range(100):
        after.add((await described(pool))["pid"])
        if after - before:
            break
        await asyncio.sleep(0.05)
    assert after - before
    alive = [pid for pid in before if isinstance(pid, int) and Path(f"/proc/{pid}").exists()]
    assert len(alive) == len(before) - 1


async def test_the_others_go_on_meanwhile(pool: WorkerPool) -> None:
    hanging = asyncio.create_task(pool.call("sleep", 60, 1.5))
    await asyncio.sleep(0.05)
    started = time.monotonic()
    answers = await asyncio.gather(*(pool.call("say", n, 5) for n in range(20)))
    assert answers == list(range(20))
    assert time.monotonic() - started < 1.4
    with pytest.raises(ToolError):
        await hanging


async def test_printing_does_not_disturb_answers(pool: WorkerPool) -> None:
    assert await pool.call("say", "x" * 1000, 5) == "x" * 1000


async def test_answers_and_requests_are_bounded(pool: WorkerPool) -> None:
    with pytest.raises(ToolError, match="too much"):
        await pool.call("say", "x" * (2 << 20), 5)


async def test_a_cancelled_call_leaves_no_answer_behind(pool: WorkerPool) -> None:
    calls = [asyncio.create_task(pool.call("sleep", 0.3, 5)) for _ in range(2)]
    await asyncio.sleep(0.1)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert await asyncio.gather(*(pool.call("say", n, 5) for n in range(6))) == list(range(6))


async def test_a_worker_is_renewed_after_its_share_of_requests() -> None:
    async with WorkerPool(MODULE, size=1, limits=WorkerLimits(requests=3)) as pool:
        pids = [(await described(pool))["pid"] for _ in range(7)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]


async def test_nothing_is_left_after_closing() -> None:
    async with WorkerPool(MODULE, size=2) as pool:
        worker = await described(pool)
        folder = pool_folder(worker)
    assert not Path(folder).exists()
    assert not Path(f"/proc/{worker['pid']}").exists()


async def test_a_module_that_cannot_be_imported_is_said_at_the_start() -> None:
    with pytest.raises(ToolError, match="ModuleNotFoundError"):
        async with WorkerPool("no.such.module"):
            pass


def test_workers_die_with_their_parent() -> None:
    script = f"""
import asyncio
from workspace.pool import WorkerPool
async def main():
    async with WorkerPool({MODULE!r}, size=1) as pool:
        worker = await pool.call("describe", None, 5)
        print(worker["pid"], worker["environment"]["HOME"], flush=True)
        asyncio.create_task(pool.call("spin", None, 600))
        await asyncio.sleep(600)
asyncio.run(main())
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    assert parent.stdout is not None
    number, folder = parent.stdout.readline().split()
    pid = int(number)
    time.sleep(0.3)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 3
    while Path(f"/proc/{pid}").exists() and _is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(pid)
    Path(folder).rmdir()


def _is_running(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
