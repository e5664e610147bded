"""Finds programs within files of another language: scripts in pages, and what a shell hands to an interpreter."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

_PAGES = frozenset({".vue", ".svelte", ".html", ".htm", ".astro"})
_SHELLS = frozenset({".sh", ".bash", ".bats", ".yml", ".yaml", ".mk"})
_SHELL_NAMES = frozenset({"Makefile", "GNUmakefile", "Dockerfile", "justfile"})
_OPENS = re.compile(r"^[ \t]*<script\b([^>\n]{0,200})>[ \t]*$", re.IGNORECASE)
_CLOSES = re.compile(r"^[ \t]*</script\s*>", re.IGNORECASE)
_IS_TYPED = re.compile(r"lang=[\"']?tsx?\b")
_IS_DATA = re.compile(r"type=[\"'](?!text/javascript|module|text/babel)")
_HANDED = re.compile(r"\b(python[\d.]*|node|ruby|php)\b[^\n<]{0,200}<<-?[ \t]*[\"'\\]?([A-Za-z_]\w{0,40})[\"']?")
_INTERPRETED = {"node": "javascript", "ruby": "ruby", "php": "php"}


@dataclass(frozen=True)
class EmbeddedSource:
    """A program within a file.

    :param text: padded with empty lines, so that its lines have the numbers that they have in the file.
    """

    language: str
    text: str


def may_embed(path: str) -> bool:
    """Whether files of this name can hold programs of another language."""
    name = PurePosixPath(path)
    return name.suffix.lower() in _PAGES | _SHELLS or name.name in _SHELL_NAMES


def find_embedded(path: str, text: str) -> Iterator[EmbeddedSource]:
    """The programs in a file, in order."""
    if not may_embed(path):
        return
    is_page = PurePosixPath(path).suffix.lower() in _PAGES
    lines = iter(enumerate(text.split("\n")))
    for number, line in lines:
        language, end = _read_page(line) if is_page else _read_shell(line)
        if language is not None:
            body = list[str]()
            for _, inner in lines:
                if end.match(inner):
                    break
                body.append(inner)
            yield EmbeddedSource(language, "\n" * (number + 1) + _dedent(body))


def _read_page(line: str) -> tuple[str | None, re.Pattern[str]]:
    found = _OPENS.match(line)
    if found is None or _IS_DATA.search(found[1]):
        return None, _CLOSES
    return ("typescript" if _IS_TYPED.search(found[1]) else "javascript"), _CLOSES


def _read_shell(line: str) -> tuple[str | None, re.Pattern[str]]:
    """The language that an interpreter is handed from the next line on, and where that ends."""
    found = _HANDED.search(line)
    if found is None:
        return None, _CLOSES
    language = _INTERPRETED.get(found[1], "python")
    return language, re.compile(rf"^[ \t]*{re.escape(found[2])}[ \t]*$")


def _dedent(lines: list[str]) -> str:
    """The lines without the indentation that all of them have; nothing is said of how tabs and spaces compare."""
    indents = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    common = min(indents, key=len, default="")
    same = all(line.startswith(common) for line in lines if line.strip())
    return "\n".join(line[len(common) :] if same and line.strip() else line.strip() and line for line in lines)
