"""Finds where a program of a language that tree-sitter knows cannot be parsed.

The grammars come with ast-grep. They are asked only where they were measured on good code: those of C and C++ stumble
over macros in every third file, and JavaScript and TypeScript have a linter that parses better.
"""

from dataclasses import dataclass

from ast_grep_py import SgNode, SgRoot

from agents.syntax.languages import find_language

BELIEVED = frozenset({"go", "java", "ruby", "php", "csharp", "rust"})
"""Languages whose errors can be believed."""

_PHP_ONLY = "<?php"


@dataclass(frozen=True)
class SyntaxFault:
    """The first place that cannot be parsed.

    :param line: counted from 1.
    :param text: what is wrong, as the rest of a sentence.
    """

    line: int
    text: str


def find_grammar(path: str) -> str | None:
    """The grammar for a file, by its name; None if there is none to believe."""
    language = find_language(path)
    return language if language in BELIEVED else None


def find_fault(grammar: str, text: str) -> SyntaxFault | None:
    """The first syntax error of a program; None if it can be parsed or the grammar cannot know."""
    if grammar == "php" and not _is_plain_php(text):
        return None
    root = SgRoot(text.replace("\r\n", "\n"), grammar).root()
    faults = [_describe_error(node) for node in root.find_all(kind="ERROR")]
    faults += [_describe_missing(node) for node in root.find_all(regex="^$") if node.is_leaf() and not node.is_named()]
    return min(faults, key=lambda fault: fault.line, default=None)


def _is_plain_php(text: str) -> bool:
    """Whether a file is PHP from its beginning to its end: the grammar does not know the text around it."""
    return text.lstrip("\ufeff").startswith(_PHP_ONLY) and "?>" not in text.rstrip().removesuffix("?>")


def _describe_error(node: SgNode) -> SyntaxFault:
    """An error that spans many lines mostly comes from a bracket or a block that is not closed."""
    place = node.range()
    if place.end.line > place.start.line:
        return SyntaxFault(place.start.line + 1, "the code from here cannot be parsed; perhaps a bracket is missing")
    return SyntaxFault(place.start.line + 1, f"unexpected `{_shorten(node.text())}`")


def _describe_missing(node: SgNode) -> SyntaxFault:
    return SyntaxFault(node.range().start.line + 1, f"`{node.kind()}` is missing")


def _shorten(text: str, limit: int = 40) -> str:
    flat = " ".join(text.replace("`", "'").split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
