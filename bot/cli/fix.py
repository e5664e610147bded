"""Corrects simple findings in the working tree, the same ones that level 2 corrects automatically on GitHub."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from domain.errors import ForgeError
from domain.review.findings import Finding
from safety import autofix
from workspace.local_repository import LocalRepository


async def correct(code: LocalRepository, findings: Sequence[Finding]) -> list[Finding]:
    """Write the corrected files, and return the findings that were corrected.

    Leaves alone a file behind a symbolic link, and one that differs from what was reviewed, because somebody wrote to
    it or git stores it differently.

    :raises ForgeError: if there is no working tree, or a file cannot be written.
    """
    if code.top is None:
        raise ForgeError("There is no working tree, so nothing can be corrected.", "Leave out --fix.")
    wanted = autofix.select_fixable(findings)
    reviewed = await code.read(code.head, sorted({finding.path for finding in wanted}))
    files = {path: content for path, content in reviewed.items() if _is_unchanged(code.top, path, content)}
    contents, done = autofix.apply_fixes(files, wanted)
    for path, content in contents.items():
        await asyncio.to_thread(_write, code.top / path, content)
    return done


def _is_unchanged(top: Path, path: str, content: bytes) -> bool:
    file = top / path
    try:
        return file.resolve() == top.resolve() / path and file.read_bytes() == content
    except OSError:
        return False


def _write(file: Path, content: bytes) -> None:
    """Replace the file atomically, and keep its mode."""
    try:
        mode = file.stat().st_mode
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".forge-", delete=False) as new:
            try:
                new.write(content)
                new.flush()
                Path(new.name).chmod(mode & 0o7777)
                Path(new.name).replace(file)
            except BaseException:
                Path(new.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise ForgeError(
            f"{file} could not be written: {error.strerror}.", "The files after it were not corrected."
        ) from None
