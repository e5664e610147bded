"""Renders Markdown as GitHub shows it: HTML by an allow list, mentions and references as links, no foreign images."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from simulator.pages.html import Html, div, element, join, link, path, render_change, span
from simulator.state import Repository

_ALLOWED = re.compile(
    "a|b|blockquote|br|code|dd|del|details|div|dl|dt|em|h1|h2|h3|h4|h5|h6|hr|i|img|ins|kbd|li|ol|p|pre|s|strong|sub|"
    "summary|sup|table|tbody|td|th|thead|tr|ul"
)
_EMPTY = ("br", "hr", "img")
_ATTRIBUTES = {"a": ("href", "title"), "details": ("open",), "ol": ("start",)}
_ALIGNMENT = re.compile(r"text-align:(left|right|center)")
_SAFE_TARGET = re.compile(r"(https?://|mailto:|[/#?])", re.IGNORECASE)
_PLAIN = ("a", "code", "pre")  # inside these GitHub links nothing
_REFERENCE = re.compile(
    r"(?P<url>https?://[^\s<>\"]*[^\s<>\"'.,:;!?)\]*_~])"
    r"|(?<!\w)@(?P<who>[A-Za-z0-9][\w-]{0,38}(?:/[\w-]+)?)(?![\w@])"
    r"|(?<![\w/])(?:(?P<other>[\w.-]+/[\w.-]+)?#|GH-)(?P<number>\d+)\b"
    r"|(?<![\w/.@-])(?P<sha>[0-9a-f]{7,40})(?![\w/@-])"
)
_TASK = re.compile(r"\[([ xX])\] ")


@dataclass(frozen=True)
class Scope:
    """What references in a text may mean: the repository it was written in."""

    repository: Repository
    replaced: Sequence[str] = ()  # the lines a suggestion block here would replace
    apply: Html | None = None  # what stands under a suggestion

    def commit(self, sha: str) -> str | None:
        found = self.repository.git.resolve(sha)
        return found if found is not None and found.startswith(sha) else None


def render(text: str, scope: Scope) -> Html:
    """Everything that is not on the allow list comes out as text."""
    writer = _Writer(scope)
    writer.feed(_parser().render(text))
    writer.close()
    return div("markdown", Html(writer.finish()))


def _parser() -> MarkdownIt:
    # Raw HTML is only let through to the writer below, which decides.
    parser = MarkdownIt("commonmark", {"html": True, "breaks": True}).enable(["table", "strikethrough"])
    parser.core.ruler.push("tasks", _tick_boxes)
    return parser


def _tick_boxes(state: StateCore) -> None:
    for index, token in enumerate(state.tokens[2:], start=2):
        opened = state.tokens[index - 2].type == "list_item_open"
        found = _TASK.match(token.content) if opened and token.type == "inline" and token.children else None
        if found is not None and token.children:
            first = token.children[0]
            first.content = ("☐ " if found[1] == " " else "☑ ") + first.content[found.end() :]


@dataclass
class _Writer(HTMLParser):
    """Writes HTML again from what a lenient parser understands: allowed tags, balanced, the rest escaped."""

    scope: Scope
    _out: list[str] = field(default_factory=list[str])
    _stack: list[str] = field(default_factory=list[str])
    _suggestion: list[str] | None = None

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if not _ALLOWED.fullmatch(tag):
            self._text(self.get_starttag_text() or "")
        elif tag == "img":
            self._out.append(_image(given).text)
        elif tag == "code" and self._out[-1:] == ["<pre>"] and given.get("class") == "language-suggestion":
            self._suggestion = []
            self._stack.pop()  # a table takes the place of the <pre>
            self._out.pop()
        else:
            self._out.append(_start(tag, given))
            if tag not in _EMPTY:
                self._stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "code" and self._suggestion is not None:
            self._write_suggestion("".join(self._suggestion))
        elif tag in self._stack:
            while self._close() != tag:
                pass
        elif not _ALLOWED.fullmatch(tag):
            self._text(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self._suggestion is not None:
            self._suggestion.append(data)
        elif any(tag in _PLAIN for tag in self._stack):
            self._text(data)
        else:
            self._out.append(_link_references(data, self.scope).text)

    def _text(self, text: str) -> None:
        self._out.append(join(text).text)

    def _close(self) -> str:
        tag = self._stack.pop()
        self._out.append(f"</{tag}>")
        return tag

    def _write_suggestion(self, text: str) -> None:
        self._suggestion = None
        table = render_change(self.scope.replaced, text.splitlines())
        self._out.append(div("suggestion", div("suggestion-title", "Suggested change"), table, self.scope.apply).text)

    def finish(self) -> str:
        if self._suggestion is not None:
            self._write_suggestion("".join(self._suggestion))
        while self._stack:
            self._close()
        return "".join(self._out)


def _start(tag: str, given: dict[str, str | None]) -> str:
    kept = {name: given[name] or True for name in _ATTRIBUTES.get(tag, ()) if name in given}
    if tag == "a":
        kept |= _target(given.get("href") or "")
    if tag in ("td", "th") and _ALIGNMENT.fullmatch(given.get("style") or ""):
        kept["style"] = given["style"] or ""
    return element(tag, **kept).text.removesuffix(f"</{tag}>")


def _target(address: str) -> dict[str, str | bool]:
    if not _SAFE_TARGET.match(address):
        return {"href": False}
    return {"href": address, "rel": "nofollow noreferrer"}


def _image(given: dict[str, str | None]) -> Html:
    """In place of an image: nothing is loaded from elsewhere."""
    return span("image", f"[image not loaded: {given.get('alt') or ''} {given.get('src') or ''}]")


def _link_references(text: str, scope: Scope) -> Html:
    parts: list[Html | str] = []
    end = 0
    for found in _REFERENCE.finditer(text):
        parts += [text[end : found.start()], _reference(found, scope) or found[0]]
        end = found.end()
    return join([*parts, text[end:]])


def _reference(found: re.Match[str], scope: Scope) -> Html | None:
    by_kind: dict[str, Callable[[str], Html | None]] = {
        "url": lambda url: element("a", url, href=url, rel="nofollow noreferrer"),
        "who": lambda who: link(path(*who.split("/")), f"@{who}", class_="mention"),
        "number": lambda number: _issue(found[0], found["other"], number, scope),
        "sha": lambda sha: _commit(sha, scope),
    }
    kind = next(kind for kind in by_kind if found[kind])
    return by_kind[kind](found[kind])


def _issue(shown: str, other: str | None, number: str, scope: Scope) -> Html | None:
    """Of another repository's issues we cannot know which exist, so all of them are linked."""
    if other is None and int(number) not in scope.repository.issues:
        return None
    return link(path(*(other or scope.repository.full_name).split("/"), "issues", number), shown, class_="reference")


def _commit(sha: str, scope: Scope) -> Html | None:
    full = scope.commit(sha)
    return (
        link(path(*scope.repository.full_name.split("/"), "commit", full), sha[:7], class_="reference")
        if full
        else None
    )
