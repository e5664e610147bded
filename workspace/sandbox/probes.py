"""Attacks that test a sandbox. Runs inside it, as a file of its own, with the standard library only.

    python -I -S attacks.py FACTS

FACTS is JSON. One line is printed for each attack: its name, a tab, and ``refused``, or what was possible.
"""

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import platform
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict

REFUSED, POSSIBLE = "refused", "possible"
SURVIVE = "leave a daemon behind"
END_OTHER = "end a program of another run"
LEAVE_MEMORY = "leave shared memory or queues behind"
PROCESSES = "start more processes than allowed"

_libc = ctypes.CDLL(None, use_errno=True)
_CREATE, _REMOVE, _GET_VALUE, _SET_VALUE = 0o1000, 0, 12, 16  # sys/ipc.h, sys/sem.h
_MQ_OPEN, _MQ_UNLINK = {"x86_64": (240, 241)}.get(platform.machine(), (180, 181))
_VALUE = 42


class VictimFacts(TypedDict):
    """What the attacks need to know.

    :param pid: Forge's process.
    :param namespace: the PID namespace of that process.
    :param file: a file of Forge that every account may read, in a folder where every account may write.
    :param port: a port on loopback at which something listens.
    :param path, abstract: two Unix sockets at which something listens.
    :param other: the folder of another run.
    :param bystander: a process of another run.
    :param semaphore: the number of a semaphore that every account may use.
    :param key: by which this run shares memory, if it can.
    :param memory, size, processes: the limits, in bytes and in number.
    :param patience: how long, in seconds, to wait for being stopped for too many processes.
    """

    pid: int
    namespace: str
    file: str
    port: int
    path: str
    abstract: str
    other: str
    bystander: int
    semaphore: int
    key: int
    memory: int
    size: int
    processes: int
    patience: float


def _be_root(_: VictimFacts) -> None:
    if 0 not in (os.getuid(), os.geteuid()):
        raise PermissionError


def _read_shadow(_: VictimFacts) -> None:
    Path("/etc/shadow").read_bytes()


def _read_environment(facts: VictimFacts) -> None:
    if any(name.startswith(("FORGE_", "ANTHROPIC_", "OPENAI_")) for name in os.environ):
        return
    _same_namespace(facts)
    Path(f"/proc/{facts['pid']}/environ").read_bytes()


def _read_memory(facts: VictimFacts) -> None:
    _same_namespace(facts)
    with Path(f"/proc/{facts['pid']}/mem").open("rb"):
        pass


def _list_processes(facts: VictimFacts) -> None:
    _same_namespace(facts)
    list(Path(f"/proc/{facts['pid']}").iterdir())


def _read_file(facts: VictimFacts) -> None:
    Path(facts["file"]).read_bytes()


def _change_file(facts: VictimFacts) -> None:
    path = Path(facts["file"])
    with contextlib.suppress(OSError):
        path.chmod(0o644)
        return
    path.with_name(f"new-{os.getpid()}").touch()


def _change_input(_: VictimFacts) -> None:
    Path(f"new-{os.getpid()}").touch()


def _loopback(facts: VictimFacts) -> None:
    socket.create_connection(("127.0.0.1", facts["port"]), timeout=2).close()


def _unix(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)


def _signal(facts: VictimFacts) -> None:
    _same_namespace(facts)
    os.kill(facts["pid"], 0)


def _end_other(facts: VictimFacts) -> None:
    """Whether this succeeded shows only after the run."""
    _same_namespace(facts)
    process, kill = facts["bystander"], signal.SIGKILL
    numbers = {"x86_64": (200, 234, 129), "aarch64": (130, 131, 138)}[platform.machine()]
    for attempt in (
        lambda: os.kill(process, kill),
        lambda: _check_call(_libc.syscall(numbers[0], process, kill)),
        lambda: _check_call(_libc.syscall(numbers[1], process, process, kill)),
        lambda: _check_call(_libc.syscall(numbers[2], process, kill, struct.pack("=iiii112x", kill, 0, -1, 0))),
        lambda: signal.pidfd_send_signal(os.pidfd_open(process), kill),
        lambda: _end_by_file(lambda file: fcntl.fcntl(file, fcntl.F_SETOWN, process)),
        lambda: _end_by_file(lambda file: fcntl.fcntl(file, 15, struct.pack("=ii", 1, process))),  # F_SETOWN_EX
        lambda: _end_by_file(lambda file: fcntl.ioctl(file, 0x8901, struct.pack("=i", process))),  # FIOSETOWN
    ):
        with contextlib.suppress(OSError):
            attempt()


