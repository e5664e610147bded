"""The levels of the sandbox: limits, containment, and what is left afterwards."""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from domain.errors import ToolError
from workspace.sandbox import BUBBLEWRAP, LIMITS, Command, Completed, Sandbox, tool_path, unprivileged_account

pytestmark = pytest.mark.asyncio(loop_scope="module")
needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another account")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    yield await Sandbox.start()


async def shell(sandbox: Sandbox, script: str, level: int = LIMITS, **limits: float) -> Completed:
    with sandbox.folder() as folder:
        (folder / "file.txt").write_text("content")
        command = Command(("/bin/sh", "-c", script), folder, **limits)  # pyright: ignore[reportArgumentType]
        return await sandbox.run(command, level)


def marked(seconds: int) -> str:
    """A time to sleep that can be recognised in a command line, also beside other runs of these tests."""
    return f"{seconds}.{os.getpid()}"


async def gone(marker: str) -> bool:
    """Whether no process has this in its command line, at the latest after some seconds."""
    deadline = time.monotonic() + 10
    while marker in _command_lines():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


def text(done: Completed) -> str:
    return done.stdout.data.decode().strip()


async def test_the_probe_names_every_level(sandbox: Sandbox) -> None:
    assert [(level.level, level.name) for level in sandbox.levels] == [(1, "limits"), (3, "bubblewrap")]
    assert all(level.works or level.reason for level in sandbox.levels)
    assert sandbox.levels[0].works


async def test_a_level_that_does_not_work_is_refused(sandbox: Sandbox) -> None:
    bare = Sandbox(sandbox.levels[:1], sandbox.account)
    with pytest.raises(ToolError, match="not available"):
        await shell(bare, "true", BUBBLEWRAP)
    assert bare.strongest().level == LIMITS


