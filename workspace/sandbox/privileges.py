"""Drops privileges before a process reads untrusted input: its account, new privileges, and outliving its parent.

The launcher of level 2 imports this before every program it starts, so it imports almost nothing itself.
"""

# pathlib would cost milliseconds.
# ruff: noqa: PTH123

import ctypes
import os
import resource

_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25
_SET_DEATH_SIGNAL, _SET_DUMPABLE, _SET_NO_NEW_PRIVILEGES = 1, 4, 38

_libc = ctypes.CDLL(None, use_errno=True)


def drop_account(uid: int, gid: int, *groups: int) -> None:
    """Become another account for good. Only root can.

    :param groups: further ones that it is in.
    """
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def renounce(parent: int) -> None:
    """Refuse new privileges and debuggers, and die with the parent.

    :param parent: process number of the parent; if it is dead already, this process ends here.
    """
    _libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    _libc.prctl(_SET_DEATH_SIGNAL, _SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def limit(limits: dict[int, int]) -> None:
    """Set resource limits, soft and hard, as far as the present hard limits go.

    For processor time the hard limit is a second later, so that SIGXCPU tells what ended the process.
    """
    for name, wanted in limits.items():
        hard = resource.getrlimit(name)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        most = value + 1 if name == resource.RLIMIT_CPU and hard in (resource.RLIM_INFINITY, value + 1) else value
        resource.setrlimit(name, (value, most))


def be_first_to_go() -> None:
    """Have this process and its children killed before others when the machine runs out of memory."""
    try:
        with open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
    except OSError:
        return


def default_signals() -> None:
    """Restore the default for two signals that Python ignores; programs expect it."""
    for number in (_SIGPIPE, _SIGXFSZ):
        _libc.signal(number, 0)
