"""Rates commands for a shell that are put together from text, in the syntax tree of any language."""

import re

from ast_grep_py import SgNode

from agents.review.checks.dangers.texts import ARGUMENTS, SENT, Hole, flatten, is_from_outside, list_holes, list_named
from agents.review.checks.rule_texts import Danger

_HARMLESS = re.compile(
    r"^[\d.]+$|(?:^|\.|::|->)[A-Z][A-Z0-9_]*$|(?i:escape|quote|shellwords|shlex|\bint\(|parseInt|intval|to_i\b|\.pid\b)"
)
_PART = re.compile(r"(?i)(?:cmd|command|args?|argv|flags?|opts?|options?|bin|binary|exe|executable|redirect\w*)\W*$")


def rate(node: SgNode) -> Danger | None:
    """How grave it is what a call puts into a command; None if it puts nothing into it.

    The program itself, its options and what the function made itself are put in by honest programs, too.

    :param node: the call, or the command itself where the language has a literal for it.
    """
    texts = [each for child in node.children() if child.kind() in ARGUMENTS for each in list_named(child)] or [node]
    holes = [hole for text in texts for hole in list_holes(list(flatten(text)))]
    if not holes or all(_HARMLESS.search(hole.source) for hole in holes):
        return None
    values = [hole for hole in holes if _HARMLESS.search(hole.source) is None and _is_value(hole)]
    return Danger.command if any(is_from_outside(hole.source, node) for hole in values) else Danger.command_text


def _is_value(hole: Hole) -> bool:
    is_behind = hole.before.strip("\"' ") != "" and _PART.search(hole.source) is None
    return is_behind or SENT.search(hole.source) is not None