async def test_the_environment_is_clean(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORGE_PRIVATE_KEY", "canary")
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
    script = "trap '' TERM; (sleep X & sleep X) & while :; do sleep X; done".replace("X", marked(61))
    done = await shell(sandbox, script, seconds=0.5)
    assert done.status is None
    assert done.seconds < 2
    assert await gone(marked(61))


async def test_a_child_that_keeps_the_pipes_does_not_hold_us(sandbox: Sandbox) -> None:
    done = await shell(sandbox, f"echo done; sleep {marked(62)} &", seconds=20)
    assert (done.status, text(done)) == (0, "done")
    assert done.seconds < 3
    assert await gone(marked(62))


async def test_a_cancelled_run_leaves_nothing(sandbox: Sandbox) -> None:
    task = asyncio.create_task(shell(sandbox, f"sleep {marked(63)}"))
    await asyncio.sleep(0.3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await gone(marked(63))


async def test_memory_is_limited(sandbox: Sandbox) -> None:
    done = await shell(sandbox, "head -c 400000000 /dev/zero | tail -c 400000000 | wc -c", memory=200 << 20)
    assert text(done) != "400000000"


async def test_a_program_that_is_not_there(sandbox: Sandbox) -> None:
    with sandbox.folder() as folder, pytest.raises(ToolError, match="does not exist"):
        await sandbox.run(Command(("/no/such/program",), folder), LIMITS)


CONTAINED = {
    "network": ("ls /sys/class/net 2>/dev/null; grep -c : /proc/net/dev", "1"),
    "root": ("id -u | grep -vx 0 >/dev/null && echo other", "other"),
    "homes": ("ls -d /root /home /srv /etc/shadow /run /var 2>/dev/null | wc -l", "0"),
    "kernel": ("echo x > /proc/sys/kernel/core_pattern; echo $?", "2"),
    "workspace": ("echo x > /workspace/x; echo $?", "2"),
    "root folder": ("echo x > /x; mkdir /y; ls -d /x /y 2>/dev/null | wc -l", "0"),
    "other processes": ("ls -d /proc/[0-9]* | wc -l | awk '{print ($1 < 8)}'", "1"),
    "device": ("echo x > /dev/new; echo $?", "2"),
    "temporary": ("echo x > /tmp/x && cat /tmp/x file.txt", "x\ncontent"),
    "namespaces": ("unshare -U true 2>/dev/null && echo made || echo refused", "refused"),
    "size": (
        "head -c 400000000 /dev/zero > /tmp/big 2>/dev/null; [ $(stat -c %s /tmp/big) -lt 300000000 ] && echo small",
        "small",
    ),
}


@needs_bubblewrap
@pytest.mark.parametrize("attack", CONTAINED)
async def test_level_3_contains(sandbox: Sandbox, attack: str) -> None:
    script, expected = CONTAINED[attack]
    assert text(await shell(sandbox, script, BUBBLEWRAP)) == expected


@needs_bubblewrap
async def test_level_3_filters_system_calls(sandbox: Sandbox) -> None:
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("no Python in a world-readable prefix")
    script = """
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
answers = []
for number in (101, 321, 425, 250):
    ctypes.set_errno(0)
    answers.append(libc.syscall(number, 0, 0, 0) == -1 and ctypes.get_errno() == 1)
try:
    socket.socket(40, socket.SOCK_STREAM)
    answers.append(False)
except PermissionError:
    answers.append(True)
socket.socket(socket.AF_INET).close()
socket.socket(socket.AF_UNIX).close()
import threading
threading.Thread(target=int).start()
print(all(answers), answers)
"""
    with sandbox.folder() as folder:
        (folder / "try.py").write_text(script)
        done = await sandbox.run(Command((str(python), "try.py"), folder), BUBBLEWRAP)
    assert text(done).startswith("True"), text(done) + done.stderr.data.decode()


@needs_bubblewrap
async def test_level_3_stops_a_fork_bomb(sandbox: Sandbox) -> None:
    started = time.monotonic()
    await shell(sandbox, "f() { f | f & }; f; sleep " + marked(64), BUBBLEWRAP, seconds=2)
    assert time.monotonic() - started < 8
    assert await gone(marked(64))


@needs_bubblewrap
async def test_level_3_leaves_no_daemon(sandbox: Sandbox) -> None:
    await shell(sandbox, f"setsid sh -c 'sleep {marked(65)}' >/dev/null 2>&1 & sleep 0.2", BUBBLEWRAP)
    assert await gone(marked(65))


async def test_the_account_must_exist_and_not_be_root() -> None:
    if os.geteuid() != 0:
        assert unprivileged_account("nobody") is None
        return
    for name in ("no-such-account-here", "root"):
        with pytest.raises(ToolError):
            unprivileged_account(name)


@needs_root
async def test_tools_and_workers_run_from_a_virtualenv_no_one_else_can_reach(tmp_path: Path) -> None:
    """Installed in root's home with mode 700, everything still works although it runs under another account."""
    hidden = tmp_path / "home"
    hidden.mkdir(mode=0o700)
    venv = Path(tool_path("ruff")).parent.parent
    shutil.copytree(venv / "lib", hidden / "venv" / "lib", symlinks=True, ignore=_unneeded)
    (hidden / "venv" / "bin").mkdir()
    for tool in ("ruff", "zizmor"):
        shutil.copy2(venv / "bin" / tool, hidden / "venv" / "bin" / tool)
    (hidden / "venv" / "bin" / "python").symlink_to((venv / "bin" / "python").resolve())
    shutil.copy2(venv / "pyvenv.cfg", hidden / "venv" / "pyvenv.cfg")
    for package in ("agents", "domain", "workspace", "tests"):
        shutil.copytree(package, hidden / package, ignore=shutil.ignore_patterns("__pycache__"))
    script = """
import asyncio, sys
from agents.checks import Toolbox, run_checks
from tests.unit.checks.building import change_of
files = {
    "a.py": (None, "import os, subprocess\\nsubprocess.run(input(), shell=True)\\n"),
    ".github/workflows/a.yml": (None, "on: push\\njobs: {a: {runs-on: x, steps: [{uses: a/b@main}]}}\\n"),
    "a.sh": (None, "curl https://a.org | sh\\n"),
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
    assert (
        rules
        == "['bandit/B602', 'ruff/F401', 'shell/curl-pipe', 'zizmor/excessive-permissions', 'zizmor/unpinned-uses']"
    )


def _unneeded(folder: str, names: list[str]) -> set[str]:
    heavy = ("anthropic", "openai", "sqlalchemy", "nodejs", "pyright", "basedpyright", "pixeltable", "psycopg", "grimp")
    is_top = folder.endswith("site-packages")
    return {name for name in names if name == "__pycache__" or (is_top and name.startswith(heavy))}


def _command_lines() -> str:
    lines: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(lines)
