"""T-S: what code of others can do at each level of the sandbox, and what is left of it afterwards."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from agents.review import reviewer
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.errors import ConfigurationError, ToolError
from domain.review.changes import Change, FileChange, FileVersions
from safety.containment import CodeOrigin, choose_containment
from safety.risk import PullRequestAuthor
from tests.threats.levels import at_each_level
from tests.unit.checks.building import change_of
from tests.unit.sandbox.machine import has_landlock, is_gone, mark_seconds
from workspace.objects import Objects
from workspace.sandbox import probes, probing
from workspace.sandbox.accounts import find_account
from workspace.sandbox.sandbox import BUBBLEWRAP, LANDLOCK, LIMITS, Completed, Sandbox, SandboxCommand

pytestmark = pytest.mark.asyncio(loop_scope="module")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another account")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    yield await probing.make_sandbox()


async def shell(
    sandbox: Sandbox, script: str, level: int, *, seconds: float = 20, memory: int = 1 << 30, processes: int = 64
) -> Completed:
    with sandbox.folder() as folder:
        (folder / "file.txt").write_text("content\n")
        command = SandboxCommand(
            ("/bin/sh", "-c", script), folder, seconds=seconds, memory=memory, processes=processes, output=1 << 20
        )
        return await sandbox.run(command, level)


async def python(sandbox: Sandbox, script: str, level: int) -> str:
    """What a Python script prints at a level."""
    interpreter = Path(sys.executable).resolve()
    with sandbox.folder() as folder:
        (folder / "try.py").write_text(script)
        command = SandboxCommand(
            (str(interpreter), "-I", "-S", "try.py"), folder, seconds=20, reads=(Path(sys.base_prefix),), memory=1 << 30
        )
        done = await sandbox.run(command, level)
    assert done.status is not None
    return text(done)


def text(done: Completed) -> str:
    return done.stdout.data.decode(errors="replace").strip()


# T-S1


@at_each_level
async def test_t_s1_every_attack_is_refused(sandbox: Sandbox, level: int) -> None:
    (found,) = [known for known in sandbox.levels if known.level == level]
    assert found.works, found.reason
    assert {attack.name: attack.refused for attack in found.attacks} == dict.fromkeys(probes.ATTACKS, True)


async def test_t_s1_level_1_is_for_parsers_only(sandbox: Sandbox) -> None:
    """The other rate: the same attacks succeed where nothing contains them, so that a refusal means something."""
    outcome = {attack.name: attack.refused for attack in sandbox.levels[0].attacks}
    possible = {name for name, refused in outcome.items() if refused is False}
    assert possible >= {
        "list other processes",
        "read a file of Forge",
        "change a file of Forge",
        "connect to loopback",
        "connect to a Unix socket",
        "connect to an abstract socket",
        "use a semaphore of others",
        probes.LEAVE_MEMORY,
        probes.SURVIVE,
        probes.PROCESSES,
    }
    assert not possible & probing.ALWAYS_REFUSED


async def test_t_s1_what_is_published_is_what_is_refused() -> None:
    published = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
    words = " ".join(published.split())
    for name in probes.ATTACKS:
        assert (f"**{name}**" if name in probing.ALWAYS_REFUSED else name) in words


@at_each_level
async def test_t_s1_system_calls_are_filtered(sandbox: Sandbox, level: int) -> None:
    script = """
import ctypes, platform, threading
libc = ctypes.CDLL(None, use_errno=True)
column = ["x86_64", "aarch64"].index(platform.machine())
names = {"ptrace": (101, 117), "bpf": (321, 280), "io_uring_setup": (425, 425), "keyctl": (250, 219),
         "mount": (165, 40), "vsock": (41, 198), "pidfd_getfd": (438, 438)}
for name, numbers in names.items():
    ctypes.set_errno(0)
    arguments = (40, 1, 0) if name == "vsock" else (0, 0, 0)
    if libc.syscall(numbers[column], *arguments) != -1 or ctypes.get_errno() != 1:
        print(name, "is allowed", ctypes.get_errno())
threading.Thread(target=int).start()
print("done")
"""
    assert await python(sandbox, script, level) == "done"


@at_each_level
async def test_t_s1_only_its_own_folder_can_be_read(sandbox: Sandbox, level: int) -> None:
    with tempfile.TemporaryDirectory() as other:
        Path(other).chmod(0o755)
        (Path(other) / "canary").write_text("canary-5521")
        script = f"""
