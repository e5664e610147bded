"""A program is paused with everything it started, whatever it tries, and goes on where it was."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.unit.sandbox.machine import has_bubblewrap
from workspace.sandbox import probing
from workspace.sandbox.processes import NotPaused, ProgramControl
from workspace.sandbox.sandbox import BUBBLEWRAP, LANDLOCK, LIMITS, Completed, Sandbox, SandboxCommand

pytestmark = pytest.mark.asyncio(loop_scope="module")

# Many processes that write all the time, in sessions of their own, deaf to every signal, and waking each other.
WRITERS = """
import os, signal, threading, time
for number in range(1, 32):
    if number not in {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        signal.signal(number, signal.SIG_IGN)
processes = [os.getpid()]
for _ in range(8):
    child = os.fork()
    if child == 0:
        os.setsid()
    processes.append(child or os.getppid())
    if child == 0:
        break
def write(name):
    with open(f"out/{os.getpid()}-{name}", "ab", buffering=0) as file:
        while True:
            file.write(b"x")
            time.sleep(0.002)
            for each in processes:
                try:
                    os.kill(each, signal.SIGCONT)
                except OSError:
                    pass
            if name == 0:
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)
threading.Thread(target=write, args=(1,), daemon=True).start()
write(0)
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    yield await probing.make_sandbox()


def _count(folder: Path) -> dict[str, int]:
    return {entry.name: entry.stat().st_size for entry in os.scandir(folder)}


async def _begin(sandbox: Sandbox, folder: Path, level: int, script: str) -> tuple[ProgramControl, Completed | None]:
    """A program that runs, and what it came to if that was at once."""
    out = folder / "out"
    out.mkdir(mode=0o700)
    if sandbox.account is not None:
        os.chown(out, sandbox.account.uid, sandbox.account.gid)
    control = ProgramControl()
    command = SandboxCommand(("/usr/bin/python3", "-c", script), folder, seconds=60, writable=("out",), control=control)
    running = asyncio.ensure_future(sandbox.run(command, level))
    for _ in range(500):
        if running.done() or len(_count(out)) >= 18:
            break
        await asyncio.sleep(0.02)
    _RUNNING.append(running)
    return control, running.result() if running.done() else None


_RUNNING: list["asyncio.Future[Completed]"] = []


async def _end() -> None:
    while _RUNNING:
        running = _RUNNING.pop()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize(
    "level",
    [LANDLOCK, pytest.param(BUBBLEWRAP, marks=pytest.mark.skipif(not has_bubblewrap(), reason="no bubblewrap"))],
)
async def test_everything_stands_still_and_goes_on(sandbox: Sandbox, level: int) -> None:
    if sandbox.why_not(level):
        pytest.skip(f"level {level} does not work here")
    with sandbox.folder() as folder:
        control, ended = await _begin(sandbox, folder, level, WRITERS)
        try:
            assert ended is None, ended
            for _ in range(3):
                async with control.pause(seconds=60):  # on a busy machine; here it takes a hundredth of one
                    before = _count(folder / "out")
                    await asyncio.sleep(0.15)
                    assert _count(folder / "out") == before
                await asyncio.sleep(0.1)
                after = _count(folder / "out")
                assert sum(after.values()) > sum(before.values())
        finally:
            await _end()


WAITS_IN_THE_KERNEL = """
import ctypes, os, time
def count():
    with open("out/count", "ab", buffering=0) as file:
        while True:
            file.write(b"x")
            time.sleep(0.01)
for number in range(17):
    open(f"out/{number}", "w").close()
libc = ctypes.CDLL(None)
if os.fork() == 0:
    if libc.syscall(56, 0x4011, 0, 0, 0, 0) == 0:  # clone(CLONE_VFORK | SIGCHLD)
        count()
    os._exit(0)
time.sleep(60)
"""


async def test_who_waits_for_a_stopped_child_stands_still(sandbox: Sandbox) -> None:
    if sandbox.why_not(BUBBLEWRAP) or os.uname().machine != "x86_64":
        pytest.skip("no bubblewrap, or another table of system calls")
    with sandbox.folder() as folder:
        control, ended = await _begin(sandbox, folder, BUBBLEWRAP, WAITS_IN_THE_KERNEL)
        try:
            assert ended is None, ended
            async with control.pause(2.0):
                before = _count(folder / "out")
                await asyncio.sleep(0.1)
                assert _count(folder / "out") == before
            await asyncio.sleep(0.2)
            assert _count(folder / "out")["count"] > before["count"]
        finally:
            await _end()


async def test_a_program_that_has_ended_needs_no_pause(sandbox: Sandbox) -> None:
    control = ProgramControl()
    with sandbox.folder() as folder:
        await sandbox.run(SandboxCommand(("/bin/true",), folder, control=control), LIMITS)
    async with control.pause(0.0) as seconds:
        assert seconds < 1


async def test_what_does_not_stop_in_time_goes_on(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_launcher: int, _told: dict[int, int]) -> bool:
        return False

    monkeypatch.setattr("workspace.sandbox.processes._stop_all", refuse)
    control = ProgramControl()
    control.attach(os.getpid())
    with pytest.raises(NotPaused, match=r"did not stop within 0\.01 s"):
        async with control.pause(0.01):
            pytest.fail("it was not paused")
