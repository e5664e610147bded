"""Reads for which inputs a function has an answer of its own, and which values it tells apart."""

import re
from collections.abc import Iterator
from itertools import takewhile

from agents.review.avoidance.calls import CALLS, find_callee
from agents.review.avoidance.facts import PlaceFact
from agents.review.avoidance.kinds import CASES, IFS, RETURNS
from agents.review.avoidance.leaves import is_literal, join_text, list_literals, list_words
from agents.syntax.trees import SyntaxNode


def list_specials(node: SyntaxNode, own: list[SyntaxNode]) -> Iterator[PlaceFact]:
    """Conditions on a literal of a parameter that answer with a literal at once."""
    parameters = _list_parameters(node)
    for each in own:
        if each.kind not in IFS or not each.children:
            continue
        condition = _find_condition(each)
        if condition is None:
            continue
        text, words = join_text(condition), set(list_words(condition))
        literals = [value for value in (*list_literals(condition), *_list_patterns(condition)) if _is_telling(value)]
        is_equal = re.search(r"==|=~|\bequals\b|\bin \[|\bin \(|\bin \{|\. eql|includes|contains| = ", text)
        is_list = len(literals) >= _MANY
        if not literals or not is_equal or (parameters and not words & parameters and not is_list):
            continue
        if len(literals) >= _MANY and re.search(r"\bin\b|includes|contains|\bhas\b", text):
            yield PlaceFact(line=each.start, what=f"a list of values decides: `{text[:80]}`", text=" ".join(literals))
            continue
        answer = next((found for found in each.walk() if _is_answer(found) and found is not each), None)
        if answer is None or not _answers_itself(answer):
            continue
        yield PlaceFact(line=each.start, what=f"`{text[:80]}` has an answer of its own", text=" ".join(literals))


def _list_patterns(condition: SyntaxNode) -> list[str]:
    """What whole inputs an expression stands for that has no variable part, as ``/\\Aone fifty\\z/``."""
    texts = [
        re.sub(r"^/(?:\\A|\^)|(?:\\z|\\Z|\$)/\w*$", "", each.text) for each in condition.walk() if each.kind == "regex"
    ]
    return [text for text in texts if re.fullmatch(r"[\w ,.-]+", text)]


def list_cases(own: list[SyntaxNode]) -> Iterator[str]:
    """The values of the branches of a ``switch``, ``match`` or ``case``: literals, and in a shell its words."""
    for each in own:
        if each.kind == "case_item":
            yield from (child.text for child in takewhile(_is_pattern, each.children) if child.text != "|")
        elif each.kind in CASES and each.find("case_item") is None:
            head = next((child for child in each.children if child.children or is_literal(child)), None)
            yield from ([] if head is None else [head.text] if is_literal(head) else list_literals(head))


def _is_pattern(node: SyntaxNode) -> bool:
    return node.text != ")"


def _find_condition(node: SyntaxNode) -> SyntaxNode | None:
    if node.kind.endswith("modifier"):
        return node.children[-1]
    for child in node.children:
        if child.children and "block" not in child.kind and child.kind not in {"then", "statement_list"}:
            return child
    return None


def _list_parameters(node: SyntaxNode) -> set[str]:
    found = next((each for each in node.walk() if "parameter" in each.kind and each.children), None)
    return set() if found is None else {word for word in list_words(found) if word not in {"self", "this", "cls"}}


def _is_telling(literal: str) -> bool:
    """Whether a literal is more than one that any program compares with."""
    bare = literal.strip("\"'`")
    return len(bare) > 1 and bare.lower() not in {
        "none",
        "null",
        "nil",
        "true",
        "false",
        "undefined",
        "-1",
        "10",
        "100",
    }


def _is_answer(node: SyntaxNode) -> bool:
    return node.kind in RETURNS or (node.kind == "command" and find_callee(node)[:1] in (["echo"], ["printf"]))


def _answers_itself(answer: SyntaxNode) -> bool:
    """Whether a return returns literals, and calls nothing."""
    leaves = [each for each in answer.walk() if not each.children and each.text.strip()]
    is_call = any(each.kind in CALLS and find_callee(each)[-1:] not in _WRAPS for each in answer.walk())
    is_call = is_call and answer.kind != "command"
    return any(is_literal(each) for each in leaves) and not is_call


_MANY = 3  # values in one condition
_WRAPS = (["Some"], ["Ok"], ["Duration"])
