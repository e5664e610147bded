"""Recognises where a function drops an error: in a handler, or in a way of its language."""

import re
from collections.abc import Callable, Iterator, Mapping

from agents.review.avoidance.calls import CALLS, find_callee
from agents.review.avoidance.facts import PlaceFact
from agents.review.avoidance.leaves import join_text
from agents.syntax.trees import SyntaxNode

_HANDLERS = frozenset({"except_clause", "catch_clause", "rescue", "rescue_modifier"})
_HANDLED = re.compile(
    r"\b(raise|throw|log\w*|warn\w*|print\w*|console|error\w*|fail\w*|exit|abort|reject|panic|record|report|emit|"
    r"errors|append|push|add|retry|sleep|notify|capture\w*|trace)\b",
    re.IGNORECASE,
)


def list_swallows(own: list[SyntaxNode], language: str) -> Iterator[PlaceFact]:
    for each in own:
        what = _find_swallow(each, language)
        if what:
            yield PlaceFact(line=each.start, what=what, text=join_text(each)[:200])


def _find_swallow(node: SyntaxNode, language: str) -> str:
    """How a node drops an error; empty if it does not."""
    if node.kind in _HANDLERS:
        return _judge_handler(node)
    find = _OWN_WAYS.get(language)
    return "" if find is None else find(node)


def _find_in_go(node: SyntaxNode) -> str:
    if node.kind in {"short_var_declaration", "assignment_statement"} and node.children:
        is_error = join_text(node.children[-1]) in {"err", "error"}
        is_call = any(child.kind in CALLS for child in node.walk()) and "range" not in join_text(node).split()
        is_call |= is_error
        return "the error is assigned to `_`" if is_call and re.search(r"(^|, )_$", join_text(node.children[0])) else ""
    if node.kind == "expression_statement" and join_text(node) == "recover ( )":
        return "a panic is caught and dropped"
    if node.kind == "if_statement" and re.search(r"err != nil \{ (return nil )?\}$", join_text(node)):
        return "an error is looked at and dropped"
    return ""


def _find_in_rust(node: SyntaxNode) -> str:
    text = join_text(node) if node.kind in {"let_declaration", "match_arm", "if_expression"} else ""
    if node.kind == "let_declaration" and text.startswith("let _ ="):
        return "the result is assigned to `_`"
    if node.kind == "match_arm" and _RUST_DROPS.match(text):
        return "an error is matched and dropped"
    if node.kind == "if_expression" and text.startswith("if let Ok (") and "else" not in text.split():
        return "only success is dealt with"
    if node.kind == "scoped_identifier" and join_text(node) == "Result :: ok":
        return "results that are errors are left out"
    if node.kind == "call_expression":
        return next((_RUST_METHODS[name] for name in find_callee(node)[-1:] if name in _RUST_METHODS), "")
    return ""


def _find_in_script(node: SyntaxNode) -> str:
    if node.kind == "member_expression" and join_text(node) == "Promise . allSettled":
        return FALLBACK
    if node.kind != "call_expression" or find_callee(node)[-1:] != ["catch"]:
        return ""
    handler = node.find("arguments")
    is_dropped = handler is not None and _SCRIPT_DROPS.search(join_text(handler))
    return "a rejection is dropped" if is_dropped else ""


def _find_in_php(node: SyntaxNode) -> str:
    return "errors are switched off by `@`" if node.kind == "error_suppression_expression" else ""


def _find_in_python(node: SyntaxNode) -> str:
    if node.kind == "keyword_argument":
        return _PYTHON_OPTIONS.get(join_text(node), "")
    is_suppressed = node.kind == "with_statement" and re.search(r"\bsuppress \(", join_text(node)[:120])
    return "the error is suppressed" if is_suppressed else ""


def _find_in_shell(node: SyntaxNode) -> str:
    if node.kind == "string" and "$(" in node.text:
        return SILENT if re.search(r"2> ?/dev/null", node.text) else ""
    if node.kind != "redirected_statement":
        return ""
    is_silent = re.search(r"2 > /dev/null|> /dev/null 2 >& 1|& > /dev/null", join_text(node)[-60:]) is not None
    return SILENT if is_silent else ""


