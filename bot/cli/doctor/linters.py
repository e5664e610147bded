"""Examines whether the programs of the linters that repositories configure are where Forge would run them."""

import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from bot.cli.doctor.diagnosis import Diagnosis, ok, warn
from bot.cli.run import open_database
from bot.settings import Installation
from domain.config.review import Linter
from domain.errors import ForgeError
from memory.repositories import configurations
from pipeline.config.loading import PATH, load_from_checkout
from workspace.sandbox.bubblewrap import PATH as SEARCHED

_MAX_NAMED = 10  # that are named


async def check_linters(settings: Installation) -> Diagnosis | None:
    """Whether all of them are there: those of each last valid configuration, and of the one in this folder, if any.

    A program that a repository brings along, by a relative path, cannot be looked for. None: nobody names one.
    """
    named = {
        program
        for each in (*await _load_stored(settings), *_read_local())
        if (program := _missing_program(each)) is not None
    }
    if not named:
        return None
    missing = sorted(program for program in named if shutil.which(program, path=SEARCHED) is None)
    if not missing:
        return ok("linters", f"all programs that configurations name are there ({len(named)})")
    told = ", ".join(missing[:_MAX_NAMED]) + (" …" if len(missing) > _MAX_NAMED else "")
    state = f"{len(missing)} of {len(named)} programs that configurations name are not in {SEARCHED}: {told}"
    return warn("linters", state, "Install them there; until then the reviews of those repositories ask for a person.")


def _missing_program(linter: Linter) -> str | None:
    first = shlex.split(linter.run)[0]
    return first if "/" not in first or first.startswith("/") else None


def _read_local() -> Sequence[Linter]:
    try:
        content = Path(PATH).read_bytes()
    except OSError:
        return ()
    return load_from_checkout(content).configuration.review.linters


async def _load_stored(settings: Installation) -> Sequence[Linter]:
    """Those of the database; none where it cannot be read, which another part says."""
    url = make_url(settings.database_url)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        return ()  # looking for it would make it
    try:
        async with open_database(settings) as database:
            return [linter for values in await configurations.list_all(database) for linter in _find_linters(values)]
    except (ForgeError, DBAPIError):
        return ()


def _find_linters(values: Any) -> Iterator[Linter]:
    review = values.get("review")
    listed = review.get("linters") if isinstance(review, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    for each in listed if isinstance(listed, list) else ():  # pyright: ignore[reportUnknownVariableType]
        try:
            yield Linter.model_validate(each)
        except ValidationError:  # stricter rules refuse it by now
            continue
