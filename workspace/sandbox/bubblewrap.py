"""Level 3: the command line of bubblewrap, and the file descriptor with its system call filter."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from workspace.sandbox import seccomp
from workspace.sandbox.launcher import SYSTEM, SYSTEM_FILES

INSIDE = Path("/workspace")
"""Where the program sees its folder."""
PATH = "/usr/local/bin:/usr/bin:/bin"


def build_path(tools: Sequence[Path]) -> str:
    """Where a program is searched: in the ``bin`` of the operator's folders first."""
    return ":".join([*(f"{folder}/bin" for folder in tools), PATH])


_MEGABYTE = 1 << 20


def command_line(
    folder: Path,
    rules: int,
    reads: Iterable[Path] = (),
    writable: Iterable[str] = (),
    start: str = "",
    environment: Mapping[str, str] | None = None,
) -> list[str]:
    """The bubblewrap command line, up to the program.

    :param folder: the program sees it, read-only, as ``INSIDE``.
    :param rules: open file descriptor with a BPF program.
    :param reads: further folders that it sees, read-only, at their own paths.
    :param writable: names of folders in ``folder`` that it may change.
    :param start: the folder in ``folder`` that is its current directory.
    :param environment: variables for the program only: in bubblewrap's own environment they could load code outside.
    """
    argv = ["bwrap", "--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--disable-userns"]
    argv += ["--cap-drop", "ALL"]
    for path in SYSTEM:
        target = Path(path)
        if target.is_symlink():
            argv += ["--symlink", str(target.readlink()), path]
        elif target.is_dir():
            argv += ["--ro-bind", path, path]
    argv += ["--size", str(256 * _MEGABYTE), "--tmpfs", "/tmp"]
    for path in (*SYSTEM_FILES, *map(str, reads)):
        argv += ["--ro-bind-try", path, path]
    argv += ["--dev", "/dev", "--size", str(64 * _MEGABYTE), "--tmpfs", "/dev/shm"]
    argv += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    argv += ["--ro-bind", str(folder), str(INSIDE), "--chdir", str(INSIDE / start)]
    for name in writable:
        argv += ["--bind", str(folder / name), str(INSIDE / name)]
    for name, value in (environment or {}).items():
        argv += ["--setenv", name, value]
    argv += ["--remount-ro", "/dev", "--remount-ro", "/"]
    return [*argv, "--seccomp", str(rules)]


def filter_file() -> int:
    """An open file with the system call filter; the caller closes it.

    :raises OSError: there is no filter for this processor.
    """
    program = seccomp.filter_for_namespaces()
    descriptor = os.memfd_create("forge-seccomp")
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
