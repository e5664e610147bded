"""T-O1: a tool that prints without end, or without a line's end, costs neither memory nor the others their turn."""

import asyncio
import tracemalloc

import pytest

from tests.unit.sandbox.machine import has_bubblewrap, has_landlock, is_gone, mark_seconds
from workspace.sandbox import probing
from workspace.sandbox.sandbox import BUBBLEWRAP, LANDLOCK, Completed, SandboxCommand

KEPT = 1 << 20  # bytes of each stream
GIGABYTE = "head -c 1000000000 /dev/zero"
AT_EACH_LEVEL = [
    pytest.param(LANDLOCK, id="landlock", marks=pytest.mark.skipif(not has_landlock(), reason="no Landlock here")),
    pytest.param(BUBBLEWRAP, id="bubblewrap", marks=pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")),
]
FLOODS = {
    "a gigabyte without a newline": f"echo start; {GIGABYTE}; sleep {{}}",
    "a gigabyte of newlines": f"echo start; {GIGABYTE} | tr '\\0' '\\n'; sleep {{}}",
    "endless errors": "echo start >&2; cat /dev/zero >&2 & sleep {}",
    "both at once": "echo start; cat /dev/zero >&2 & cat /dev/zero; sleep {}",
}


async def run(script: str, level: int) -> Completed:
    sandbox = await probing.make_sandbox()
    with sandbox.folder() as folder:
        return await sandbox.run(SandboxCommand(("/bin/sh", "-c", script), folder, seconds=60, output=KEPT), level)


@pytest.mark.parametrize("level", AT_EACH_LEVEL)
@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_t_o1_a_flood_is_stopped_and_its_beginning_kept(flood: str, level: int) -> None:
    """It is ended long before its time, with all that it started."""
    marker = mark_seconds(71)
    done = await run(flood.format(marker), level)
    assert done.status is None
    assert done.seconds < 50
    assert b"start" in done.stdout.head + done.stderr.head
    assert await is_gone(marker)
    for output in (done.stdout, done.stderr):
        assert len(output.head) + len(output.tail) <= KEPT
        assert not output.total or output.is_complete or b"bytes left out]" in output.data


@pytest.mark.parametrize("level", AT_EACH_LEVEL)
async def test_t_o1_beginning_and_end_of_what_is_long(level: int) -> None:
    """What is long and comes to its end is cut in its middle, and says how much is left out."""
    done = await run("echo start; head -c 50000000 /dev/zero; printf end; echo why >&2", level)
    assert done.status == 0
    assert done.stdout.data.startswith(b"start\n")
    assert done.stdout.data.endswith(b"end")
    assert b"\n[%d bytes left out]\n" % (50_000_009 - KEPT) in done.stdout.data
    assert done.stderr.data == b"why\n"


@pytest.mark.deep
@pytest.mark.parametrize("level", AT_EACH_LEVEL)
async def test_t_o1_memory_stays_flat(level: int) -> None:
    """Four floods at once take the memory of what is kept of them."""
    await run("true", level)
    tracemalloc.start()
    try:
        await asyncio.gather(*(run(flood.format("0"), level) for flood in FLOODS.values()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * KEPT + (8 << 20)
