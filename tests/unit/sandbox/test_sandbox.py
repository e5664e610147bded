"""The levels of the sandbox: limits, containment, and what is left afterwards."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from domain.errors import ConfigurationError, ToolError
from tests.unit.sandbox.machine import is_gone, mark_seconds
from workspace.sandbox import probing
from workspace.sandbox.accounts import find_account
from workspace.sandbox.sandbox import (
    BUBBLEWRAP,
    LANDLOCK,
    LIMITS,
    Completed,
    Sandbox,
    SandboxCommand,
    SandboxLevel,
    find_groups,
    tool_path,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another account")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    yield await probing.make_sandbox()


async def shell(sandbox: Sandbox, script: str, level: int = LIMITS, **limits: Any) -> Completed:
    with sandbox.folder() as folder:
        (folder / "file.txt").write_text("content")
        command = SandboxCommand(("/bin/sh", "-c", script), folder, **limits)
        return await sandbox.run(command, level)


def require(sandbox: Sandbox, level: int) -> None:
    if sandbox.why_not(level):
        pytest.skip(f"level {level} does not work here")


def text(done: Completed) -> str:
    return done.stdout.data.decode().strip()


async def test_the_probe_names_every_level(sandbox: Sandbox) -> None:
    assert [level.name for level in sandbox.levels] == ["limits", "landlock", "bubblewrap"]
    assert [level.level for level in sandbox.levels] == [1, 2, 3]
    assert all(level.works or level.reason for level in sandbox.levels)
    assert sandbox.levels[0].works


async def test_a_level_that_does_not_work_is_refused(sandbox: Sandbox) -> None:
    bare = Sandbox(sandbox.levels[:1], sandbox.account)
    with pytest.raises(ToolError, match="not available"):
        await shell(bare, "true", BUBBLEWRAP)
    assert bare.strongest().level == LIMITS


LEVELS = (
    SandboxLevel(1, "limits", works=True),
    SandboxLevel(2, "landlock", works=True),
    SandboxLevel(3, "bubblewrap", works=False, reason="bubblewrap (bwrap) is not installed"),
)


@pytest.mark.parametrize(("wanted", "strongest"), [("auto", 2), ("landlock", 2), ("none", 1)])
async def test_the_operator_may_want_less(wanted: probing.Wanted, strongest: int) -> None:
    levels = probing.select_levels(LEVELS, wanted)
    assert Sandbox(levels, None).strongest().level == strongest
    off = [level.reason for level in levels if level.level == 2 and not level.works]
    assert off == (["FORGE_SANDBOX is none"] if wanted == "none" else [])


async def test_a_level_that_is_wanted_and_does_not_work_stops_the_start() -> None:
    with pytest.raises(ConfigurationError, match=r"FORGE_SANDBOX is bwrap.*bubblewrap \(bwrap\) is not installed"):
        probing.select_levels(LEVELS, "bwrap")


async def test_a_program_at_each_level(sandbox: Sandbox) -> None:
    """What tools need works: files of their own to write, children, pipes, threads, and the end of a pipe."""
    script = """
folder=$(mktemp -d) && cd "$folder" && mkdir -p a/b && echo one > a/b/c && cat a/b/c | tr e E
yes | head -n 1
sleep 0 & wait && rm -r "$folder"
"""
    for level in sandbox.levels:
        if level.works:
            done = await shell(sandbox, script, level.level)
            assert (done.status, text(done)) == (0, "onE\ny"), done.stderr.data


async def test_a_server_of_its_own_is_found_by_name_and_nothing_else_is(sandbox: Sandbox) -> None:
    """Servers of tests listen at `localhost`; the machine's own names are not told."""
    require(sandbox, BUBBLEWRAP)
    done = await shell(sandbox, f"/usr/bin/python3 -c '{SERVES}'; cat /etc/hosts", BUBBLEWRAP)
    assert text(done) == "heard\n127.0.0.1 localhost\n::1 localhost", done.stderr.data


async def test_statuses_are_the_programs(sandbox: Sandbox) -> None:
    for level in sandbox.levels:
        if level.works:
            assert (await shell(sandbox, "exit 7", level.level)).status == 7
            assert (await shell(sandbox, "exec no-such-program", level.level)).status == 127


async def test_the_environment_is_clean(sandbox: Sandbox) -> None:
    os.environ["FORGE_PRIVATE_KEY"] = "canary"
    for level in sandbox.levels:
        if level.works:
            names = {line.split("=")[0] for line in text(await shell(sandbox, "env", level.level)).splitlines()}
            assert names <= {"PATH", "HOME", "LANG", "TMPDIR", "NO_COLOR", "PWD", "SHLVL", "_", "OLDPWD"}


