"""Reviews what is on this machine: the workers start while what reviews is imported, because both take long."""

import asyncio
import logging
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agents.toolbox import Toolbox
from bot.tool_folders import load_tool_folders
from domain.errors import ForgeError

if TYPE_CHECKING:
    from domain.review.review import Review

Format = Literal["text", "json", "sarif"]


@dataclass(frozen=True)
class LocalOptions:
    """What to review, and how.

    :param base: the revision to compare with; None for the default branch, or for HEAD if ``staged``.
    :param staged: look at the index instead of the working tree.
    :param fix: correct simple findings in the working tree, and review the result.
    :param ask_model: send the change to the model of FORGE_FAST_MODEL, too.
    """

    base: str | None = None
    staged: bool = False
    fix: bool = False
    ask_model: bool = False


async def run(path: Path, options: LocalOptions, shown: Format, *, quiet: bool = False) -> "Review":
    """Review a repository, print the result, and return it.

    :param path: a folder in it.
    :param quiet: leave out the notes.
    :raises CodeAccessError: if there is no repository, no such revision, or no common history.
    :raises ForgeError: if the result cannot be printed, or a file cannot be written.
    """
    if options.staged and options.fix:
        raise ForgeError("--fix corrects the working tree, but --staged reviews the index.", "Choose one of them.")
    imported = asyncio.create_task(asyncio.to_thread(_import))
    async with Toolbox.start(first=1, reads=load_tool_folders()) as toolbox:
        await imported
        from bot.cli.review import review_here
        from bot.cli.review_output import print_result

        review, problem = await review_here(path, options, toolbox)
    print_result(review, problem, shown, quiet=quiet)
    return review


def _import() -> None:
    """Import what reviews; it logs nothing."""
    from bot.logging import redact_python

    redact_python()
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # an interrupt ends processes of which it does not know yet
    import_module("bot.cli.review")