def _end_by_file(set_owner: Callable[[int], object]) -> None:
    """Have the kernel signal the owner of a socket that something can be read from it."""
    mine, other = socket.socketpair()
    with mine, other:
        with contextlib.suppress(OSError):
            fcntl.fcntl(mine, 10, signal.SIGKILL)  # F_SETSIG
        set_owner(mine.fileno())
        fcntl.fcntl(mine, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        other.send(b"x")


def _break_folder(facts: VictimFacts) -> None:
    Path(facts["other"], "code").chmod(0)


def _change_times(facts: VictimFacts) -> None:
    """Forge removes what is old."""
    with contextlib.suppress(OSError):
        os.utime(f"{facts['other']}/code")
        return
    os.utime(facts["file"], (1, 1))


def make_semaphore() -> int:
    """The number of a semaphore that every account may use, as other programs have; -1 if none can be made."""
    found = _libc.semget(0, 1, _CREATE | 0o666)
    if found >= 0:
        _libc.semctl(found, 0, _SET_VALUE, _VALUE)
    return found


def remove_semaphore(number: int) -> None:
    _libc.semctl(number, 0, _REMOVE)


def _use_semaphore(facts: VictimFacts) -> None:
    """In another namespace the number means another one, or none."""
    if _libc.semctl(facts["semaphore"], 0, _GET_VALUE) != _VALUE:
        raise PermissionError


def _share(facts: VictimFacts) -> None:
    """Whether this succeeded shows only after the run."""
    key = facts["key"]
    _libc.shmget(key, 1, _CREATE | 0o666)
    _libc.msgget(key, _CREATE | 0o666)
    _libc.semget(key, 1, _CREATE | 0o666)
    _libc.syscall(_MQ_OPEN, str(key).encode(), os.O_CREAT | os.O_RDWR, 0o666, None)


def remove_shared(key: int) -> bool:
    """Whether memory or a queue is there that was shared by a key; it is removed."""
    segment, queue, semaphore = _libc.shmget(key, 0, 0), _libc.msgget(key, 0), _libc.semget(key, 0, 0)
    if segment >= 0:
        _libc.shmctl(segment, _REMOVE, None)
    if queue >= 0:
        _libc.msgctl(queue, _REMOVE, None)
    if semaphore >= 0:
        remove_semaphore(semaphore)
    return max(segment, queue, semaphore, _libc.syscall(_MQ_UNLINK, str(key).encode())) >= 0


def _be_last_to_go(_: VictimFacts) -> None:
    Path("/proc/self/oom_score_adj").write_text("0")


def _hide_memory(_: VictimFacts) -> None:
    """Buffers of the default size remain: the kernel gives them to each pipe and socket."""
    private, size = 0, 1 << 16
    for attempt in (
        lambda: os.close(os.memfd_create("memory")),
        lambda: _check_call(_libc.shmctl(_check_call(_libc.shmget(private, size, 0o600)), 0, 0)),
        lambda: _check_call(_libc.msgctl(_check_call(_libc.msgget(private, 0o600)), 0, 0)),
        lambda: _check_call(_libc.semctl(_check_call(_libc.semget(private, 1, 0o600)), 0, 0)),
        lambda: _enlarge_buffer(socket.SO_SNDBUF),
        lambda: _enlarge_buffer(socket.SO_RCVBUF),
    ):
        with contextlib.suppress(OSError):
            attempt()
            return
    raise PermissionError


def _enlarge_buffer(option: int) -> None:
    """:raises PermissionError: it stayed as it was, whatever the kernel answered."""
    mine, other = socket.socketpair()
    with mine, other:
        before = mine.getsockopt(socket.SOL_SOCKET, option)
        mine.setsockopt(socket.SOL_SOCKET, option, 2 * before)
        if mine.getsockopt(socket.SOL_SOCKET, option) <= before:
            raise PermissionError


def _trace(facts: VictimFacts) -> None:
    _same_namespace(facts)
    seize = 0x4206
    _check_call(_libc.ptrace(seize, facts["pid"], 0, 0))


def _namespaces(_: VictimFacts) -> None:
    new_user = 0x10000000
    child = os.fork()
    if child == 0:
        os._exit(1 if _libc.unshare(new_user) else 0)
    _check_call(-os.waitpid(child, 0)[1])


def _kernel(_: VictimFacts) -> None:
    numbers = {"x86_64": (248, 425), "aarch64": (217, 425)}[platform.machine()]
    own_process = -2
    with contextlib.suppress(OSError):
        _check_call(_libc.syscall(numbers[0], b"user", b"forge", b"x", 1, own_process))
        return
    _check_call(_libc.syscall(numbers[1], 1, ctypes.create_string_buffer(120)))


def _settings(_: VictimFacts) -> None:
    Path("/proc/sys/kernel/core_pattern").open("r+b").close()


def _memory(facts: VictimFacts) -> None:
    mmap.mmap(-1, 2 * facts["memory"]).close()


def _file_size(facts: VictimFacts) -> None:
    with tempfile.TemporaryFile(buffering=0) as file:
        file.seek(facts["size"])
        file.write(b"x")


def _daemon(_: VictimFacts) -> None:
    """Whether this succeeded shows only after the run."""
    if os.fork() == 0:
        with contextlib.suppress(OSError):
            os.setsid()
        if os.fork() == 0:
            os.closerange(0, 3)
            time.sleep(30)
        os._exit(0)
    os.wait()


def _bomb(facts: VictimFacts) -> None:
    children: list[int] = []
    try:
        for _ in range(2 * facts["processes"]):
            child = os.fork()
            if child == 0:
                time.sleep(30)
                os._exit(0)
            children.append(child)
        time.sleep(facts["patience"])
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)


