"""Finds out which sandbox levels work on this machine, by attacking them."""

import asyncio
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Collection, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from domain.errors import ConfigurationError, ToolError
from workspace.safe_copy import temporary_folder
from workspace.sandbox import bubblewrap, landlock, probes
from workspace.sandbox.accounts import find_account
from workspace.sandbox.launcher import SYSTEM
from workspace.sandbox.sandbox import (
    BUBBLEWRAP,
    LANDLOCK,
    LIMITS,
    Attack,
    Completed,
    Sandbox,
    SandboxCommand,
    SandboxLevel,
)

Wanted = Literal["auto", "bwrap", "landlock", "none"]
"""The setting FORGE_SANDBOX."""

NAMES = {LIMITS: "limits", LANDLOCK: "landlock", BUBBLEWRAP: "bubblewrap"}

ALWAYS_REFUSED = frozenset({"be root", "take more memory than allowed", "write a larger file than allowed"})
"""The attacks that level 1 refuses on every machine. Levels 2 and 3 refuse every attack."""

_WANTED = {"bwrap": BUBBLEWRAP, "landlock": LANDLOCK, "none": LIMITS}
_MEMORY, _FILE, _PROCESSES = 512 << 20, 64 << 20, 16
# For machines on which the sandbox's account cannot reach Python.
_IN_SHELL = """
try() { name=$1; shift; if "$@" >/dev/null 2>&1; then echo "$name\tpossible"; else echo "$name\trefused"; fi; }
try "be root" [ "$(id -u)" = 0 ]
try "read /etc/shadow" cat /etc/shadow
try "read Forge's environment" grep -qa FORGE_ "/proc/$2/environ"
try "read a file of Forge" cat "$1"
try "change a file of Forge" sh -c ': > "$1.new"' sh "$1"
try "change times of Forge's files" touch -c -d @1 "$1"
try "change its input" sh -c ': > new'
try "break the folder of another run" chmod 0 "$3/code"
try "be killed later than others when memory runs out" sh -c 'echo 0 > /proc/self/oom_score_adj'
try "change kernel settings" sh -c ': > /proc/sys/kernel/core_pattern'
"""

_known: dict[str, tuple[SandboxLevel, ...]] = {}  # by account; a machine does not change while a process runs


async def make_sandbox(user: str = "nobody", wanted: Wanted = "auto") -> Sandbox:
    """This machine's sandbox, as the operator wants it.

    :param user: account that untrusted work runs under when Forge is root (``FORGE_SANDBOX_USER``).
    :raises ConfigurationError: the wanted level does not work here.
    :raises ToolError: no level works, or there is no such account.
    """
    if user not in _known:
        _known[user] = await probe(user)
    return Sandbox(select_levels(_known[user], wanted), find_account(user))


def select_levels(levels: Collection[SandboxLevel], wanted: Wanted) -> tuple[SandboxLevel, ...]:
    """The levels, with those switched off that the operator does not want.

    :raises ConfigurationError: the wanted level does not work.
    :raises ToolError: no level works.
    """
    if not any(level.works for level in levels):
        raise ToolError("; ".join(f"Sandbox level {level.level} does not work: {level.reason}" for level in levels))
    if wanted == "auto":
        return tuple(levels)
    allowed = {LIMITS, _WANTED[wanted]}
    found = next(level for level in levels if level.level == _WANTED[wanted])
    if not found.works:
        raise ConfigurationError(
            f"FORGE_SANDBOX is {wanted}, which does not work here: {found.reason}.",
            "Set it to auto for the strongest level that does, and see `forge doctor`.",
        )
    off = f"FORGE_SANDBOX is {wanted}"
    return tuple(
        level if level.level in allowed or not level.works else replace(level, works=False, reason=off)
        for level in levels
    )


async def probe(user: str = "nobody") -> tuple[SandboxLevel, ...]:
    """Attack every level: which ones work on this machine, and why the others do not."""
    return tuple(await asyncio.gather(*(_probe_level(level, user) for level in NAMES)))


async def _probe_level(level: int, user: str) -> SandboxLevel:
    name = NAMES[level]
    try:
        _prerequisites(level)
        found, said = await _attack(level, user)
    except (ToolError, OSError) as error:
        reason = error.message.rstrip(".") if isinstance(error, ToolError) else str(error.strerror)
        return SandboxLevel(level, name, works=False, reason=reason)
    if not found:
        return SandboxLevel(level, name, works=False, reason=said[-300:] or "nothing could be started at it")
    possible = [
        attack.name for attack in found if attack.refused is False and (level > LIMITS or attack.name in ALWAYS_REFUSED)
    ]
    reason = f"code could {', '.join(possible)}" if possible else ""
    return SandboxLevel(level, name, works=not possible, reason=reason, attacks=found)