FALLBACK = "the error is caught, and something else goes on without a word of it"
"""What a handler does that neither drops an error nor tells of it."""
SILENT = "what it says of errors is thrown away"
_PYTHON_OPTIONS = {
    'errors = "ignore"': "what cannot be read is dropped",
    "ignore_errors = True": "errors are ignored",
    "check = False": "a command may fail",
    "return_exceptions = True": "the error becomes a value among others",
    'on_bad_lines = "skip"': "what cannot be read is dropped",
}
_RUST_DROPS = re.compile(r"Err \( _\w* \) => (\{ \}|\( \)|Ok|Default|None|String|Vec|false|true|0)")
_RUST_METHODS = {
    "unwrap_or_default": "a failure becomes a default value",
    "ok": "the error is turned into nothing",
    "flatten": FALLBACK,
    "unwrap_or": FALLBACK,
}
_SCRIPT_DROPS = re.compile(
    r"=> (\{ \}|\{ return ;? ?\}|undefined|null|\[ \]|\( \{ \} \)|false|\"\"|''|void 0) ?\)?$|"
    r"^\( ([\w$]+ \. )?(noop|no_op|doNothing|ignore|Function \. prototype) \)$|function \w* ?\( \w* ?\) \{ \}"
)
_OWN_WAYS: Mapping[str, Callable[[SyntaxNode], str]] = {
    "go": _find_in_go,
    "rust": _find_in_rust,
    "javascript": _find_in_script,
    "typescript": _find_in_script,
    "tsx": _find_in_script,
    "php": _find_in_php,
    "python": _find_in_python,
    "bash": _find_in_shell,
}
"""How a language drops errors beside handlers."""


def _judge_handler(node: SyntaxNode) -> str:
    """Whether a handler drops what it caught."""
    if node.kind == "rescue_modifier":
        last = join_text(node.children[-1]) if node.children else ""
        return "any error becomes a value" if _RUBY_VALUE.fullmatch(last) else ""
    text = _read_handler(node)
    if text in _NOTHING_DONE:
        return "the error is caught and dropped"
    is_short_assignment = len(text) < _SHORT and not _HANDLED.search(text) and _ASSIGNS_NOTHING.match(text)
    if _TELLS_NOTHING.fullmatch(text) or is_short_assignment:
        return "the error becomes a value that says nothing of it"
    return "" if _HANDLED.search(text) else FALLBACK


def _read_handler(node: SyntaxNode) -> str:
    """What a handler does, in words; empty if it does nothing."""
    body = next((child for child in reversed(node.children) if child.children or "block" in child.kind), None)
    if node.kind == "rescue":
        body = node.find("then", "body_statement") or (node.children[-1] if node.children else None)
        if body is not None and body.kind in {"exceptions", "exception_variable", "rescue"}:
            return ""
    if body is None or "type" in body.kind or "parameter" in body.kind or body.kind == "exceptions":
        return ""
    return re.sub(r"^\{ ?|^then ?| ?\}$", "", join_text(body)).strip(" ;")


_SHORT = 60
_NOTHING_DONE = frozenset({"", "pass", "continue", "...", ". . .", "next", "nil", "return", "break"})
_EMPTY = r"None|nil|null|undefined|false|true|False|True|0|-1|- 1|''|\"\"|\[ \]|\{ \}|\( \)|\[\]|\{\}|default"
_EMPTY_OBJECTS = r"Optional \. empty \( \)|Collections \. \w+ \( \)|new \w+ .*|(dict|list|array) \( \)|string \. Empty"
_TELLS_NOTHING = re.compile(rf"(return )?({_EMPTY}|{_EMPTY_OBJECTS})")
_RUBY_VALUE = re.compile(_EMPTY)
_ASSIGNS_NOTHING = re.compile(rf"^(\w+ )+= ({_EMPTY})$")
