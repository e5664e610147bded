"""The warm workers: what they may do, and what happens when one goes wrong."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from domain.errors import ToolError
from tests.unit.sandbox import jobs_for_tests as jobs
from tests.unit.sandbox import slow_jobs
from tests.unit.sandbox.machine import has_landlock
from workspace.sandbox.sandbox import LANDLOCK, LIMITS
from workspace.sandbox.worker_pool import WorkerLimits, WorkerPool

needs_landlock = pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")
MODULE = "tests.unit.sandbox.jobs_for_tests"


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool(MODULE, size=2, limits=WorkerLimits(memory=512 << 20, message=1 << 20)) as started:
        yield started


async def describe_worker(pool: WorkerPool) -> dict[str, object]:
    return dict(await pool.call(partial(jobs.describe), 5))


async def test_a_worker_has_no_rights_and_no_secrets(pool: WorkerPool) -> None:
    worker = await describe_worker(pool)
    assert worker["environment"] == {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": pool_folder(worker)}
    assert worker["no_new_privileges"]
    if os.geteuid() == 0:
        assert worker["uid"] != 0
        assert worker["groups"] == 0


def pool_folder(worker: dict[str, object]) -> str:
    return str(cast(dict[str, object], worker["environment"])["HOME"])


async def workers(pool: WorkerPool) -> set[object]:
    return {(await describe_worker(pool))["worker"] for _ in range(4)}


FORBIDDEN: list[partial[object]] = [
    partial(jobs.fork),
    partial(jobs.execute),
    partial(jobs.connect),
    partial(jobs.write),
    partial(jobs.read, "/etc/passwd"),
    partial(jobs.list_folder, "/proc"),
    partial(jobs.kill, os.getpid()),
    partial(jobs.kill_parent),
    partial(jobs.fail, "secret-text"),
]


@pytest.mark.parametrize("job", FORBIDDEN, ids=lambda job: job.func.__name__)
async def test_what_it_may_not_do_is_an_error_of_that_job_only(pool: WorkerPool, job: partial[object]) -> None:
    before = await workers(pool)
    with pytest.raises(ToolError, match="ValueError" if job.func is jobs.fail else "PermissionError") as error:
        await pool.call(job, 5)
    assert "secret-text" not in str(error.value)
    assert await workers(pool) == before


@needs_landlock
async def test_it_is_confined_at_level_2_and_says_so(pool: WorkerPool) -> None:
    assert (pool.level, pool.why_not) == (LANDLOCK, None)
    async with WorkerPool(MODULE, size=1, unconfined="nobody wants it") as bare:
        assert (bare.level, bare.why_not) == (LIMITS, "nobody wants it")
        assert await bare.call(partial(jobs.read, "/etc/passwd"), 5)


async def test_an_encoding_nobody_thought_of_can_still_be_loaded(pool: WorkerPool) -> None:
    assert await pool.call(partial(jobs.encode, "koi8-r"), 5) == "78"


async def test_a_request_sees_nothing_of_an_earlier_one() -> None:
    async with WorkerPool(MODULE, size=1) as pool:
        assert [await pool.call(partial(jobs.remember, text), 5) for text in ("one", "two")] == [[], []]
        first, second = await describe_worker(pool), await describe_worker(pool)
    assert first["pid"] != second["pid"]
    assert first["worker"] == second["worker"]


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (partial(jobs.sleep, 60), "did not finish"),
        (partial(jobs.spin), "did not finish"),
        (partial(jobs.die), "crashed"),
        (partial(jobs.fill, 1 << 31), "crashed"),
    ],
)
async def test_a_request_that_goes_wrong_costs_nobody_else_anything(
    pool: WorkerPool, job: partial[object], said: str
) -> None:
    before = await workers(pool)
    with pytest.raises(ToolError, match=said):
        await pool.call(job, 0.5)
    assert await workers(pool) == before


async def test_a_busy_machine_is_not_what_stops_it(pool: WorkerPool) -> None:
    """Processor time counts; this takes none, as on a machine that works on other things."""
    await pool.call(partial(jobs.sleep, 1), 0.3)


async def test_it_has_no_way_to_speak_to_forge_but_its_answer(pool: WorkerPool) -> None:
    with pytest.raises(ToolError, match="did not finish"):
        await pool.call(partial(jobs.babble), 0.5)
    assert await pool.call(partial(jobs.say, "hello"), 5) == "hello"


async def test_a_worker_that_dies_is_replaced(pool: WorkerPool) -> None:
    before = await workers(pool)
    victim = before.pop()
    assert isinstance(victim, int)
    os.kill(victim, signal.SIGKILL)
    for _ in range(100):
        with contextlib.suppress(ToolError):
            if await workers(pool) - before - {victim}:
                break
        await asyncio.sleep(0.05)
    assert len(await workers(pool) - {victim}) == 2


async def test_the_others_go_on_meanwhile(pool: WorkerPool) -> None:
    hanging = asyncio.create_task(pool.call(partial(jobs.sleep, 60), 0.15))
    await asyncio.sleep(0.05)
    started = time.monotonic()
    answers = await asyncio.gather(*(pool.call(partial(jobs.say, n), 5) for n in range(20)))
    assert answers == list(range(20))
    assert time.monotonic() - started < 1.4
    with pytest.raises(ToolError):
        await hanging


async def test_printing_does_not_disturb_answers(pool: WorkerPool) -> None:
    assert await pool.call(partial(jobs.say, "x" * 1000), 5) == "x" * 1000


async def test_answers_and_requests_are_bounded(pool: WorkerPool) -> None:
    with pytest.raises(ToolError, match="too large"):
        await pool.call(partial(jobs.say, "x" * (2 << 20)), 5)


async def test_bytes_of_any_value_are_arguments(pool: WorkerPool) -> None:
    data = bytes(range(256))
    assert await pool.call(partial(jobs.reverse, data), 5) == list(reversed(data))


async def test_what_it_answers_is_what_the_job_says_it_returns(pool: WorkerPool) -> None:
    """A parser that somebody took over says what it likes."""
    with pytest.raises(ToolError, match="not expected") as error:
        await pool.call(partial(jobs.lie), 5)
    assert "secret-text" not in str(error.value)


async def test_what_a_job_refuses_it_says_itself(pool: WorkerPool) -> None:
    with pytest.raises(ToolError, match=r"^It is too large\.$"):
        await pool.call(partial(jobs.refuse, "It is too large."), 5)


async def test_a_cancelled_call_leaves_no_answer_behind(pool: WorkerPool) -> None:
    calls = [asyncio.create_task(pool.call(partial(jobs.sleep, 0.3), 5)) for _ in range(2)]
    await asyncio.sleep(0.1)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert await asyncio.gather(*(pool.call(partial(jobs.say, n), 5) for n in range(6))) == list(range(6))


async def test_nothing_is_left_after_closing() -> None:
    async with WorkerPool(MODULE, size=2) as pool:
        worker = await describe_worker(pool)
        folder = pool_folder(worker)
    assert not Path(folder).exists()
    assert not Path(f"/proc/{worker['worker']}").exists()


async def test_a_module_that_cannot_be_imported_is_said_at_the_start() -> None:
    with pytest.raises(ToolError, match="ModuleNotFoundError"):
        async with WorkerPool("no.such.module"):
            pass


async def test_a_worker_that_is_slow_to_start_is_waited_for() -> None:
    """A busy machine is no fault of it: it does something, and has not had much time for it."""
    async with WorkerPool("tests.unit.sandbox.slow_jobs", size=1, limits=WorkerLimits(start=1.5)) as pool:
        assert await pool.call(partial(slow_jobs.hello), 5) == "hello"


@pytest.mark.parametrize("how", ["still", "busy"])
async def test_a_worker_that_never_starts_is_given_up(how: str) -> None:
    """It waits for what never comes, or goes round in circles."""
    with pytest.raises(ToolError, match="did not start"):
        async with WorkerPool(f"tests.unit.sandbox.{how}_jobs", size=1, limits=WorkerLimits(start=1.0)):
            pass


def test_workers_die_with_their_parent() -> None:
    script = f"""
