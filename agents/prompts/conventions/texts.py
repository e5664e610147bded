"""Reads one file of conventions: which files it is about, and its lines as far as people see them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from domain.globs import find_mistake, matches
from domain.text.credential_shapes import find_key_lines
from domain.text.escaping import strip_invisible
from domain.text.redaction import Redact

_LONGEST_LINE = 1_000  # characters
_OF_THEIR_FOLDER = frozenset({"agents.md", "claude.md"})
_OF_SOME_FILES = (".mdc", ".instructions.md")  # they say at their top of which
_FRONT = re.compile(r"---[ \t]*\n(?P<keys>.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY = re.compile(r"^(?P<key>applyTo|globs|alwaysApply)[ \t]*:(?P<value>.*(?:\n[ \t]*-.*)*)", re.MULTILINE)
_PATTERN = re.compile(r"(?:[^,\s\"'\[\]{}]|\{[^{}]*\})+")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_EVERY = ("**",)


@dataclass(frozen=True)
class ConventionText:
    """A file of conventions.

    :param home: the folder that it is about, with a slash at its end; empty: the whole repository.
    :param globs: of the files below ``home`` that it is about.
    :param lines: the number and the text of each line that is not empty.
    """

    path: str
    home: str
    globs: tuple[str, ...]
    lines: tuple[tuple[int, str], ...]

    @property
    def is_general(self) -> bool:
        """Whether it is about every file of the repository."""
        return not self.home and self.globs == _EVERY

    def covers(self, path: str) -> bool:
        """Whether it is about a file."""
        below = path.removeprefix(self.home)
        return path.startswith(self.home) and (matches(below, self.globs) or matches(path, self.globs))


def find_home(path: str) -> str:
    """The folder that a file of conventions is about: its own for AGENTS.md, that of its hidden folder, else the root.

    :returns: with a slash at its end; empty for the root.
    """
    *folders, name = path.split("/")
    hidden = next((index for index, folder in enumerate(folders) if folder.startswith(".")), None)
    if hidden is None:
        hidden = len(folders) if name.lower() in _OF_THEIR_FOLDER else 0
    return "".join(f"{folder}/" for folder in folders[:hidden])


def parse(path: str, content: bytes, redact: Redact) -> ConventionText | None:
    """Reads a file of conventions; None if it is not in UTF-8.

    What a page would not show, such as comments, is left out, and so are credentials.
    """
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    globs = _EVERY
    if path.endswith(_OF_SOME_FILES):
        front = _FRONT.match(text)
        globs = () if front is None else tuple(_list_globs(front["keys"]))
        text = text if front is None else _blank(front) + text[front.end() :]
    lines = _COMMENT.sub(_blank, text).split("\n")
    keys = find_key_lines(lines)
    shown = ((number, _clean(line, redact)) for number, line in enumerate(lines, 1) if number not in keys)
    return ConventionText(path, find_home(path), globs, tuple((number, line) for number, line in shown if line))


def _list_globs(front: str) -> Iterator[str]:
    """The patterns that the top of a file names; a name without a folder counts in every folder."""
    for found in _KEY.finditer(front):
        if found["key"] == "alwaysApply":
            yield from _EVERY if found["value"].strip() == "true" else ()
            continue
        value = re.sub(r"^\s*-", " ", found["value"], flags=re.MULTILINE)
        for pattern in _PATTERN.findall(value):
            wanted = pattern if "/" in pattern or pattern == "**" else f"**/{pattern}"
            yield from () if find_mistake(wanted) else (wanted,)


def _blank(found: re.Match[str]) -> str:
    """As many line breaks as what is left out has, so that numbers stay."""
    return "\n" * found[0].count("\n")


def _clean(line: str, redact: Redact) -> str:
    return redact(strip_invisible(line).replace("\n", " ").rstrip())[:_LONGEST_LINE]
