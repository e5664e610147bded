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
IN_MEMORY = {"/tmp": 256 * _MEGABYTE, "/dev/shm": 64 * _MEGABYTE}
"""The folders that a program may fill beside its own → how many bytes they take; their files are counted outside."""


def command_line(
    folder: Path,
    rules: int,
    variables: int,
    hosts: int,
    reads: Iterable[Path] = (),
    writable: Iterable[str] = (),
    start: str = "",
) -> list[str]:
    """The bubblewrap command line, up to the program.

    :param folder: the program sees it, read-only, as ``INSIDE``.
    :param rules: open file descriptor with a BPF program.
    :param variables: open file descriptor of :func:`variables_file`.
    :param hosts: open file descriptor of :func:`hosts_file`.
    :param reads: further folders that it sees, read-only, at their own paths.
    :param writable: names of folders in ``folder`` that it may change.
    :param start: the folder in ``folder`` that is its current directory.
    """
    argv = ["bwrap", "--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--disable-userns"]
    argv += ["--cap-drop", "ALL"]
    for path in SYSTEM:
        target = Path(path)
        if target.is_symlink():
            argv += ["--symlink", str(target.readlink()), path]
        elif target.is_dir():
            argv += ["--ro-bind", path, path]
    argv += ["--size", str(IN_MEMORY["/tmp"]), "--tmpfs", "/tmp"]
    for path in (*SYSTEM_FILES, *map(str, reads)):
        argv += ["--ro-bind-try", path, path]
    argv += ["--ro-bind-data", str(hosts), "/etc/hosts"]
    argv += ["--dev", "/dev", "--size", str(IN_MEMORY["/dev/shm"]), "--tmpfs", "/dev/shm"]
    argv += ["--proc", "/proc"]
    argv += ["--ro-bind", str(folder), str(INSIDE), "--chdir", str(INSIDE / start)]
    for name in writable:
        argv += ["--bind", str(folder / name), str(INSIDE / name)]
    argv += ["--args", str(variables)]
    # A writable /proc would let it take back that it is the first to be killed when memory runs out.
    argv += ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"]
    return [*argv, "--seccomp", str(rules)]


def variables_file(environment: Mapping[str, str]) -> int:
    """An open file that sets variables for the program only; the caller closes it.

    In bubblewrap's own environment they could load code outside, and in its command line every account of the machine
    could read them.

    :raises ValueError: a variable holds a NUL, which would begin another option.
    """
    words = [word for name, value in environment.items() for word in ("--setenv", name, value)]
    if any("\0" in word for word in words):
        raise ValueError("a variable of a program holds a NUL")
    return _write_file("forge-variables", "".join(f"{word}\0" for word in words).encode("utf-8", "surrogateescape"))


def hosts_file() -> int:
    """An open file with the only names that have an address inside; the caller closes it.

    Servers that tests start look up `localhost`. The machine's own file would name others of its network.
    """
    return _write_file("forge-hosts", b"127.0.0.1 localhost\n::1 localhost\n")


def filter_file() -> int:
    """An open file with the system call filter; the caller closes it.

    :raises OSError: there is no filter for this processor.
    """
    return _write_file("forge-seccomp", seccomp.filter_for_namespaces())


def _write_file(name: str, content: bytes) -> int:
    """An open file in memory, to be read from its beginning."""
    descriptor = os.memfd_create(name)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