cat file.txt
cat {other}/canary /etc/passwd /etc/hostname /proc/{os.getpid()}/maps /proc/1/mem
ls -A /root /home /srv /run /var /tmp/ /dev/shm/ {other} | grep -v ':$' | grep .
echo x > file.txt; echo x > new; echo x > /usr/x; mkdir /x
echo end
"""
        assert text(await shell(sandbox, script, level)) == "content\nend"


FILTERED = """
import os, subprocess, sys
from workspace.sandbox import privileges, probes, seccomp
from workspace.sandbox.accounts import find_account
account = find_account("nobody")
other = {"user": account.uid, "group": account.gid} if account else {}
bystander = subprocess.Popen(["sleep", "60"], cwd="/", **other)
facts = {"bystander": bystander.pid, "namespace": os.readlink("/proc/self/ns/pid")}
forge, child = os.getpid(), os.fork()
if child == 0:
    if account:
        privileges.drop_account(account.uid, account.gid)
    privileges.renounce(forge)
    seccomp.install(seccomp.filter_for_shared(signals=sys.argv[1] == "signals", own_account=account is not None))
    exec(sys.argv[2])
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
try:  # a signal that was sent takes a moment to end what it meets
    bystander.wait(30 if sys.argv[1] == "signals" else 0.5)
    print("ended")
except subprocess.TimeoutExpired:
    print("alive")
bystander.kill()
bystander.wait()
"""
HONEST_WITH_FILES = """
import array, fcntl, os, select, signal, socket, tempfile, termios
fired = []
reading, writing = os.pipe()
os.set_blocking(reading, False)
os.write(writing, b"abc")
count = array.array("i", [0])
fcntl.ioctl(reading, termios.FIONREAD, count)
with tempfile.TemporaryFile() as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    fcntl.flock(file, fcntl.LOCK_UN)
signal.signal(signal.SIGALRM, lambda *_: fired.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.pause()
print(count[0], fired)
"""


@pytest.mark.parametrize(
    ("kept_inside", "script", "said"),
    [
        ("no", 'probes.ATTACKS["end a program of another run"](facts)', "alive"),
        ("signals", 'probes.ATTACKS["end a program of another run"](facts)', "ended"),
        ("no", HONEST_WITH_FILES, "3 [1]\nalive"),
    ],
)
async def test_t_s1_without_landlock_for_signals_the_filter_refuses_them(
    kept_inside: str, script: str, said: str
) -> None:
    """As on kernels before 6.12: what is behind the filter alone ends nothing of others, by no way, but itself works.

    The second case is the other rate: where the filter leaves signals to Landlock, and there is none, they do arrive.
    """
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", FILTERED, kept_inside, script],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path.cwd(),
    )
    assert done.stdout.strip() == said


SHARED_ACCOUNT = """
import os, sys
from pathlib import Path
from workspace.sandbox import privileges, seccomp
old, new = Path("old"), Path("new")
old.write_text("x")
privileges.renounce(os.getppid())
seccomp.install(seccomp.filter_for_shared(signals=True, own_account=False))
for change in (lambda: os.utime(old, (1, 1)), lambda: os.utime("old", (1, 1), dir_fd=os.open(".", os.O_RDONLY))):
    try:
        change()
    except PermissionError:
        print("refused", old.stat().st_mtime > 1)
new.touch()
with new.open() as file:
    os.utime(file.fileno(), (1, 1))
print(new.stat().st_mtime)
"""


async def test_t_s1_without_an_account_of_its_own_a_program_sets_times_of_open_files_only(tmp_path: Path) -> None:
    """Landlock restricts what is opened, but no call that changes times by a path."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", SHARED_ACCOUNT],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path.cwd())},
    )
    assert done.stdout.split("\n") == ["refused True", "refused True", "1.0", ""]


@at_each_level
async def test_t_s1_what_honest_programs_use_is_there(sandbox: Sandbox, level: int) -> None:
    """Times of own files, memory that is shared, and an answer by which programs do without a memfd."""
    script = """
import errno, mmap, os
try:
    os.memfd_create("jit")
except OSError as error:
    print(error.errno == errno.ENOSYS)
with mmap.mmap(-1, 4096) as shared:
    if os.fork() == 0:
        shared[0] = 7
        os._exit(0)
    os.wait()
    print(shared[0])
place = os.environ["TMPDIR"] + "/own"
open(place, "w").close()
os.utime(place, (1, 1))
print(os.stat(place).st_mtime)
"""
    assert await python(sandbox, script, level) == "True\n7\n1.0"


