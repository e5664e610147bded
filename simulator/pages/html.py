"""Builds HTML from elements: every text is escaped unless it already is `Html`."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote


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