def _same_namespace(facts: VictimFacts) -> None:
    """Raises an error in another PID namespace, where the number means another process."""
    try:
        mine = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return
    if mine != facts["namespace"]:
        raise ProcessLookupError


def _check_call(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return answer


ATTACKS: Mapping[str, Callable[[VictimFacts], None]] = {
    "be root": _be_root,
    "read /etc/shadow": _read_shadow,
    "read Forge's environment": _read_environment,
    "read Forge's memory": _read_memory,
    "trace Forge": _trace,
    "signal Forge": _signal,
    END_OTHER: _end_other,
    "break the folder of another run": _break_folder,
    "list other processes": _list_processes,
    "read a file of Forge": _read_file,
    "change a file of Forge": _change_file,
    "change times of Forge's files": _change_times,
    "change its input": _change_input,
    "connect to loopback": _loopback,
    "connect to a Unix socket": lambda facts: _unix(facts["path"]),
    "connect to an abstract socket": lambda facts: _unix("\0" + facts["abstract"]),
    "use a semaphore of others": _use_semaphore,
    LEAVE_MEMORY: _share,
    "make a namespace": _namespaces,
    "use keys or io_uring": _kernel,
    "change kernel settings": _settings,
    "take more memory than allowed": _memory,
    "hold memory that no process counts beyond default buffers": _hide_memory,
    "be killed later than others when memory runs out": _be_last_to_go,
    "write a larger file than allowed": _file_size,
    SURVIVE: _daemon,
    PROCESSES: _bomb,
}
"""The attacks, in this order: a process bomb may be stopped for it, so it comes last."""


def main() -> None:
    """Try all attacks, and print the results."""
    facts: VictimFacts = json.loads(sys.argv[1])
    for name, attack in ATTACKS.items():
        try:
            attack(facts)
        except (OSError, MemoryError):
            answer = REFUSED
        except Exception as error:
            answer = f"it ended with {type(error).__name__}"
        else:
            answer = POSSIBLE
        sys.stdout.write(f"{name}\t{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
