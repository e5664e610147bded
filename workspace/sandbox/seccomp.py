"""System call filters for sandboxed processes, as BPF programs for the kernel.

The launcher of level 2 imports this before every program it starts, so it imports almost nothing itself.
"""

import ctypes
import errno
import os
import struct

Step = tuple[int, int, int, int]

# Numbers on (x86_64, aarch64); -1 where there is no such call.
Calls = dict[str, tuple[int, int]]

# Calls that no tool needs and most escapes begin with.
_FORBIDDEN: Calls = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "setns": (308, 268),
    "unshare": (272, 97),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "open_by_handle_at": (304, 265),
}

# Memory that no process needs to map, so that nothing counts it. Answered as by a kernel that lacks them: what knows
# them (.NET, wasmtime, ZGC, Chromium) then does without, or takes a file. Queues and semaphores of System V hold some
# 500 MB each by default.
_UNCOUNTED: Calls = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "msgget": (68, 186),
    "semget": (64, 190),
}
_LARGEST_SEGMENT = 1 << 12  # bytes of shared memory by shmget, a page for each of 4,096; PostgreSQL needs 56
# Answered with success but not done, as the kernel does above its own limit: SO_SNDBUF, SO_RCVBUF, and their FORCE.
_SETSOCKOPT, _SOL_SOCKET, _BUFFERS = (54, 208), 1, (7, 8, 32, 33)

# At level 3 namespaces do this: no network, and nothing that outlives the process or reaches another one. Not only new
# queues, semaphores and segments are refused: whoever guesses the number of one may use it.
_SHARED: Calls = {
    "socket": (41, 198),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
}
# Calls that may target another process, whose number is the first argument. 0 is the caller.
_ON_OTHERS: Calls = {
    "prlimit64": (302, 261),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
}
# Landlock does not restrict these calls. They reach all files of the same account.
_BY_PATH: Calls = {
    "chmod": (90, -1),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "truncate": (76, 45),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
}
_UTIMENSAT = (280, 88)  # without a path it is about an open file, where Landlock has had its say
# Answered with success but not done: a process that stays in its group is killed with it.
_LEAVING: Calls = {"setsid": (112, 157), "setpgid": (109, 154)}
_SIGNALS: Calls = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}
# Calls whose second argument says what they do: here, whom the kernel signals when a file is ready (F_SETOWN, F_SETSIG,
# F_SETOWN_EX; FIOSETOWN, SIOCSPGRP).
_SIGNALS_BY_FILE: dict[tuple[int, int], tuple[int, ...]] = {(72, 25): (8, 10, 15), (16, 29): (0x8901, 0x8902)}
_PROCESSES: Calls = {
    "clone": (56, 220),
    "fork": (57, -1),
    "vfork": (58, -1),
    "execve": (59, 221),
    "execveat": (322, 281),
}
_CLONE, _CLONE3, _SOCKET, _SECCOMP, _SHMGET = (56, 220), (435, 435), (41, 198), (317, 277), (29, 194)
_NAMESPACES = 0x7E020000  # the CLONE_NEW flags
_FAMILIES = (1, 2, 10)  # unix, inet, inet6: vsock and others are not part of a network namespace

_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_FIRST_ARGUMENT, _SECOND_ARGUMENT, _SECOND_UPPER_HALF, _THIRD_ARGUMENT = 16, 24, 28, 32


def filter_for_namespaces() -> bytes:
    """The filter for level 3, where namespaces hide the network, the files and the other processes.

    :raises OSError: this processor is not known.
    """
    steps = [*_refuse(_FORBIDDEN), *_limit_segments()]
    steps += [(_EQUAL, 0, len(_FAMILIES) + 3, _SOCKET[_machine()[1]]), (_LOAD, 0, 0, _FIRST_ARGUMENT)]
    steps += [(_EQUAL, len(_FAMILIES) - index, 0, family) for index, family in enumerate(_FAMILIES)]
    steps += [(_GIVE, 0, 0, _REFUSE | errno.EPERM), (_GIVE, 0, 0, _ALLOW)]
    return _program(steps)


def filter_for_shared(*, signals: bool, own_account: bool) -> bytes:
    """The filter for level 2, where the process shares the machine with all others.

    :param signals: whether Landlock keeps signals inside; if it cannot, no signals are allowed.
    :param own_account: whether the process has an account of its own, whose files it may change freely.
    :raises OSError: this processor is not known.
    """
    refused = _FORBIDDEN | _SHARED
    refused |= {} if signals else _SIGNALS
    refused |= {} if own_account else _BY_PATH
    steps = [*_refuse(refused), *([] if signals else _refuse_signals_by_file())]
    for numbers in _LEAVING.values():
        steps += _answer(numbers, _REFUSE)
    steps += [] if own_account else _refuse_times_by_path()
    for numbers in _ON_OTHERS.values():
        steps += _when(numbers, (_EQUAL, 0, 1, 0), then=_ALLOW, otherwise=_REFUSE | errno.EPERM)
    steps += _when(_CLONE, (_ANY_OF, 0, 1, _NAMESPACES), then=_REFUSE | errno.EPERM, otherwise=_ALLOW)
    return _program(steps)