async def test_the_folder_can_be_read_and_not_written(sandbox: Sandbox) -> None:
    assert text(await shell(sandbox, "cat file.txt")) == "content"
    if sandbox.account is not None:
        assert text(await shell(sandbox, "echo x > new && echo wrote; id -u")) == str(sandbox.account.uid)


@needs_root
async def test_root_is_dropped_and_its_files_are_out_of_reach(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("canary")
    tmp_path.chmod(0o700)
    done = await shell(
        sandbox, f"cat {tmp_path}/secret; cat /proc/{os.getpid()}/environ; kill -0 {os.getpid()} && echo can"
    )
    assert "canary" not in text(done)
    assert "can" not in text(done)


async def test_output_keeps_its_beginning_and_its_end(sandbox: Sandbox) -> None:
    done = await shell(sandbox, "echo start; head -c 3000000 /dev/zero; echo end", output=100_000)
    assert not done.stdout.is_complete
    assert done.stdout.data.startswith(b"start\n")
    assert done.stdout.data.endswith(b"end\n")
    assert len(done.stdout.data) < 101_000
    assert done.stdout.total == 3_000_010


async def test_endless_output_is_stopped_early(sandbox: Sandbox) -> None:
    done = await shell(sandbox, "cat /dev/zero", output=1_000_000, seconds=20)
    assert done.status is None
    assert done.seconds < 10


async def test_time_is_limited_and_nothing_survives(sandbox: Sandbox) -> None:
    script = "trap '' TERM; (sleep X & sleep X) & while :; do sleep X; done".replace("X", mark_seconds(61))
    done = await shell(sandbox, script, seconds=0.5)
    assert done.status is None
    assert done.seconds < 2
    assert await is_gone(mark_seconds(61))


async def test_a_tool_of_ours_is_stopped_by_its_processor_time_alone(sandbox: Sandbox) -> None:
    """At each level: one that waits for a busy machine ends, one that never ends is stopped and named."""
    for level in sandbox.levels:
        if level.works:
            with sandbox.folder() as folder:
                waits = SandboxCommand(("/bin/sh", "-c", "sleep 1; echo done"), folder, seconds=0.3)
                assert text(await sandbox.run_tool(waits, level.level)) == "done"
                endless = SandboxCommand(("/bin/sh", "-c", "while :; do :; done"), folder, seconds=1)
                with pytest.raises(ToolError, match=r"sh did not finish within 1 seconds"):
                    await sandbox.run_tool(endless, level.level)


async def test_a_tool_of_ours_that_does_nothing_is_stopped_long_before_the_clock(sandbox: Sandbox) -> None:
    """At each level: one that sleeps is stopped and named, one that works in silence or prints now and then goes on."""
    working = "for i in 1 2 3 4; do n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done; sleep 0.9; done; echo done"
    printing = "for i in 1 2 3 4; do sleep 0.9; echo $i; done; echo done"
    for level in [each.level for each in sandbox.levels if each.works]:
        with sandbox.folder() as folder:
            for script in (working, printing):
                busy = SandboxCommand(("/bin/sh", "-c", script), folder, seconds=20, idle_seconds=3)
                assert text(await sandbox.run_tool(busy, level)).endswith("done")
            sleeping = SandboxCommand(("/bin/sh", "-c", "echo begun; sleep 90"), folder, seconds=20, idle_seconds=1)
            began = time.monotonic()
            with pytest.raises(ToolError, match=r"sh did nothing for 1 seconds"):
                await sandbox.run_tool(sleeping, level)
            assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("mapped", "number"),
    [
        ("         0          0 4294967295\n", 4336),
        ("0 1000 1\n", 0),
        ("0 1000 1\n1 100000 65536\n", 4336),
        ("0 1000 1\n1 100000 50000\n", 0),
        ("0 1000 1\n1 100000 62000\n", 817),
    ],
)
async def test_only_groups_that_the_namespace_has_are_lent(mapped: str, number: int) -> None:
    assert len(find_groups(mapped)) == number


@needs_root
async def test_without_groups_to_lend_programs_run_all_the_same(sandbox: Sandbox) -> None:
    bare = Sandbox(sandbox.levels, sandbox.account, groups=[])
    for level in [each.level for each in sandbox.levels if each.works]:
        assert text(await shell(bare, "cat file.txt", level)) == "content"
    with bare.folder() as folder:
        assert bare.account is not None
        assert folder.stat().st_gid == bare.account.gid
        assert folder.stat().st_mode & 0o007 == 0


@needs_root
async def test_no_two_runs_share_a_group_while_one_is_free(sandbox: Sandbox) -> None:
    few = Sandbox(sandbox.levels, sandbox.account, groups=find_groups()[:8])
    for _ in range(2):  # what was lent is given back
        with contextlib.ExitStack() as stack:
            groups = [stack.enter_context(few.folder()).stat().st_gid for _ in range(8)]
            assert len(set(groups)) == 8
            assert few.account is not None
            with few.folder() as one_more:
                assert one_more.stat().st_gid == few.account.gid


