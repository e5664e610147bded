"""Builds HTML from elements, and from these the tables of diffs and the looks of a state.

Every text is escaped unless it already is `Html`.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote

from simulator.diff import DiffLine, parse_hunks
from simulator.state import CheckRun


@dataclass(frozen=True)
class Html:
    """Markup that is safe to send. Not a string, so that it cannot be mixed up with text."""

    text: str


Content: TypeAlias = "Html | str | int | Sequence[Content] | None"
_VOID = ("br", "col", "hr", "input", "link", "meta")


def element(name: str, /, *children: Content, **attributes: str | int | bool | None) -> Html:
    """`element("a", "text", href="/x", class_="y")`; True is a bare attribute, False and None leave it out."""
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start if name in _VOID else f"{start}{join(*children).text}</{name}>")


def join(*children: Content) -> Html:
    return Html("".join(_markup(child) for child in children))


def _markup(child: Content) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child.text
    if isinstance(child, str | int):
        return html.escape(str(child))
    return "".join(_markup(item) for item in child)


def _attribute(key: str, value: str | int | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def div(class_: str, *children: Content) -> Html:
    return element("div", *children, class_=class_)


def span(class_: str, *children: Content) -> Html:
    return element("span", *children, class_=class_)


def link(target: str, *children: Content, class_: str | None = None) -> Html:
    return element("a", *children, href=target, class_=class_)


def path(*parts: str | int) -> str:
    """An address of this site, each part quoted; a slash within a part does not divide."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def form(action: str, *children: Content, class_: str | None = None) -> Html:
    return element("form", *children, method="post", action=action, class_=class_)


def render_hidden(**fields: str | int | None) -> list[Content]:
    return [element("input", type="hidden", name=key, value=value) for key, value in fields.items()]


def button(label: str, *, title: str | None = None, class_: str | None = None, **field: str) -> Html:
    """A submit button; at most one keyword more is the field it sends."""
    name, value = next(iter(field.items()), (None, None))
    return element("button", label, type="submit", name=name, value=value, title=title, class_=class_)


def text_area(label: str, *, name: str = "body", rows: int = 4, value: str = "") -> Html:
    # A browser drops the first line break, so one is put before it.
    content = Html(f"\n{html.escape(value)}")
    return element("textarea", content, name=name, rows=rows, placeholder=label, aria_label=label)


def fold(summary: Content, *children: Content, class_: str | None = None, is_open: bool = False) -> Html:
    return element("details", element("summary", summary), *children, class_=class_, open=is_open)


_ICONS = {
    "success": ("✓", "good"),
    "failure": ("✗", "bad"),
    "timed_out": ("✗", "bad"),
    "action_required": ("!", "warn"),
    "stale": ("!", "warn"),
    "neutral": ("■", "quiet"),
    "skipped": ("⊘", "quiet"),
    "cancelled": ("⊘", "quiet"),
    "in_progress": ("◐", "warn"),
    "error": ("✗", "bad"),
    "inactive": ("⊘", "quiet"),
}


def state_of(run: CheckRun) -> str:
    return run.conclusion or run.status


def icon(run: CheckRun) -> Html:
    return icon_of(state_of(run))


def icon_of(state: str) -> Html:
    symbol, kind = _ICONS.get(state, ("○", "warn"))
    return span(f"icon {kind}", symbol)


def blocks(run: CheckRun) -> bool:
    """Whether a rule that requires this check would hold the merge."""
    return run.conclusion not in ("success", "neutral", "skipped")


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
