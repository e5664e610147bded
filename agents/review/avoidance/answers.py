"""Reads which functions do nothing but answer: with one value whatever they are given, or from a table."""

import re
from collections.abc import Iterator, Sequence

from agents.review.avoidance.facts import PlaceFact
from agents.review.avoidance.kinds import CASES, RETURNS
from agents.review.avoidance.leaves import is_literal, join_text, list_leaves
from agents.review.avoidance.tables import SPACE
from agents.syntax.trees import SyntaxNode

LOOKUP = "looks it up"
"""What a function does that only asks a table."""
IS_DATA = re.compile(r"[\w.)] +\S|\d{3}|\d.{0,20}[a-zA-Z]|[a-zA-Z].{0,20}\d|.{13}")
"""Inputs that are no word of a vocabulary."""
_SIGNS = frozenset({"{", "}", ";", ":", "end", "do", "(", ")", "=>", "statement_list"})
_EMPTY_NAMES = re.compile(
    r"(return|None|True|False|nil|null|undefined|true|false|Ok|Some|Optional|empty|Default|default|new|Array|List|Map|Set|"
    r"Collections|Collectors|emptyList|emptyMap|emptySet|of|dict|list|set|tuple|frozenset|Vec|String|HashMap|Vector|vec|"
    r"Enumerable|Empty|string|Task|CompletedTask|FromResult|Promise|resolve|int|array|ArrayList|HashSet|Object|void|await)$"
)
_LOOKUP = re.compile(
    r"^(return )?!? ?[\w.$ :]{1,60}( \. (has|get|includes|contains\w*|Contains\w*) \(| \[ | (not )?in )"
)
_LONGEST = 160  # characters of a body that only answers
_PAIRS = frozenset({"pair", "keyed_element", "array_element_initializer", "assignment_expression"})
_TABLES = frozenset({"dictionary", "object", "hash", "literal_value", "array_creation_expression"})


def find_only_answer(body: SyntaxNode | None) -> str:
    """The one value that a function has for everything, or that it looks it up; empty if it does more."""
    statements = _list_statements(body)
    if body is None or (not statements and body.kind in {"module", "ERROR"}):
        return ""
    if not statements:
        return "nothing"
    first = statements[0]
    if len(statements) > 1 and first.kind not in RETURNS:
        return ""
    text = join_text(first).rstrip(" ;")
    if len(text) > _LONGEST or first.kind.startswith(("if", "for", "while", "raise", "throw")):
        return ""
    if _is_constant(first):
        return text.removeprefix("return").strip() or "nothing"
    return LOOKUP if len(statements) == 1 and _LOOKUP.match(text) else ""


def _list_statements(body: SyntaxNode | None) -> list[SyntaxNode]:
    if body is None:
        return []
    if not body.children:
        return [body] if body.text.strip("{} ") else []
    if body.kind in RETURNS or not ("block" in body.kind or "body" in body.kind or "statement" in body.kind):
        return [body]
    inner = [child for child in body.children if child.kind not in _SIGNS or child.kind == "statement_list"]
    inner = [each for child in inner for each in (child.children if child.kind == "statement_list" else [child])]
    return [each for each in inner if not _is_docstring(each)]


def _is_docstring(node: SyntaxNode) -> bool:
    only = node.children[0] if node.kind == "expression_statement" and len(node.children) == 1 else node
    return only.kind == "string" and node.kind != "string"


def _is_constant(node: SyntaxNode) -> bool:
    leaves = [each for each in node.walk() if not each.children and each.text.strip()]
    return all(
        is_literal(each) or not (each.text[:1].isalpha() or each.text[:1] in "_$@") or _EMPTY_NAMES.match(each.text)
        for each in leaves
    )


def list_answers(own: Sequence[SyntaxNode]) -> Iterator[PlaceFact]:
    """Tables, and branches of one choice, that have a literal for each of some literals."""
    for each in own:
        entries = _PAIRS if each.kind in _TABLES else CASES
        keys = [key for child in each.children if child.kind in entries and (key := _read_key(child))]
        if keys:
            yield PlaceFact(line=each.start, what=f"a table answers {len(keys)} inputs", text=" ".join(keys))


def _read_key(node: SyntaxNode) -> str:
    """The literal that a pair or branch is for, if it has nothing but literals."""
    leaves = [each for each in node.walk() if not each.children and each.text.strip()]
    literals = [each for each in leaves if is_literal(each)]
    names = [each for each in leaves if each.text[:1].isalpha() and not is_literal(each)]
    if len(literals) < _KEY_AND_VALUE or any(not _OF_A_BRANCH.match(each.text) for each in names):
        return ""
    return list_leaves(literals[0])[0].replace(" ", SPACE)


_KEY_AND_VALUE = 2
_OF_A_BRANCH = re.compile(r"(case|when|then|return|echo|Some|Ok|new|break|else)$")
