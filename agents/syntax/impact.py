"""Decides from two versions of a file whether only comments and layout changed: only what is certain is harmless.

Nothing else is: no reading of a test tells what it does as it runs, nor of a function what its place means.
"""

import ast
import json
import re
from collections.abc import Iterator

from agents.syntax.trees import ParsedSource, SyntaxNode, parse
from domain.review.reading import Impact
from domain.text.places import is_sentence
from workspace.file_selection import says_generated

_SIGN = re.compile(r"^\s*(?:#+|//[/!]?|--|;+|%+|/\*\*?|\*/?)?(?:\s+|$)|\s*\*/\s*$")
"""The signs around a line of a comment. What follows one at once, as in ``#!`` or ``//go:embed``, is no prose."""
_BREAKS = re.compile(r"\r(?!\n)|[\x00-\x08\v\f\x0e-\x1f\x85\u2028\u2029]")
"""What ends a line, and with it a comment, for some language: the grammars know the line feed alone."""
_SPELLED = re.compile(r"\\u+00[0-7][0-9a-f]", re.IGNORECASE)
_SPELLING = frozenset({"java", "kotlin", "scala"})
"""Languages that may read an escape such as ``\\u000a`` before anything else, so that it ends a comment."""
_IS_OUTPUT = re.compile(r"^\W*(unordered )?output:", re.IGNORECASE)
"""A comment that says what an example of Go prints: its test compares that."""
_KEEPS_BLANK_LINES = re.compile(r"[|>]\d?\+")


def find_impact(language: str, base: str | None, head: str) -> Impact:
    """The impact of a change of one file of source.

    :param language: a value of :data:`agents.syntax.languages.LANGUAGES`.
    :param base: its text before; None for a new file.
    :returns: ``behaviour`` unless it is certain that the program stays as it was. What cannot be parsed is not.
    """
    if base is None or base.startswith("\ufeff") != head.startswith("\ufeff"):
        return Impact.behaviour
    base, head = base.removeprefix("\ufeff"), head.removeprefix("\ufeff")
    if _hides(base, language) or _hides(head, language):
        return Impact.behaviour
    if says_generated(head.encode()):
        return Impact.behaviour  # Forge would look at no later change of the file
    before, after = parse(base, language), parse(head, language)
    if before is None or after is None or before.errors or after.errors:
        return Impact.behaviour
    is_same = _is_same_program(language, base, head, before, after)
    is_obeyed = is_same and (_has_directives(before, language) or _has_directives(after, language))
    return Impact.layout if is_same and not is_obeyed else Impact.behaviour


def _hides(text: str, language: str) -> bool:
    """Whether a language may read something where the grammar, and who reads, sees nothing."""
    if language == "php" and ("?>" in text or not text.startswith(("<?php", "#!"))):
        return True  # what stands outside of the tags is printed, spaces as well
    if language == "yaml" and _KEEPS_BLANK_LINES.search(text):
        return True
    return _BREAKS.search(text) is not None or (language in _SPELLING and _SPELLED.search(text) is not None)


def _is_same_program(language: str, base: str, head: str, before: ParsedSource, after: ParsedSource) -> bool:
    """Whether a parser of the language itself reads the same, or the same words stand on the same lines.

    In many languages the end of a line ends a statement, and a grammar does not tell where.
    """
    if _read_interpreter(base) != _read_interpreter(head):
        return False
    if language == "json":
        return not before.comments + after.comments and _read_json(base) == _read_json(head)
    if language == "python":
        return _read_python(base) == _read_python(head)
    return before.tree.signature == after.tree.signature and [*_list_lines(before.tree)] == [*_list_lines(after.tree)]


def _read_interpreter(text: str) -> str:
    """The first line, if it says what runs the file: it does so at this place alone."""
    return text.split("\n", 1)[0] if text.startswith("#!") else ""


def _read_json(text: str) -> object:
    """:returns: all pairs in their order, so that a repeated key counts; the text itself if it is no JSON."""
    try:
        return repr(json.loads(text, object_pairs_hook=lambda pairs: pairs, parse_float=str, parse_int=str))
    except (ValueError, RecursionError):
        return text


def _read_python(text: str) -> str:
    """:returns: what Python makes of it; the text itself if this one cannot read it."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def _list_lines(tree: SyntaxNode) -> Iterator[list[str]]:
    """The words of each line that has any."""
    line: list[str] = []
    number = 0
    for leaf in (node for node in tree.walk() if not node.children and node.text):
        if leaf.start != number and line:
            yield line
            line = []
        line.append(leaf.text)
        number = leaf.end
    if line:
        yield line


def _has_directives(parsed: ParsedSource, language: str) -> bool:
    """Whether any comment may be obeyed: all that is no prose.

    What stands between such a comment and what it is about, blank lines and other comments too, decides for some tools
    whether it counts.
    """
    lines = [line.strip() for comment in parsed.comments for line in comment.split("\n")]
    is_run = language == "go" and any(node.text == '"C"' for node in parsed.tree.walk())  # as a program in C
    is_compared = language == "go" and any(map(_IS_OUTPUT.search, lines))  # with what an example prints
    return is_run or is_compared or not all(is_sentence(_SIGN.sub("", line)) for line in lines)
