"""Opens what untrusted code left in a folder: no link is followed, and nothing waits, e.g. for the writer of a FIFO."""

import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@contextmanager
def open_folder(name: str | Path, within: int | None = None) -> Generator[int]:
    """The open folder of this name.

    :param within: the open folder in which it is.
    :raises OSError: it cannot be opened, or is something else.
    """
    opened = os.open(name, _READ | os.O_DIRECTORY, dir_fd=within)
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def open_folders(top: Path, names: Sequence[str]) -> Generator[int]:
    """The last one of folders within each other, opened one by one.

    :param top: the folder that holds the first of them; untrusted code cannot replace it.
    :raises OSError: one of them cannot be opened, or is something else.
    """
    with ExitStack() as stack:
        opened = stack.enter_context(open_folder(top))
        for name in names:
            opened = stack.enter_context(open_folder(name, opened))
        yield opened


@contextmanager
def open_file(name: str, within: int) -> Generator[int]:
    """What has this name in an open folder, opened to be read; the caller checks that it is a regular file.

    :raises OSError: it cannot be opened, e.g. because it is a link.
    """
    opened = os.open(name, _READ, dir_fd=within)
    try:
        yield opened
    finally:
        os.close(opened)
