"""Tells what an agent has seen by its tools, from the results of its turns."""

import re
from collections.abc import Iterator, Sequence

from agents.loop.tools.files import ReadFile
from agents.loop.turns import CompletedTurn, ToolUse

_FOUND = re.compile(r"^(.+?):\d+:", re.MULTILINE)  # a line that `grep` shows


def list_read(past: Sequence[CompletedTurn]) -> Iterator[tuple[str, int]]:
    """The files that were read, in order, and from which line on."""
    for use, _ in _list_results(past, "read_file"):
        read = ReadFile.model_validate_json(use.arguments)
        yield read.path.removeprefix("./"), read.first_line


def list_found(past: Sequence[CompletedTurn], *tools: str) -> Iterator[str]:
    """The files of which some tools that search showed lines."""
    for tool in tools:
        for _, text in _list_results(past, tool):
            yield from (found[1] for found in _FOUND.finditer(text))


def _list_results(past: Sequence[CompletedTurn], tool: str) -> Iterator[tuple[ToolUse, str]]:
    """The uses of a tool with success, and their results, in order."""
    for done in past:
        for use, result in zip(done.turn.uses, done.results, strict=True):
            if use.tool == tool and not result.is_error:
                yield use, result.text