def filter_for_parser() -> bytes:
    """An additional filter for a parser, which needs no other processes."""
    return _program([*_refuse(_PROCESSES | _SIGNALS), *_refuse_signals_by_file()])


def install(program: bytes) -> None:
    """Apply a filter to the calling thread and to all it starts. This cannot be undone.

    :raises OSError: the kernel refused.
    """
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    set_mode_filter = 1
    if libc.syscall(_SECCOMP[_machine()[1]], set_mode_filter, 0, header) != 0:
        raise OSError(ctypes.get_errno(), "the kernel does not take a system call filter")


def _machine() -> tuple[int, int]:
    """(the kernel's name of this architecture, the column of its call numbers)."""
    name = os.uname().machine
    if name not in _MACHINES:
        raise OSError(errno.ENOSYS, f"there is no system call filter for {name}")
    return _MACHINES[name]


def _program(steps: list[Step]) -> bytes:
    """The steps after a check of the calling convention. Anything not refused is allowed.

    ``clone3`` hides its flags from filters, so it answers ENOSYS and C libraries use ``clone``.
    """
    audit, column = _machine()
    code: list[Step] = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_GIVE, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if column == 0:
        x32 = 0x40000000
        code += [(_AT_LEAST, 0, 1, x32), (_GIVE, 0, 0, _REFUSE | errno.ENOSYS)]
    for numbers in (_CLONE3, *_UNCOUNTED.values()):
        code += _answer(numbers, _REFUSE | errno.ENOSYS)
    code += [*_keep_buffers(), *steps, (_GIVE, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *step) for step in code)


def _refuse(calls: Calls) -> list[Step]:
    return [step for numbers in calls.values() for step in _answer(numbers, _REFUSE | errno.EPERM)]


def _answer(numbers: tuple[int, int], answer: int) -> list[Step]:
    number = numbers[_machine()[1]]
    return [] if number < 0 else [(_EQUAL, 0, 1, number), (_GIVE, 0, 0, answer)]


def _refuse_signals_by_file() -> list[Step]:
    steps: list[Step] = []
    for numbers, orders in _SIGNALS_BY_FILE.items():
        tests: list[Step] = [(_EQUAL, len(orders) - index, 0, order) for index, order in enumerate(orders)]
        steps += [(_EQUAL, 0, len(orders) + 3, numbers[_machine()[1]]), (_LOAD, 0, 0, _SECOND_ARGUMENT), *tests]
        steps += [(_GIVE, 0, 0, _ALLOW), (_GIVE, 0, 0, _REFUSE | errno.EPERM)]
    return steps


def _keep_buffers() -> list[Step]:
    """Leaves the buffers of sockets as large as they are, whatever a program asks for."""
    tests: list[Step] = [(_EQUAL, len(_BUFFERS) - index, 0, option) for index, option in enumerate(_BUFFERS)]
    return [
        (_EQUAL, 0, len(tests) + 5, _SETSOCKOPT[_machine()[1]]),
        (_LOAD, 0, 0, _SECOND_ARGUMENT),
        (_EQUAL, 0, len(tests) + 1, _SOL_SOCKET),
        (_LOAD, 0, 0, _THIRD_ARGUMENT),
        *tests,
        (_GIVE, 0, 0, _ALLOW),
        (_GIVE, 0, 0, _REFUSE),
    ]


def _refuse_times_by_path() -> list[Step]:
    return [
        (_EQUAL, 0, 6, _UTIMENSAT[_machine()[1]]),
        (_LOAD, 0, 0, _SECOND_ARGUMENT),
        (_EQUAL, 0, 3, 0),
        (_LOAD, 0, 0, _SECOND_UPPER_HALF),
        (_EQUAL, 0, 1, 0),
        (_GIVE, 0, 0, _ALLOW),
        (_GIVE, 0, 0, _REFUSE | errno.EPERM),
    ]


def _limit_segments() -> list[Step]:
    """Refuses large shared memory, which lasts when no process maps it."""
    return [
        (_EQUAL, 0, 6, _SHMGET[_machine()[1]]),
        (_LOAD, 0, 0, _SECOND_UPPER_HALF),
        (_EQUAL, 0, 2, 0),
        (_LOAD, 0, 0, _SECOND_ARGUMENT),
        (_AT_LEAST, 0, 1, _LARGEST_SEGMENT + 1),
        (_GIVE, 0, 0, _REFUSE | errno.ENOMEM),
        (_GIVE, 0, 0, _ALLOW),
    ]


def _when(numbers: tuple[int, int], test: Step, *, then: int, otherwise: int) -> list[Step]:
    """Decides a call by its first argument."""
    number = numbers[_machine()[1]]
    found: Step = (_EQUAL, 0, 4, number)
    return [found, (_LOAD, 0, 0, _FIRST_ARGUMENT), test, (_GIVE, 0, 0, then), (_GIVE, 0, 0, otherwise)]
