"""Reads the assertions of a test, of any common framework."""

import re
import zlib
from collections.abc import Iterator, Sequence

from agents.review.avoidance.calls import CALLS, find_callee
from agents.review.avoidance.facts import AssertionFact, Strength
from agents.review.avoidance.leaves import (
    join_text,
    list_leaves,
    list_literals,
    list_words,
)
from agents.review.avoidance.sides import Assigned, list_assigned, read_sides
from agents.review.avoidance.strengths import LONGEST, weigh
from agents.syntax.trees import SyntaxNode

_GUARDS = frozenset(
    [
        "if_statement",
        "try_statement",
        "if_modifier",
        "unless_modifier",
        "if",
        "unless",
        "begin",
        "rescue_modifier",
        "match_statement",
        "switch_statement",
        "if_expression",
        "try_expression",
        "conditional_expression",
    ]
)
VOCABULARY = frozenset(
    [
        "self",
        "this",
        "assert",
        "Assert",
        "expect",
        "should",
        "t",
        "require",
        "that",
        "pytest",
        "raises",
        "a",
        "is",
        "it",
        "to",
        "be",
        "not",
        "has",
        "have",
        "eq",
        "Should",
        "ok",
        "test",
        "errors",
        "static",
        "parent",
        "chai",
    ]
)
_BEGINS = re.compile(
    r"^(assert\w*|expect\w*|verify\w*|refute\w*|must_\w+|wont_\w+|fail\w*|should\w*|is_expected|debug_assert\w*|"
    r"assume\w*|ensure_\w+|check_equal|raises|deep_equal)$",
    re.IGNORECASE,
)
_ROOTS = frozenset(
    {"assert", "Assert", "require", "t", "expect", "td", "cmp", "ok", "chai", "StringAssert", "is", "qt"}
)
_T_FAILS = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_T_LOGS = frozenset(
    {"Log", "Logf", "Run", "Helper", "Cleanup", "Parallel", "log", "timeout", "plan", "end", "teardown", "context"}
)
_T_LOGS_MORE = frozenset(
    {"Skip", "Skipf", "SkipNow", "TempDir", "Setenv", "Name", "test", "comment", "before", "after"}
)


def _shorten(text: str) -> str:
    """The text, or its beginning with a digest of the whole, so that a journal is not filled with data."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… {zlib.crc32(text.encode(errors='replace'))}"


def read_assertions(node: SyntaxNode, language: str) -> tuple[AssertionFact, ...]:
    """The assertions below a node, in order."""
    found = [*_find(node, language, 0)]
    assigned = list_assigned(node) if found else []
    return tuple(
        _read_condition(each, guards, assigned)
        if each.kind == "if_statement"
        else _read(each, language, guards, assigned)
        for each, guards in found
    )


def _find(node: SyntaxNode, language: str, guards: int) -> Iterator[tuple[SyntaxNode, int]]:
    """Each assertion, and how many conditions and handlers stand around it."""
    is_condition = language == "go" and node.kind == "if_statement" and _fails_test(node)
    if is_condition or _is_assertion(node, language):
        yield node, guards
        return
    inner = guards + (node.kind in _GUARDS)
    for child in node.children:
        yield from _find(child, language, inner)


def _fails_test(node: SyntaxNode) -> bool:
    """Whether a Go condition only fails the test."""
    return any(
        each.kind in CALLS and (names := find_callee(each)) and names[-1] in _T_FAILS and len(names) > 1
        for child in node.children
        if child.kind == "block"
        for each in child.walk()
    )


def _read_condition(node: SyntaxNode, guards: int, assigned: Sequence[Assigned]) -> AssertionFact:
    head = [child for child in node.children if child.kind != "block"]
    words = tuple(word for child in head for word in list_words(child) if word not in VOCABULARY)
    literals = tuple(word for child in head for word in list_literals(child))
    text = " ".join(leaf for child in head for leaf in list_leaves(child))[:LONGEST]
    is_range = re.search(r"[<>]", text) is not None
    is_exact = "!=" in text or "DeepEqual" in text or "==" in text or ("!" in text.split() and not is_range)
    only_error = words and set(words) <= {"err", "nil", "error"}
    strength = Strength.weak if only_error else Strength.exact if is_exact else Strength.partial
    if re.search(r"\bfalse\b", text) and ("&& false" in text or text.startswith("if false")):
        strength = Strength.vacuous
    return AssertionFact(
        line=node.start,
        text=text,
        words=words,
        literals=literals,
        strength=strength,
        guards=guards,
        kind="if",
        sides=read_sides(head, [*assigned, *(each for child in head for each in list_assigned(child))], node.start),
    )


def _is_assertion(node: SyntaxNode, language: str) -> bool:
    if node.kind == "assert_statement" or (language == "bash" and node.kind == "test_command"):
        return True
    if node.kind == "with_statement":
        return False
    if node.kind not in CALLS:
        return False
    names = find_callee(node)
    if not names:
        return False
    if language == "bash":
        return names[0].startswith(("assert", "refute", "fail")) or names[0] in {"diff", "cmp", "test"}
    root, last = names[0], names[-1]
    if any(_BEGINS.match(each) for each in names):
        return True
    if root in _ROOTS and len(names) > 1:
        return last not in _T_LOGS and last not in _T_LOGS_MORE
    return "should" in names


def _read(node: SyntaxNode, language: str, guards: int, assigned: Sequence[Assigned]) -> AssertionFact:
    names = find_callee(node) if node.kind in CALLS else []
    vocabulary = {*names, *VOCABULARY}
    literals = list_literals(node)
    words = [word for word in list_words(node) if word not in vocabulary or word in literals]
    strength, kind = weigh(node, names, language)
    return AssertionFact(
        line=node.start,
        text=_shorten(join_text(node)),
        words=tuple(words),
        literals=tuple(literals),
        strength=strength,
        guards=guards,
        kind=kind,
        sides=read_sides([node], assigned, node.start),
    )
