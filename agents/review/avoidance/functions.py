"""Reads the functions of a file: what they raise, what they drop, whether they leave their work out."""

import re
from collections.abc import Iterator

from agents.review.avoidance.answers import find_only_answer, list_answers
from agents.review.avoidance.assertions import read_assertions
from agents.review.avoidance.calls import CALLS, find_callee
from agents.review.avoidance.facts import FunctionFact
from agents.review.avoidance.kinds import IFS, RETURNS
from agents.review.avoidance.leaves import join_text, list_words, make_signature
from agents.review.avoidance.lookups import find_early_names
from agents.review.avoidance.special_answers import list_cases, list_specials
from agents.review.avoidance.swallowed_errors import list_swallows
from agents.syntax.trees import FUNCTIONS, SyntaxNode, find_name

_CLASSES = frozenset(
    [
        "class_definition",
        "class_declaration",
        "class",
        "interface_declaration",
        "struct_item",
        "enum_item",
        "trait_item",
        "struct_declaration",
        "record_declaration",
        "enum_declaration",
        "trait_declaration",
        "type_spec",
        "type_alias_declaration",
    ]
)
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "function"})
_RAISES = frozenset({"raise_statement", "throw_statement", "throw_expression", "raise", "throw"})
_STUB = re.compile(
    r"NotImplemented(Error|Exception)?\b|\b(unimplemented|todo) !|not (yet )?(implemented|supported)|"
    r"\bTODO\b|UnsupportedOperationException",
    re.IGNORECASE,
)
_MOST_WORDS = 400


def find_functions(tree: SyntaxNode, language: str) -> tuple[FunctionFact, ...]:
    """The functions and classes of a file, in order."""
    return (*_walk(tree, language, "", is_public=True), _read_rest(tree, language))


TOP = "the top of the file"
"""Stands for the name of what is in no function."""


def _read_rest(tree: SyntaxNode, language: str) -> FunctionFact:
    own = [*_walk_own(tree)]
    return FunctionFact(
        name=TOP,
        line=1,
        is_public=False,
        words=frozenset(word for each in own if not each.children for word in list_words(each)[:1]),
        raises=tuple(_list_raises(own, language)),
        swallows=tuple(list_swallows(own, language)),
        specials=tuple(list_specials(tree, own)) if language == "bash" else (),
        cases=tuple(list_cases(own)) if language == "bash" else (),
        answers=tuple(list_answers(own)),
        early=find_early_names(own),
    )


def _walk(node: SyntaxNode, language: str, prefix: str, *, is_public: bool) -> Iterator[FunctionFact]:
    abstract = False
    for child in node.children:
        if child.kind == "decorator":
            abstract = abstract or "abstract" in join_text(child) or "overload" in join_text(child)
        name = _find_defined(child)
        if not name:
            yield from _walk(child, language, prefix, is_public=is_public)
            continue
        full = f"{prefix}{name}"
        visible = is_public and _is_public(child, name, node, language)
        is_class = child.kind in _CLASSES
        yield _read(child, full, language, is_public=visible, is_class=is_class, is_abstract=abstract)
        if is_class:
            yield from _walk(child, language, f"{full}.", is_public=visible)
        else:
            yield from _walk(child, language, f"{full}.", is_public=False)


def _find_defined(node: SyntaxNode) -> str:
    if node.kind == "variable_declarator" and any(child.kind in _FUNCTION_VALUES for child in node.children):
        return find_name(node)
    if (node.kind in FUNCTIONS or node.kind in _CLASSES) and len(node.children) > 1:
        name = find_name(node)
        receiver = _find_receiver(node)
        return f"{receiver}.{name}" if receiver and name else name
    return ""


def _find_receiver(node: SyntaxNode) -> str:
    """The type that a Go method belongs to."""
    if node.kind != "method_declaration" or len(node.children) < 3 or node.children[0].kind != "func":
        return ""
    return next((each.text for each in node.children[1].walk() if each.kind == "type_identifier"), "")


def _is_public(node: SyntaxNode, name: str, parent: SyntaxNode, language: str) -> bool:
    head = " ".join(join_text(child) for child in node.children[:3])
    match language:
        case "go":
            return name.rpartition(".")[2][:1].isupper()
        case "rust":
            return "pub" in head.replace("(", " ").split()
        case "java" | "csharp":
            return "public" in head.split() or "protected" in head.split() or parent.kind == "interface_body"
        case "php":
            return "private" not in head.split() and "protected" not in head.split()
        case "python" | "bash":
            return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
        case _:
            return not name.startswith(("_", "#")) and "private" not in head.split()


