"""Writes a page into a file: whole or not at all, and over nothing but an earlier page of Forge."""

import stat
import tempfile
from pathlib import Path

from bot.pages.rendering import MARK
from domain.errors import ForgeError

_HEAD = 1_000  # bytes in which the mark is


def write_page(file: Path, page: str) -> None:
    """Write a page that only this account may read; one that is replaced keeps its mode.

    :raises ForgeError: if something else is there, or it cannot be written.
    """
    try:
        mode = _find_mode(file)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=".forge-", delete=False, encoding="utf-8") as new:
            made = Path(new.name)
            try:
                new.write(page)
                new.flush()
                _put(made, file, mode)
            finally:
                made.unlink(missing_ok=True)
    except FileExistsError:
        raise _refuse(file) from None
    except OSError as error:
        raise ForgeError(
            f"{file} could not be written: {error.strerror}.", "Name a file in a folder that you may write to."
        ) from None


def _put(made: Path, file: Path, mode: int | None) -> None:
    if mode is None:
        file.hardlink_to(made)  # fails where something came there meanwhile
        return
    made.chmod(mode)
    made.replace(file)


def _find_mode(file: Path) -> int | None:
    """The mode of the page that is there; None if nothing is.

    :raises ForgeError: if it is no page of Forge.
    """
    try:
        found = file.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise _refuse(file)
    with file.open("rb") as opened:
        if MARK.encode() not in opened.read(_HEAD):
            raise _refuse(file)
    return stat.S_IMODE(found.st_mode)


def _refuse(file: Path) -> ForgeError:
    return ForgeError(
        f"{file} is there and is no page of Forge, so nothing was written.", "Name another file, or remove that one."
    )
