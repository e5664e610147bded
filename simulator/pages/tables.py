"""Diffs as tables: a file's hunks, the lines above a comment, a suggestion's before and after."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from simulator.diff import DiffLine, parse_hunks
from simulator.pages.html import Content, Html, div, element

_KINDS = {"+": "added", "-": "removed"}
LineContent = Callable[[DiffLine], Content]


def anchor_of(path: str) -> str:
    """Where a file's diff stands, as GitHub names it, so that links made for GitHub lead here too."""
    return f"diff-{hashlib.sha256(path.encode()).hexdigest()}"


def _row(old: Content, new: Content, text: str, identifier: str | None = None) -> Html:
    return element(
        "tr",
        element("td", old, class_="number"),
        element("td", new, class_="number"),
        element("td", text, class_="code"),
        class_=_KINDS.get(text[:1]),
        id=identifier,
    )


def across(*content: Content, class_: str) -> Html:
    """A row over the whole width of a diff."""
    return element("tr", element("td", *content, colspan=3), class_=class_)


def render_table(*rows: Content) -> Html:
    columns = [element("col", class_="number"), element("col", class_="number"), element("col")]
    return div("diff", element("table", element("colgroup", columns), *rows))


def render_change(old: Sequence[str], new: Sequence[str]) -> Html:
    rows = [_row("", "", f"-{line}") for line in old] + [_row("", "", f"+{line}") for line in new]
    return render_table(rows or across("Nothing: the lines are removed", class_="hunk"))


def context(hunk: str, lines: int) -> Html:
    """The last lines of a hunk, as they stand above a comment."""
    shown = parse_hunks(hunk)[-lines:]
    return render_table([_row(line.old, line.new, line.text) for line in shown])


def hunks(patch: str, lines: Sequence[DiffLine], anchor: str, below: LineContent, number: LineContent) -> Html:
    """A file's diff; `below` gives what stands under a line, `number` what stands beside its number."""
    headers = [text for text in patch.split("\n") if text.startswith("@@")]
    rows: list[Content] = []
    hunk = -1
    for line in lines:
        if line.hunk != hunk:
            hunk = line.hunk
            rows.append(across(headers[hunk], class_="hunk"))
        identifier = f"{anchor}R{line.new}" if line.new is not None else f"{anchor}L{line.old}"
        old = [line.old, number(line)] if line.new is None else line.old
        new = [line.new, number(line)] if line.new is not None else None
        rows += [_row(old, new, line.text, identifier), below(line)]
    return render_table(*rows)