def _read(
    node: SyntaxNode, name: str, language: str, *, is_public: bool, is_class: bool, is_abstract: bool
) -> FunctionFact:
    if is_class:
        words = frozenset(list_words(node)[:_MOST_WORDS])
        return FunctionFact(name=name, line=node.start, is_public=is_public, is_class=True, words=words)
    body = _find_body(node)
    own = [*_walk_own(body)] if body is not None else []
    head = " ".join(join_text(child) for child in node.children[:2])
    is_bodiless = is_abstract or "abstract" in head.split()
    asserted = () if body is None else read_assertions(body, language)
    return FunctionFact(
        name=name,
        line=node.start,
        is_public=is_public,
        body=0 if body is None else make_signature(body),
        words=frozenset(list_words(node)[:_MOST_WORDS]),
        raises=tuple(_list_raises(own, language)),
        stub="" if body is None or is_bodiless else _find_stub(body, language),
        swallows=tuple(list_swallows(own, language)),
        specials=tuple(list_specials(node, own)),
        cases=tuple(list_cases(own)),
        size=0 if is_bodiless else sum(not each.children for each in own),
        answer="" if is_bodiless else find_only_answer(body),
        answers=tuple(list_answers(own)),
        assertions=sum(each.strength > 0 for each in asserted),
        demand=sum(each.strength for each in asserted),
        checks=asserted,
        early=find_early_names(own),
    )


def _find_body(node: SyntaxNode) -> SyntaxNode | None:
    if node.kind == "variable_declarator":
        value = next(child for child in node.children if child.kind in _FUNCTION_VALUES)
        return value.children[-1] if value.children else None
    for child in reversed(node.children):
        if child.children and child.kind not in {"parameters", "formal_parameters", "parameter_list", "type"}:
            return child
    return None


def _walk_own(body: SyntaxNode) -> Iterator[SyntaxNode]:
    """What is in a function, and not in one that is defined in it."""
    waiting = [body]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(
            child for child in reversed(node.children) if child.kind not in FUNCTIONS and child.kind not in _CLASSES
        )


def _list_raises(own: list[SyntaxNode], language: str) -> Iterator[str]:
    for each in own:
        text = ""
        if each.kind in _RAISES and each.children:
            text = join_text(each)
        elif each.kind in CALLS and (names := find_callee(each)):
            is_error = names[0] in {
                "raise",
                "fail",
                "panic",
                "bail",
                "ensure",
                "abort",
                "die",
                "error",
                "trigger_error",
            }
            is_error |= names[:2] in (["errors", "New"], ["fmt", "Errorf"]) or names[-1] in {"Err", "throwIfNull"}
            is_error |= names[0] == "Err" or names[0].startswith(
                ("throwIf", "require", "checkNotNull", "checkArgument")
            )
            is_error |= language == "bash" and names[0] in {"exit", "die", "return"} and join_text(each)[-1:] != "0"
            is_error |= language == "rust" and names[0] in {"assert", "assert_eq"}
            text = join_text(each) if is_error else ""
        elif each.kind == "try_expression" or (
            each.kind in RETURNS and re.search(r"\berr\b|\bErr[A-Z]\w+", join_text(each))
        ):
            text = join_text(each)
        if text:
            yield text[:200]


def _find_stub(body: SyntaxNode, language: str) -> str:
    """How a body leaves its work out; empty if it does something."""
    statements = [
        child
        for child in body.children
        if child.kind not in {"{", "}", ";", ":", "end", "do", "string"} and not _is_docstring(child)
    ]
    inner = [child for each in statements if each.kind == "statement_list" for child in each.children]
    statements = inner or statements
    if not statements:
        return "" if language != "python" else "nothing"
    text = " ".join(join_text(each) for each in statements)
    if len(statements) > 2 or len(text) > 200:
        return ""
    if _STUB.search(text) and not any(each.kind in IFS for each in statements):
        return text[:80]
    if language == "python" and re.fullmatch(r"(pass|\. \. \.|\.\.\.)", text):
        return text
    return ""


def _is_docstring(node: SyntaxNode) -> bool:
    return node.kind == "expression_statement" and len(node.children) == 1 and "string" in node.children[0].kind