@at_each_level
async def test_t_s1_sockets_and_segments_hold_no_more_than_their_defaults(sandbox: Sandbox, level: int) -> None:
    """What nothing counts is bounded by the number of open files, not by what the program asks for."""
    script = """
import ctypes, socket
libc = ctypes.CDLL(None)
pairs = [socket.socketpair(socket.AF_UNIX, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM) for _ in range(8)]
sockets = [each for pair in pairs for each in pair]
held, chunk = 0, bytes(60000)
for each in sockets:
    default = each.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):
        try:
            each.setsockopt(socket.SOL_SOCKET, option, 4000000)
        except OSError as error:
            print("setsockopt", error)
    each.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    each.setblocking(False)
    try:
        while held < 300000000:
            held += each.send(chunk)
    except BlockingIOError:
        pass
print(held <= 2 * default * len(sockets) or held)
print([libc.shmget(0, size, 0o600) for size in (4097, 65536)], libc.msgget(0, 0o600), libc.semget(0, 1, 0o600))
print(libc.shmget(0, 56, 0o600) >= 0)
"""
    has_segments = level == BUBBLEWRAP  # PostgreSQL asks for one of 56 bytes
    assert await python(sandbox, script, level) == f"True\n[-1, -1] -1 -1\n{has_segments}"


# T-S2

ATTACKS = {
    "processes": "f() { f | f & }; f; sleep 15",
    "memory": "x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done",
    "disk": "cd $TMPDIR; i=0; while head -c 9000000 /dev/zero > $i; do i=$((i+1)); done; sleep 15",
    "files": "cd $TMPDIR; i=0; while : > $i; do i=$((i+1)); done; sleep 15",
}
HONEST = "cd $TMPDIR && for i in 1 2 3 4 5 6 7 8; do echo $i > $i; cat $i; sleep 0.3; done | wc -l"


@at_each_level
async def test_t_s2_only_the_run_that_goes_wild_dies(sandbox: Sandbox, level: int) -> None:
    """Four attacks at once, beside two runs that do honest work.

    At level 2 all runs share an account, and with it the bound on its processes: while an attack that floods them is
    being stopped, others may fail to start one, which they notice; afterwards nothing of it is left.
    """
    wild = [shell(sandbox, script, level, seconds=4, memory=300 << 20) for script in ATTACKS.values()]
    honest = [shell(sandbox, HONEST, level, seconds=60) for _ in range(2)]
    free = os.statvfs(tempfile.gettempdir()).f_bavail
    results = await asyncio.gather(*wild, *honest)
    beside = results[len(wild) :]
    if level == LANDLOCK:
        beside = await asyncio.gather(*(shell(sandbox, HONEST, level, seconds=60) for _ in range(2)))
    assert [(done.status, text(done)) for done in beside] == [(0, "8")] * 2
    assert all(done.status != 0 for done in results[: len(wild)])
    assert all(done.seconds < 30 for done in results)
    assert os.statvfs(tempfile.gettempdir()).f_bavail > free - (1 << 30) // 4096


@at_each_level
async def test_t_s2_shared_memory_is_bounded(sandbox: Sandbox, level: int) -> None:
    done = await shell(sandbox, "head -c 200000000 /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x", level)
    assert int(text(done) or 0) <= 64 << 20
    assert not Path("/dev/shm/x").exists()