def _prerequisites(level: int) -> None:
    """Check what a level needs, so that the reason is short if it is missing.

    :raises OSError: the kernel lacks something.
    :raises ToolError: a program is missing.
    """
    if level == LANDLOCK:
        landlock.version()
    if level == BUBBLEWRAP and shutil.which("bwrap", path=bubblewrap.PATH) is None:
        raise ToolError("bubblewrap (bwrap) is not installed.")


async def _attack(level: int, user: str) -> tuple[tuple[Attack, ...], str]:
    """The result of each attack, none if nothing could be started; and what the program printed as errors."""
    candidate = Sandbox((), find_account(user))
    with _victim(level, candidate) as (facts, bystander), candidate.folder() as folder:
        shutil.copyfile(probes.__file__, folder / "attacks.py")
        (folder / "attacks.py").chmod(0o644)
        done = await candidate.try_level(_in_python(facts, folder), level)
        if b"\t" not in done.stdout.data:
            done = await candidate.try_level(_in_shell(facts, folder), level)
        survived = await _has_survivors(facts["file"], seconds=0 if level == LIMITS else 3)
        late = {
            probes.SURVIVE: not survived,
            probes.END_OTHER: bystander.poll() is None,
            probes.LEAVE_MEMORY: not probes.remove_shared(facts["key"]),
        }
    return _verdicts(done, late), done.stderr.data.decode(errors="replace").strip()


def _in_python(facts: probes.VictimFacts, folder: Path) -> SandboxCommand:
    python = Path(sys.executable).resolve()
    reads = () if any(python.is_relative_to(known) for known in SYSTEM) else (Path(sys.base_prefix),)
    argv = (str(python), "-I", "-S", "-B", "attacks.py", json.dumps(facts))
    return SandboxCommand(argv, folder, memory=_MEMORY, processes=_PROCESSES, reads=reads)


def _in_shell(facts: probes.VictimFacts, folder: Path) -> SandboxCommand:
    argv = ("/bin/sh", "-c", _IN_SHELL, "sh", facts["file"], str(facts["pid"]), facts["other"])
    return SandboxCommand(argv, folder, memory=_MEMORY)


def _verdicts(done: Completed, late: Mapping[str, bool]) -> tuple[Attack, ...]:
    """The verdict on each attack. If the run was stopped while it started processes, that attack was refused.

    :param late: attack → whether it was refused, which shows only after the run.
    """
    lines = [line.partition("\t") for line in done.stdout.data.decode(errors="replace").splitlines()]
    answers = {name: answer == probes.REFUSED for name, _, answer in lines}
    if not answers:
        return ()
    if probes.SURVIVE in answers:
        answers |= late
        answers.setdefault(probes.PROCESSES, done.status not in (None, 0))
    return tuple(Attack(name, answers.get(name)) for name in probes.ATTACKS)


@contextmanager
def _victim(level: int, sandbox: Sandbox) -> Generator[tuple[probes.VictimFacts, subprocess.Popen[bytes]]]:
    """The targets of the attacks: this process, a file, sockets at which something listens, and another run."""
    with temporary_folder("probe") as folder, sandbox.folder() as other, ExitStack() as stack:
        account, uid, gid = sandbox.account, None, None
        (other / "code").mkdir(0o700)
        if account is not None:
            uid, gid = account.uid, account.gid
            os.chown(other / "code", uid, gid)
        bystander = stack.enter_context(subprocess.Popen(["sleep", "100"], cwd="/", user=uid, group=gid))
        stack.callback(bystander.kill)
        folder.chmod(0o777)
        file = folder / "file"
        file.write_text("x")
        file.chmod(0o644)
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        path, abstract = str(folder / "socket"), f"forge-{uuid.uuid4()}"
        for address in (path, "\0" + abstract):
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(address)
            listening.listen()
        Path(path).chmod(0o777)
        semaphore = probes.make_semaphore()
        stack.callback(probes.remove_semaphore, semaphore)
        facts = probes.VictimFacts(
            pid=os.getpid(),
            namespace=str(Path("/proc/self/ns/pid").readlink()),
            file=str(file),
            port=port,
            path=path,
            abstract=abstract,
            other=str(other),
            bystander=bystander.pid,
            semaphore=semaphore,
            key=1 + secrets.randbelow(1 << 30),
            memory=_MEMORY,
            size=_FILE,
            processes=_PROCESSES,
            patience=0 if level == LIMITS else 5,
        )
        yield facts, bystander


async def _has_survivors(marker: str, seconds: float) -> bool:
    """Whether a process with this in its command line is left after some seconds; it is killed then."""
    for _ in range(1 + int(50 * seconds)):
        if not _find_processes(marker):
            return False
        await asyncio.sleep(0.02)
    for pid in _find_processes(marker):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return True


def _find_processes(marker: str) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found
