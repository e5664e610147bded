"""What a process gives up before it touches untrusted input: its account, its right to more, and life after its parent.

Imported by the launcher of level 2 before every program it starts, so it imports next to nothing itself.
"""

# pathlib would cost milliseconds.
# ruff: noqa: PTH123

import ctypes
import os
import resource

_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25
_SET_DEATH_SIGNAL, _SET_DUMPABLE, _SET_NO_NEW_PRIVILEGES = 1, 4, 38

_libc = ctypes.CDLL(None, use_errno=True)


def drop_account(uid: int, gid: int) -> None:
    """Become another account for good. Only root can."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def renounce(parent: int) -> None:
    """Refuse new privileges, be closed to debuggers, and die with the parent.

    :param parent: process number of the parent; if it is dead already, this process ends here.
    """
    _libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    _libc.prctl(_SET_DEATH_SIGNAL, _SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def limit(limits: dict[int, int]) -> None:
    """Set resource limits, soft and hard, as far as the present hard limits go."""
    for name, wanted in limits.items():
        hard = resource.getrlimit(name)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(name, (value, value))


def be_first_to_go() -> None:
    """When the machine runs out of memory, this process and its children are killed before others."""
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
    except OSError:
        return


def default_signals() -> None:
    """Undo what Python does to two signals; programs expect the default."""
    for number in (_SIGPIPE, _SIGXFSZ):
        _libc.signal(number, 0)