@at_each_level
async def test_t_s2_it_stays_the_first_to_be_killed_when_memory_runs_out(sandbox: Sandbox, level: int) -> None:
    marker = mark_seconds(75 + level)
    script = f"for each in self $$ 1; do echo 0 > /proc/$each/oom_score_adj; done 2>/dev/null; exec sleep {marker}"
    running = asyncio.create_task(shell(sandbox, script, level))
    try:
        assert await _has_started(marker)
        scores = [int((place / "oom_score_adj").read_text()) for place in _list_started(marker)]
        assert set(scores) == {1000}
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@needs_root
@at_each_level
async def test_t_s2_no_trick_fills_the_disk(level: int) -> None:
    """Files that are deleted while they are open are in no folder; what is free on the disk tells of them."""
    disk = Path(tempfile.mkdtemp())
    mounted = await asyncio.create_subprocess_exec("mount", "-t", "tmpfs", "-o", "size=200m", "none", str(disk))
    if await mounted.wait() != 0:
        pytest.skip("no disk of its own can be made here")
    try:
        disk.chmod(0o1777)
        script = f"""
import asyncio, os
from pathlib import Path
from workspace.sandbox.accounts import find_account
from workspace.sandbox.sandbox import Quota, SandboxCommand, Sandbox, SandboxLevel
PROGRAM = '''
import os, time
files = [os.open("x%d" % n, os.O_CREAT | os.O_WRONLY) for n in range(30)]
for n, file in enumerate(files):
    os.unlink("x%d" % n)
    os.write(file, bytes(10 << 20))
    time.sleep(0.2)
time.sleep(30)
'''
async def main():
    sandbox = Sandbox([SandboxLevel({level}, "x", works=True)], find_account("nobody"))
    with sandbox.folder() as folder:
        (folder / "code").mkdir()
        os.chown(folder / "code", sandbox.account.uid, sandbox.account.gid)
        argv = ("/usr/bin/env", "python3", "-I", "-S", "-c", PROGRAM)
        command = SandboxCommand(argv, folder, writable=("code",), quota=Quota(50 << 20), start="code")
        done = await sandbox.run(command, {level})
    print(done.status, done.seconds < 20, done.stderr.data.decode().strip())
asyncio.run(main())
"""
        environment = {**os.environ, "TMPDIR": str(disk)}
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
        )
    finally:
        await (await asyncio.create_subprocess_exec("umount", str(disk))).wait()
        disk.rmdir()
    assert done.stdout.startswith(("None True Stopped: less than 104,", "-9 True Stopped: less than 104,"))
    assert done.stdout.strip().endswith("bytes were left on the disk it writes to.")


@at_each_level
async def test_t_s2_a_single_large_file_is_refused(sandbox: Sandbox, level: int) -> None:
    script = "head -c 100000000 /dev/zero > $TMPDIR/x; stat -c %s $TMPDIR/x"
    assert int(text(await shell(sandbox, script, level)) or 0) <= 64 << 20


@pytest.mark.skipif(not has_landlock(), reason="no Landlock here")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("for i in 1 2 3 4 5 6 7 8 9; do sleep 9 & done; wait", "it had more than 5 processes and threads"),
        (ATTACKS["disk"], "it left more than 268,435,456 bytes"),
        (ATTACKS["files"], "or 20,000 files"),
    ],
)
async def test_t_s2_what_was_too_much_is_said(sandbox: Sandbox, script: str, said: str) -> None:
    done = await shell(sandbox, script, LANDLOCK, processes=5, seconds=60)
    assert done.status != 0
    assert said in done.stderr.data.decode()


# T-S3

DAEMONS = {
    "background": "sleep {} & :",
    "double fork": "(sleep {} & sleep {} &) & :",
    "session": "setsid sh -c 'sleep {}' > /dev/null 2>&1 < /dev/null & :",
    "deaf": "trap '' TERM HUP INT; setsid nohup sh -c \"trap '' TERM HUP INT; sleep {}\" > /dev/null 2>&1 & :",
}


@at_each_level
@pytest.mark.parametrize("how", DAEMONS)
async def test_t_s3_nothing_survives(sandbox: Sandbox, level: int, how: str) -> None:
    marker = mark_seconds(70 + 10 * level + list(DAEMONS).index(how))
    done = await shell(sandbox, DAEMONS[how].replace("{}", marker) + "; sleep 0.3; echo ended", level)
    assert (done.status, text(done)) == (0, "ended")
    assert await is_gone(marker)


@at_each_level
async def test_t_s3_nothing_survives_forge(level: int) -> None:
    """Forge is killed with no time to clean up."""
    marker = mark_seconds(90 + level)
    script = f"""
import asyncio
from pathlib import Path
from workspace.sandbox.accounts import find_account
from workspace.sandbox.sandbox import SandboxCommand, Sandbox, SandboxLevel
async def main():
    sandbox = Sandbox([SandboxLevel({level}, "x", works=True)], find_account("nobody"))
    with sandbox.folder() as folder:
        command = SandboxCommand(("/bin/sh", "-c", "setsid sleep {marker} & sleep {marker}"), folder)
        await sandbox.run(command, {level})
asyncio.run(main())
"""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        environment = {**os.environ, "TMPDIR": folder}
        forge = await asyncio.create_subprocess_exec(sys.executable, "-c", script, env=environment)
        assert await _has_started(marker)
        forge.kill()
        await forge.wait()
        assert await is_gone(marker)
        assert list(Path(folder).iterdir())
        left = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from workspace.safe_copy import sweep; sweep()", env=environment
        )
        assert await left.wait() == 0
        assert not list(Path(folder).iterdir())


async def _has_started(marker: str) -> bool:
    for _ in range(200):
        await asyncio.sleep(0.05)
        if _list_started(marker):
            return True
    return False


