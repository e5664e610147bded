"""Lets an agent ask who uses a name: callers, heirs and tests by symbols, where a search finds too much."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from pydantic import Field

from agents.loop.tools.files import NOTHING_WITHHELD, Arguments, ShownFiles, cut_line, fit_lines, redact_answers
from agents.loop.tools.tool import Tool, ToolMistake
from agents.syntax.languages import find_language
from agents.syntax.symbols.grammars import GRAMMARS
from agents.syntax.symbols.uses import Reference
from domain.globs import matches
from domain.text.redaction import Redact
from workspace.snapshot import CannotRead, Snapshot

REFERENCES = "references"
_DESCRIPTION = (
    "Lists the lines that use, call or build on a name that a file defines, found by symbols through imports and "
    "types: callers first, then tests. A dynamic use is not found: grep for it."
)
_NO_SYMBOLS = "{} is in a language whose symbols are not known here. Use grep."
_UNDEFINED = "{} does not define {}. Name the file that defines it; grep finds that."
_UNUSED = "[Nothing else in the repository was found to use it.]"
_TOO_LONG = "That took too long. Use grep."

Find = Callable[[str, str], Awaitable[Sequence[Reference] | None]]
"""The references to a name that the file at a path defines; None if that took too long."""


class References(Arguments):
    """What ``references`` takes."""

    path: str = Field(max_length=4096, description="The file that defines the name, such as src/app.py.")
    name: str = Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^\s\x00-\x1f\x7f]+$",
        description="A function, class, method or value it defines, such as total or Cart.total.",
    )


def make_references_tool(
    snapshot: Snapshot,
    find: Find,
    *,
    never_send: Sequence[str],
    redact: Redact,
    withheld: Mapping[str, Collection[int]] = NOTHING_WITHHELD,
) -> Tool:
    """``references`` over one commit; for the other parameters see :func:`agents.loop.tools.files.make_file_tools`."""

    async def look(files: ShownFiles, arguments: References) -> str:
        path = files.require_file(arguments.path)
        if find_language(path) not in GRAMMARS:
            raise ToolMistake(_NO_SYMBOLS.format(path), _NO_SYMBOLS)
        found = await find(path, arguments.name)
        if found is None:
            raise ToolMistake(_TOO_LONG)
        if not found:
            raise ToolMistake(_UNDEFINED.format(path, arguments.name), _UNDEFINED)
        shown = [each for each in found if not matches(each.path, never_send) and each.path in files.snapshot.files]
        lines = await _read_each(files, {each.path for each in shown})
        listed = [_render(each, lines[each.path]) for each in shown if each.path in lines]
        outside = any(each.path != path for each in shown)
        return "\n".join([*fit_lines(listed), *([] if outside else [_UNUSED])])

    async def files() -> ShownFiles:
        return ShownFiles(snapshot, never_send, redact, withheld)

    return Tool(REFERENCES, _DESCRIPTION, References, redact_answers(files, look, redact))


async def _read_each(files: ShownFiles, paths: Collection[str]) -> dict[str, list[str]]:
    """Path → its lines, of those that can be read."""
    read = await asyncio.gather(*map(files.read_lines, paths), return_exceptions=True)
    for each in read:
        if isinstance(each, BaseException) and not isinstance(each, CannotRead):
            raise each
    return {path: each for path, each in zip(paths, read, strict=True) if not isinstance(each, BaseException)}


def _render(found: Reference, lines: Sequence[str]) -> str:
    text = lines[found.line - 1] if found.line <= len(lines) else ""
    return f"{found.path}:{found.line}:{found.what}:{cut_line(text.strip())}"
