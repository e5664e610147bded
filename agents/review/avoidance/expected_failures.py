"""Recognises tests that pass only if an assertion of their own fails."""

import re
from collections.abc import Iterator, Sequence

from agents.review.avoidance.assertions import read_assertions
from agents.review.avoidance.calls import CALLS, find_callee
from agents.review.avoidance.leaves import join_text
from agents.syntax.trees import SyntaxNode

_RAISES = re.compile(
    r"^(raises|assert_?[rR]aises\w*|assertThrows\w*|throws\w*|Throws\w*|toThrow\w*|throw|raise_error|rejects|"
    r"must_raise|assertThatThrownBy|assertThatExceptionOfType|suppress|expectException\w*|ExpectedException)$"
)
_FAILED = re.compile(
    r"\b\w*(Assert(ion)?(Failed)?\w*(Error|Exception)|AssertionError|ExpectationFailed\w*|ExpectationNotMet\w*|"
    r"failureException|Minitest . Assertion|Minitest :: Assertion|EqualException|TrueException)\b"
)
"""What assertions raise."""
_ANY = re.compile(r"(?<![\w.] )\b(Base)?Exception\b|\bThrowable\b|\bStandardError\b|^[^\"'`]*\bError\b[^\"'`]*$")
_CLOSURES = frozenset(
    [
        "lambda",
        "lambda_expression",
        "arrow_function",
        "function_expression",
        "do_block",
        "block",
        "anonymous_function",
        "anonymous_function_creation_expression",
        "closure_expression",
    ]
)
_SIGNS = ("aise", "hrow", "eject", "uppress", "xpectException")
"""Parts of the words by which a test says that something is to fail."""
_LONGEST = 400
"""Characters of what tells of an expected error."""
_PANICS = re.compile(r"\bshould_panic\b")
_OF_ASSERTION = re.compile(r"assert|left ?==|left: |!=", re.IGNORECASE)


def find_expected_failure(node: SyntaxNode, language: str, marks: Sequence[SyntaxNode]) -> str:
    """How a test expects an assertion of its own to fail; empty if it does not.

    :param marks: what stands above it.
    """
    texts = [join_text(mark)[:_LONGEST] for mark in marks]
    found = [_judge_mark(text) for text in texts]
    if any(sign in each.text for each in node.walk() if not each.children for sign in _SIGNS):
        found += _list_inside(node, language)
    how = next((each for each in found if each), "")
    return how if how and any(each.strength for each in read_assertions(node, language)) else ""


def _judge_mark(text: str) -> str:
    if _PANICS.search(text):
        _, names_it, expected = text.partition("expected")
        return text if not names_it or _OF_ASSERTION.search(expected) else ""
    return text if re.search(r"\bexpected\w* =|ExpectedException", text) and _FAILED.search(text) else ""


def _list_inside(node: SyntaxNode, language: str) -> Iterator[str]:
    for each in node.walk():
        if each.kind == "with_statement":
            yield _judge_with(each, language)
        elif each.kind in CALLS and any(map(_RAISES.match, _list_verbs(each))):
            yield _judge_call(each, language)


def _list_verbs(call: SyntaxNode) -> Iterator[str]:
    """The names of a call, and of the calls that it is given: RSpec has its verb there."""
    yield from find_callee(call)
    for child in call.children:
        if "argument" in child.kind:
            yield from (name for inner in child.children if inner.kind in CALLS for name in find_callee(inner)[:1])


def _judge_with(node: SyntaxNode, language: str) -> str:
    """A block of Python in which an assertion is to fail."""
    head = " ".join(join_text(child) for child in node.children if child.kind != "block")[:_LONGEST]
    body = node.find("block")
    is_expected = re.search(r"\b(raises|assert_?[rR]aises\w*|suppress) \(", head) is not None
    is_failure = _FAILED.search(head) or (_ANY.search(head) and "match" not in head.split())
    return head if body is not None and is_expected and is_failure and read_assertions(body, language) else ""


def _judge_call(node: SyntaxNode, language: str) -> str:
    """A call that is given what must fail, and that names no other error than that of an assertion."""
    closures = [each for each in node.walk() if each.kind in _CLOSURES]
    said = join_text(node)
    if not closures:
        return said[:_LONGEST] if said.startswith(_PHP_EXPECTS) and _FAILED.search(said[:_LONGEST]) else ""
    if not any(read_assertions(child, language) for each in closures for child in each.children):
        return ""
    rest = said.replace(join_text(closures[0]), " … ")[:_LONGEST]
    is_named = re.search(r"[\"'`/]|\w(Error|Exception)\b", rest) is not None
    return rest if _FAILED.search(rest) or _ANY.search(rest) or not is_named else ""


_PHP_EXPECTS = ("$ this -> expectException (", "$this -> expectException (")