def _list_started(marker: str) -> list[Path]:
    """The folders in /proc of the processes that sleep so long."""
    found: list[Path] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "cmdline").read_bytes().startswith(b"sleep\0" + marker.encode()):
                found.append(entry)
    return found


# T-S4


@at_each_level
async def test_t_s4_nothing_can_be_reached(sandbox: Sandbox, level: int) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        Path(folder).chmod(0o755)
        database = Path(folder) / ".s.PGSQL.5432"
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(database))
        listening.listen()
        database.chmod(0o777)
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        script = f"""
import socket
def reach(family, address):
    try:
        with socket.socket(family) as connection:
            connection.settimeout(2)
            connection.connect(address)
        print("reached", address)
    except OSError as error:
        pass
for address in (("127.0.0.1", {port}), ("169.254.169.254", 80), ("10.0.0.1", 80)):
    reach(socket.AF_INET, address)
reach(socket.AF_INET6, ("::1", {port}))
for path in ({str(database)!r}, "/var/run/docker.sock", "/run/docker.sock"):
    reach(socket.AF_UNIX, path)
try:
    socket.getaddrinfo("example.org", 80)
    print("resolved")
except OSError:
    pass
print("done")
"""
        started = time.monotonic()
        assert await python(sandbox, script, level) == "done"
        assert time.monotonic() - started < 15
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(database))  # it does listen


# T-S5


@needs_root
@at_each_level
async def test_t_s5_started_as_root_nothing_runs_as_root(sandbox: Sandbox, level: int) -> None:
    assert sandbox.account is not None
    script = "id -u; id -g; id -G; : > /proc/sys/kernel/core_pattern; grep -h . /proc/self/status | grep CapEff"
    said = text(await shell(sandbox, script, level)).split("\n")
    uid, gid = sandbox.account.uid, sandbox.account.gid
    assert said[:2] == [str(uid), str(gid)]
    assert 0 not in map(int, said[2].split())
    assert all(line.endswith("\t" + "0" * 16) for line in said[3:])


@needs_root
async def test_t_s5_the_other_account_must_not_be_root() -> None:
    with pytest.raises(ToolError, match="FORGE_SANDBOX_USER"):
        find_account("root")


async def test_t_s5_without_bubblewrap_and_namespaces_the_lower_level_is_named() -> None:
    """As in an ordinary container: mounting and unsharing are refused by a system call filter."""
    script = """
import asyncio, json
from workspace.sandbox import privileges, seccomp
from workspace.sandbox.probing import probe
privileges.renounce(__import__("os").getppid())
seccomp.install(seccomp.filter_for_namespaces())
levels = asyncio.run(probe())
print(json.dumps([[level.level, level.works, level.reason] for level in levels]))
"""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    by_level = {level: (works, reason) for level, works, reason in json.loads(done.stdout)}
    assert by_level[BUBBLEWRAP][0] is False
    assert by_level[BUBBLEWRAP][1]
    assert by_level[LANDLOCK][0] is has_landlock()
    assert by_level[LIMITS][0] is True


async def test_t_s5_without_any_containment_code_of_others_is_refused() -> None:
    none = "bubblewrap (bwrap) is not installed; this kernel has no Landlock (Linux has it since 5.13)"
    for origin, executes in ((CodeOrigin.stranger, False), (CodeOrigin.stranger, True), (CodeOrigin.member, True)):
        refused = choose_containment("eslint", LIMITS, none, origin=origin, executes=executes)
        assert refused.level is None
        assert "eslint" in refused.refusal
        assert none in refused.refusal
        assert choose_containment("eslint", LANDLOCK, "", origin=origin, executes=executes).level == LANDLOCK
    assert choose_containment("ruff", LIMITS, none, origin=CodeOrigin.member, executes=False).level == LIMITS
    assert choose_containment("eslint", LIMITS, none, origin=CodeOrigin.own, executes=True).level == LIMITS


class _Code(Objects):
    """The code of a pull request, as far as the checks ask for it."""

    def __init__(self, change: Change, contents: dict[str, FileVersions]) -> None:
        self._change, self._contents = change, contents

    async def change(self, merge_base: str, head: str, limits: object = None) -> Change:
        return self._change

    async def versions(self, files: Iterable[FileChange]) -> dict[str, FileVersions]:
        return self._contents

    async def read(self, tree: str, paths: Sequence[str], most: int = 0) -> dict[str, bytes]:
        return {}

    async def packages(self, tree: str) -> tuple[str, ...]:
        return ()

    async def read_matching(self, tree: str, patterns: Sequence[str], most: int) -> dict[str, bytes]:
        return {}

    async def has_tests(self, tree: str) -> bool:
        return True