async def test_a_child_that_keeps_the_pipes_does_not_hold_us(sandbox: Sandbox) -> None:
    done = await shell(sandbox, f"echo done; sleep {mark_seconds(62)} &", seconds=20)
    assert (done.status, text(done)) == (0, "done")
    assert done.seconds < 3
    assert await is_gone(mark_seconds(62))


async def test_a_cancelled_run_leaves_nothing(sandbox: Sandbox) -> None:
    task = asyncio.create_task(shell(sandbox, f"sleep {mark_seconds(63)}"))
    await asyncio.sleep(0.3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await is_gone(mark_seconds(63))


async def test_memory_is_limited(sandbox: Sandbox) -> None:
    done = await shell(sandbox, "head -c 400000000 /dev/zero | tail -c 400000000 | wc -c", memory=200 << 20)
    assert text(done) != "400000000"


async def test_a_program_that_is_not_there(sandbox: Sandbox) -> None:
    with sandbox.folder() as folder, pytest.raises(ToolError, match="does not exist"):
        await sandbox.run(SandboxCommand(("/no/such/program",), folder), LIMITS)


async def test_the_account_must_exist_and_not_be_root() -> None:
    if os.geteuid() != 0:
        assert find_account("nobody") is None
        return
    for name in ("no-such-account-here", "root"):
        with pytest.raises(ToolError):
            find_account(name)


@needs_root
async def test_tools_and_workers_run_from_a_virtualenv_no_one_else_can_reach(tmp_path: Path) -> None:
    """Installed in root's home with mode 700, everything still works although it runs under another account."""
    hidden = tmp_path / "home"
    hidden.mkdir(mode=0o700)
    venv = Path(tool_path("ruff")).parent.parent
    shutil.copytree(venv / "lib", hidden / "venv" / "lib", symlinks=True, ignore=_find_unneeded)
    (hidden / "venv" / "bin").mkdir()
    for tool in ("ruff", "zizmor", "oxlint", "shellcheck", "hadolint"):
        shutil.copy2(venv / "bin" / tool, hidden / "venv" / "bin" / tool)
    (hidden / "venv" / "bin" / "python").symlink_to((venv / "bin" / "python").resolve())
    shutil.copy2(venv / "pyvenv.cfg", hidden / "venv" / "pyvenv.cfg")
    for package in ("agents", "domain", "workspace", "tests"):
        shutil.copytree(package, hidden / package, ignore=shutil.ignore_patterns("__pycache__"))
    script = """
import asyncio, sys
from agents.review.checks.run import run_checks
from agents.toolbox import Toolbox
from tests.unit.checks.building import change_of
files = {
    "a.py": (None, "import os, subprocess\\nsubprocess.run(input(), shell=True)\\n"),
    ".github/workflows/a.yml": (None, "on: push\\njobs: {a: {runs-on: x, steps: [{uses: a/b@main}]}}\\n"),
    "a.sh": (None, "curl https://a.org | sh\\n"),
    "a.js": (None, "eval(input)\\n"),
    "Dockerfile": (None, "FROM a:1\\nEXPOSE 99999\\n"),
}
async def main():
    change, versions = change_of(files)
    async with Toolbox.start() as toolbox:
        result = await run_checks(
            change, versions, project={}, linters=(), dependencies=None, toolbox=toolbox
        )
    print(sys.prefix)
    print(sorted({f.rule for f in result.findings}))
    print([tool.problem for layer in result.layers for tool in layer.tools if tool.problem])
asyncio.run(main())
"""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(hidden), "PYTHONDONTWRITEBYTECODE": "1"}
    done = await asyncio.to_thread(
        subprocess.run,
        [hidden / "venv" / "bin" / "python", "-c", script],
        capture_output=True,
        text=True,
        cwd=hidden,
        env=environment,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    prefix, rules, problems = done.stdout.splitlines()
    assert prefix == str(hidden / "venv")
    assert problems == "[]"
    assert rules == (
        "['hadolint/DL3011', 'oxlint/no-eval', 'ruff/F401', 'ruff/S602', 'shell/curl-pipe', "
        "'zizmor/excessive-permissions', 'zizmor/unpinned-uses']"
    )


def _find_unneeded(folder: str, names: list[str]) -> set[str]:
    heavy = ("anthropic", "openai", "sqlalchemy", "pixeltable", "psycopg", "grimp")
    is_top = folder.endswith("site-packages")
    return {name for name in names if name == "__pycache__" or (is_top and name.startswith(heavy))}


RESERVES = 'import mmap; kept = mmap.mmap(-1, 64 << 30, mmap.MAP_PRIVATE | 0x4000); kept[0] = 1; print("lives")'
GROWS = "kept = []\nwhile True: kept.append(bytearray(16 << 20))"
SERVES = """
import socket
server = socket.create_server(("localhost", 0))
socket.create_connection(("localhost", server.getsockname()[1])).send(b"heard")
print(server.accept()[0].recv(5).decode())
"""
FORKS = f"import os\nfor _ in range(3): os.fork()\n{GROWS}"
SHARES = "import mmap\nkept = mmap.mmap(-1, 2 << 30)\nwhile True:\n for at in range(0, 2 << 30, 4096): kept[at] = 1"
SHARE = """
import mmap, os, time
kept = []
for _ in range(6):
    if {forks} and os.fork():
        continue
    kept.append(mmap.mmap(-1, 100 << 20, mmap.MAP_SHARED | 0x8000))  # filled at once
    {then}
    if {forks}:
        break
time.sleep(20)
"""
SHARES_APART = SHARE.format(forks=True, then="pass")
GIVES_BACK = SHARE.format(forks=False, then="kept[-1].madvise(mmap.MADV_DONTNEED)")
UNMAPS = SHARE.format(forks=False, then="kept[-1].resize(4096)")
SHARES_LITTLE = """
import mmap, os, time
pool = mmap.mmap(-1, 200 << 20, mmap.MAP_SHARED | 0x8000)
if not os.fork(): pool[99] = 7; os._exit(0)
os.wait(); time.sleep(1); print(pool[99])
"""
SHARES_BY_NAME = """
import multiprocessing, os
from multiprocessing.shared_memory import SharedMemory
memory, value = SharedMemory(create=True, size=1 << 20), multiprocessing.Value("i")
if not os.fork(): memory.buf[99] = value.value = 7; os._exit(0)
os.wait(); print(memory.buf[99] & value.value)
memory.close(); memory.unlink()
"""
LEAVES = f"import os\nif os.fork(): os.wait(); os._exit(0)\nif os.fork(): os._exit(0)\n{GROWS}"


@pytest.mark.parametrize("level", [LIMITS, LANDLOCK, BUBBLEWRAP])
async def test_address_space_that_is_only_reserved_does_not_count(sandbox: Sandbox, level: int) -> None:
    require(sandbox, level)
    done = await shell(sandbox, f"exec /usr/bin/python3 -c '{RESERVES}'", level, resident=300 << 20)
    assert (text(done), done.status) == ("lives", 0)


@pytest.mark.parametrize(
    ("level", "script"), [(LANDLOCK, SHARES_LITTLE), (BUBBLEWRAP, SHARES_LITTLE), (BUBBLEWRAP, SHARES_BY_NAME)]
)
async def test_who_shares_memory_may(sandbox: Sandbox, level: int, script: str) -> None:
    require(sandbox, level)
    done = await shell(sandbox, f"exec /usr/bin/python3 -c '{script}'", level, resident=2 << 30)
    assert (text(done), done.status) == ("7", 0)


@pytest.mark.parametrize("script", [GROWS, FORKS, SHARES, LEAVES, SHARES_APART, GIVES_BACK, UNMAPS])
@pytest.mark.parametrize("level", [LANDLOCK, BUBBLEWRAP])
async def test_who_holds_too_much_memory_is_stopped(sandbox: Sandbox, level: int, script: str) -> None:
    require(sandbox, level)
    command = f"/usr/bin/python3 -c '{script}'; sleep 20"
    done = await shell(sandbox, command, level, resident=300 << 20, seconds=60)
    assert done.status is None
    assert b"Stopped: it held more than 314,572,800 bytes of memory." in done.stderr.data
    assert done.seconds < 20


@needs_root
@pytest.mark.parametrize("program", ["/bin/busybox", None])
async def test_it_drops_to_its_account_without_the_setpriv_of_util_linux(
    sandbox: Sandbox, program: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workspace.sandbox.sandbox._SETPRIV", program)
    assert sandbox.account is not None
    uid, gid, *groups = map(int, text(await shell(sandbox, "id -u; id -g; id -G")).split())
    assert (uid, gid) == (sandbox.account.uid, sandbox.account.gid)
    assert 0 not in groups


@pytest.mark.skipif(not shutil.which("mvn"), reason="no Maven here")
@pytest.mark.parametrize("level", [LANDLOCK, BUBBLEWRAP])
async def test_java_and_maven_find_how_the_system_sets_them_up(sandbox: Sandbox, level: int) -> None:
    if not sandbox.levels[level - 1].works:
        pytest.skip(sandbox.levels[level - 1].reason)
    done = await shell(sandbox, "mvn --version; cat /etc/maven/settings.xml", level, seconds=60)
    assert text(done).startswith(("Apache Maven", "\x1b[1mApache Maven"))
    assert "<settings" not in text(done)
