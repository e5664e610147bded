"""The text that shows what an agent tried in a run, turn by turn."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from domain.text.escaping import escape, inline_code

MOST = 20
"""Turns that are shown, the newest ones."""
_CELL = 160  # characters of what is said in one cell
_USES = 5  # of tools in one turn that are named
_TELLING = ("path", "pattern", "glob")  # arguments that say what a tool was used on; others may hold whole files


@dataclass(frozen=True)
class AgentTurn:
    """One turn of an agent, or one question to a model.

    :param key: of its step, which begins with its task.
    :param at: UTC.
    :param said: in the model's words, if it said something.
    :param used: the tools, each with the JSON of its arguments.
    :param wrong: what was refused: tool and reason of each.
    """

    key: str
    at: datetime
    said: str = ""
    used: Sequence[tuple[str, str]] = ()
    wrong: Sequence[str] = ()


def render_turns(run_id: str, tried: Sequence[AgentTurn], count: int) -> str:
    """What a run tried, folded.

    :param tried: the newest turns, in order.
    :param count: of all its turns.
    """
    if not tried:
        return ""
    left = f", the last {len(tried)} of them" if count > len(tried) else ""
    summary = f"What run {inline_code(run_id)} tried: {count} turn{'' if count == 1 else 's'}{left}"
    first = count - len(tried) + 1
    rows = [_row(number, each) for number, each in enumerate(tried, first)]
    table = ["| turn | at (UTC) | step | did | was refused |", "| --- | --- | --- | --- | --- |", *rows]
    return "\n".join(["<details>", f"<summary>{_plain(summary)}</summary>", "", *table, "", "</details>"])


def _row(number: int, tried: AgentTurn) -> str:
    did = "; ".join(_use(*each) for each in tried.used[:_USES]) or _render_words(tried)
    more = len(tried.used) - _USES
    refused = "; ".join(escape(each, _CELL) for each in tried.wrong[:_USES])
    at = tried.at.astimezone(UTC).strftime("%H:%M:%S")
    rest = f" and {more} more" if more > 0 else ""
    return f"| {number} | {at} | {inline_code(tried.key, 60)} | {did}{rest} | {refused} |"


def _render_words(tried: AgentTurn) -> str:
    return f"said: {escape(tried.said, _CELL)}" if tried.said.strip() else "answered"


def _use(tool: str, arguments: str) -> str:
    on = _on(arguments)
    return f"{inline_code(tool, 40)} {inline_code(on, 100)}" if on else inline_code(tool, 40)


def describe_use(tool: str, arguments: str) -> str:
    """The use of a tool as plain text.

    :param arguments: their JSON.
    """
    return f"{tool} {_on(arguments)[:_CELL]}".rstrip()


def _on(arguments: str) -> str:
    """What a tool was used on, where its arguments say so in short."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    if not isinstance(given, dict):
        return ""
    named: list[object] = [given[key] for key in _TELLING if key in given]  # pyright: ignore[reportUnknownVariableType]
    return " in ".join(" ".join(str(each).split()) for each in named)


def _plain(text: str) -> str:
    """As HTML, in which Markdown is none."""
    return text.replace("`", "")
