"""Reads what a call calls, in any language."""

import re

from agents.syntax.trees import SyntaxNode

CALLS = frozenset(
    [
        "call",
        "call_expression",
        "method_invocation",
        "invocation_expression",
        "function_call_expression",
        "member_call_expression",
        "scoped_call_expression",
        "nullsafe_member_call_expression",
        "macro_invocation",
        "command",
    ]
)
NAME = re.compile(r"identifier|^name$|constant|^word$|variable_name")


def find_callee(node: SyntaxNode) -> list[str]:
    """The names of what a call calls, from the outside in: of ``a.b(1).c(2)`` it is ``a, b, c``."""
    names: list[str] = []
    for child in node.children:
        if "argument" in child.kind or child.kind in {"token_tree", "do_block", "block"}:
            continue
        if child.children and child.kind in CALLS:
            names += find_callee(child)
        elif child.children:
            names += _list_chain(child)
        elif NAME.search(child.kind):
            names.append(child.text)
    return names


def _list_chain(node: SyntaxNode) -> list[str]:
    names: list[str] = []
    for child in node.children:
        if child.kind in CALLS:
            names += find_callee(child)
        elif "argument" in child.kind:
            continue
        elif node.kind == "subscript_expression" and child.kind == "string":  # t["throws"](…)
            names += [name for name in [child.text.strip("\"'`")] if name.isidentifier()]
        elif child.children:
            names += _list_chain(child)
        elif NAME.search(child.kind):
            names.append(child.text)
    return names
