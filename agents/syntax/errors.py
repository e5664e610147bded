"""Finds where a program of a language that tree-sitter knows cannot be parsed.

The grammars come with ast-grep. They are asked only where they were measured on good code: those of C and C++ stumble
over macros in every third file, and JavaScript and TypeScript have a linter that parses better.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ast_grep_py import SgNode, SgRoot

from agents.syntax.languages import find_language

BELIEVED = frozenset({"go", "java", "ruby", "php", "csharp", "rust"})
"""Languages whose errors can be believed."""

_PHP_ONLY = "<?php"
_MOST_PARSED = 4_000_000  # characters, in the search for the line that breaks a file


@dataclass(frozen=True)
class SyntaxFault:
    """The first place that cannot be parsed.

    :param line: counted from 1.
    :param text: what is wrong, as the rest of a sentence.
    :param is_placed: whether the line is where it is wrong, and not only where something begins that is.
    """

    line: int
    text: str
    is_placed: bool = True


def find_grammar(path: str) -> str | None:
    """The grammar for a file, by its name; None if there is none to believe."""
    language = find_language(path)
    return language if language in BELIEVED else None


def find_fault(grammar: str, text: str) -> SyntaxFault | None:
    """The first syntax error of a program; None if it can be parsed or the grammar cannot know."""
    if grammar == "php" and not _is_plain_php(text):
        return None
    return min(list_faults(grammar, text), key=lambda fault: fault.line, default=None)


def list_faults(grammar: str, text: str) -> Iterator[SyntaxFault]:
    """What a grammar cannot read, and what it reads as if it were there."""
    root = SgRoot(text.replace("\r\n", "\n"), grammar).root()
    yield from map(_describe_error, root.find_all(kind="ERROR"))
    yield from (_describe_missing(node) for node in root.find_all(regex="^$") if node.is_leaf() and not node.is_named())


def find_cause(grammar: str, text: str, fault: SyntaxFault, changed: Sequence[int]) -> SyntaxFault:
    """The fault of a program that could be parsed before, at the changed line that breaks it.

    That is the last one without which the program can be parsed.

    :param changed: lines of the program that are new, or follow removed ones, from 1.
    """
    if fault.is_placed:
        return fault
    lines = text.split("\n")
    for line in sorted(changed, reverse=True)[: max(3, _MOST_PARSED // max(len(text), 1))]:
        rest = [*lines[: line - 1], "", *lines[line:]]
        if lines[line - 1 : line] != [""] and find_fault(grammar, "\n".join(rest)) is None:
            return replace(
                fault, line=line, text="the code cannot be parsed from here, perhaps a bracket or an end is missing"
            )
    return fault


def _is_plain_php(text: str) -> bool:
    """Whether a file is PHP from its beginning to its end: the grammar does not know the text around it."""
    return text.lstrip("\ufeff").startswith(_PHP_ONLY) and "?>" not in text.rstrip().removesuffix("?>")


def _describe_error(node: SgNode) -> SyntaxFault:
    """An error that spans many lines mostly comes from a bracket or a block that is not closed."""
    place = node.range()
    if place.end.line > place.start.line:
        why = "the code from here cannot be parsed; perhaps a bracket is missing"
        return SyntaxFault(place.start.line + 1, why, False)
    return SyntaxFault(place.start.line + 1, f"unexpected `{_shorten(node.text())}`")


def _describe_missing(node: SgNode) -> SyntaxFault:
    return SyntaxFault(node.range().start.line + 1, f"`{node.kind()}` is missing")


def _shorten(text: str, limit: int = 40) -> str:
    flat = " ".join(text.replace("`", "'").split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