import asyncio
from functools import partial
from tests.unit.sandbox import jobs_for_tests as jobs
from tests.unit.sandbox.machine import has_landlock
from workspace.sandbox.worker_pool import WorkerPool
async def main():
    async with WorkerPool({MODULE!r}, size=1) as pool:
        worker = await pool.call(partial(jobs.describe), 5)
        print(worker["worker"], worker["environment"]["HOME"], flush=True)
        asyncio.create_task(pool.call(partial(jobs.spin), 600))
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


async def test_workers_that_nobody_uses_end_and_start_again_with_the_next_call() -> None:
    async with WorkerPool(MODULE, size=2, rest=0.3) as pool:
        before = await workers(pool)
        async with asyncio.timeout(60):
            while any(Path(f"/proc/{pid}").exists() for pid in before):  # noqa: ASYNC110  # they are other processes
                await asyncio.sleep(0.05)
        assert (await workers(pool)).isdisjoint(before)


async def test_a_second_worker_starts_once_many_wait() -> None:
    async with WorkerPool(MODULE, size=2, first=1) as pool:
        assert len(await workers(pool)) == 1
        await asyncio.gather(*(describe_worker(pool) for _ in range(20)))
        async with asyncio.timeout(60):
            while len(await workers(pool)) < 2:  # noqa: ASYNC110  # it is another process
                await asyncio.sleep(0.05)