@pytest.mark.parametrize(
    ("from_fork", "trusted", "looked_at"), [(True, False, False), (False, False, True), (True, True, True)]
)
async def test_t_s5_without_any_containment_a_fork_is_not_looked_at(
    from_fork: bool, trusted: bool, looked_at: bool
) -> None:
    change, contents = change_of({"a.py": (None, "import os\n")})
    async with Toolbox.start(sandbox="none") as toolbox:
        checked = await reviewer.check(
            change,
            _Code(change, contents),
            toolbox,
            Configuration(),
            PullRequestAuthor(from_fork),
            _nothing,
            trusted=trusted,
        )
    assert [finding.rule for finding in checked.findings] == (["ruff/F401"] if looked_at else [])
    assert [layer.missing is None for layer in checked.layers] == [looked_at] * 2


async def _nothing() -> None:
    """There is no dependency comparison."""


async def test_t_s5_a_level_that_is_asked_for_and_does_not_work_stops_the_start(sandbox: Sandbox) -> None:
    works = {level.level: level.works for level in sandbox.levels}
    asked: dict[probing.Wanted, int] = {"bwrap": BUBBLEWRAP, "landlock": LANDLOCK}
    for wanted, level in asked.items():
        if works[level]:
            assert Sandbox(probing.select_levels(sandbox.levels, wanted), None).strongest().level == level
        else:
            with pytest.raises(ConfigurationError, match=f"FORGE_SANDBOX is {wanted}"):
                probing.select_levels(sandbox.levels, wanted)


# T-S6


@at_each_level
async def test_t_s6_a_run_finds_nothing_of_the_last_one(sandbox: Sandbox, level: int) -> None:
    places = "$HOME $TMPDIR /tmp /var/tmp /dev/shm ."
    leave = f"for place in {places}; do echo x > $place/left-4711; done; ipcmk -M 4096 > /dev/null; ls $TMPDIR"
    first = await shell(sandbox, leave, level)
    assert text(first) == "left-4711"
    look = f"for place in {places}; do cat $place/left-4711; done; ipcs -m | grep -c 4096"
    second = await shell(sandbox, look, level)
    assert text(second) in ("0", "")
    assert not list(Path(tempfile.gettempdir()).glob("left-4711"))


@needs_root
@pytest.mark.skipif(not has_landlock(), reason="no Landlock here")
async def test_t_s6_who_knows_the_folders_of_another_run_cannot_break_them(sandbox: Sandbox) -> None:
    """Both run under one account; names in the folder for temporary files can be watched."""
    marker = mark_seconds(83)
    victim = asyncio.create_task(shell(sandbox, f"mkdir $TMPDIR/own; pwd; echo $TMPDIR; sleep {marker}", LANDLOCK))
    try:
        assert await _has_started(marker)
        temporary = Path(tempfile.gettempdir())
        mine = temporary.glob(f"forge-*-{os.getpid()}-*")  # another suite may run beside this one
        of_victim = [each for each in mine if list(each.glob("file.txt")) or list(each.glob("*/own"))]
        assert len(of_victim) == 2
        tried = " ".join(f"{each}/* {each}" for each in of_victim)
        said = text(await shell(sandbox, f"ls -d {tried}; chmod 0 {tried} && echo done; touch {tried}", LANDLOCK))
        assert set(said.split("\n")) == set(map(str, of_victim))
        assert all(oct(place.stat().st_mode)[-3:] != "000" for each in of_victim for place in (each, *each.iterdir()))
    finally:
        victim.cancel()
        await asyncio.gather(victim, return_exceptions=True)


@pytest.mark.skipif(not has_landlock(), reason="no Landlock here")
async def test_t_s6_whatever_it_made_is_removed(sandbox: Sandbox) -> None:
    script = """
echo $TMPDIR; cd $TMPDIR
mkdir closed && : > closed/file && chmod 0 closed
i=0; while [ $i -lt 90 ]; do mkdir -p d/d/d/d/d/d/d/d/d/d/d/d && cd d/d/d/d/d/d/d/d/d/d/d/d || break; i=$((i+1)); done
"""
    scratch = Path(text(await shell(sandbox, script, LANDLOCK)))
    assert "-scratch-" in scratch.parent.name
    assert not scratch.parent.exists()
