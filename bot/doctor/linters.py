"""Checks whether the linters that repositories configure are installed where Forge runs them."""

import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.doctor.configurations import load_configurations
from bot.doctor.diagnosis import Diagnosis, ok, warn
from bot.settings import Installation
from domain.config.review import Linter
from pipeline.config.parsing import PATH, load_from_checkout
from workspace.sandbox.bubblewrap import build_path

_MAX_NAMED = 10  # missing programs that are listed


async def check_linters(settings: Installation) -> Diagnosis | None:
    """Check the linters of each repository's last valid configuration, and of the configuration in this folder, if any.

    A program with a relative path comes with its repository and is not checked. None if there is nothing to check.
    """
    named = {
        program
        for each in (*await _load_stored(settings), *_read_local())
        if (program := _find_missing_program(each)) is not None
    }
    if not named:
        return None
    searched = build_path(settings.sandbox_tools)
    missing = sorted(program for program in named if shutil.which(program, path=searched) is None)
    if not missing:
        return ok("linters", f"all configured programs are installed ({len(named)})")
    told = ", ".join(missing[:_MAX_NAMED]) + (" …" if len(missing) > _MAX_NAMED else "")
    state = f"{len(missing)} of {len(named)} configured programs are not in {searched}: {told}"
    return warn("linters", state, "Install them there; until then, reviews of those repositories need a person.")


def _find_missing_program(linter: Linter) -> str | None:
    first = shlex.split(linter.run)[0]
    return first if "/" not in first or first.startswith("/") else None


def _read_local() -> Sequence[Linter]:
    try:
        content = Path(PATH).read_bytes()
    except OSError:
        return ()
    return load_from_checkout(content).configuration.review.linters


async def _load_stored(settings: Installation) -> Sequence[Linter]:
    """The linters in the database."""
    return [linter for values in await load_configurations(settings) for linter in _find_linters(values)]


def _find_linters(values: Any) -> Iterator[Linter]:
    review = values.get("review")
    listed = review.get("linters") if isinstance(review, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    for each in listed if isinstance(listed, list) else ():  # pyright: ignore[reportUnknownVariableType]
        try:
            yield Linter.model_validate(each)
        except ValidationError:  # newer rules refuse it
            continue
