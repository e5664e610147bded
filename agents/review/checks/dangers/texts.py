"""Reads text that is put together, in the syntax tree of any language: what is written, and what is put in."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ast_grep_py import SgNode

from agents.syntax.trees import FUNCTIONS

_LITERAL_KINDS = (
    "string template_string encapsed_string heredoc heredoc_body interpreted_string_literal raw_string_literal "
    "string_literal verbatim_string_literal interpolated_string_expression subshell"
)
_LITERALS = frozenset(_LITERAL_KINDS.split())
JOINED = frozenset({"binary_operator", "binary_expression", "binary"})
GROUPED = frozenset({"parenthesized_expression", "concatenated_string", "expression_list", "chained_string"})
_CALL_KINDS = (
    "call call_expression function_call_expression member_call_expression scoped_call_expression "
    "nullsafe_member_call_expression method_invocation invocation_expression object_creation_expression "
    "macro_invocation"
)
CALLS = frozenset(_CALL_KINDS.split())
ARGUMENTS = frozenset({"arguments", "argument_list", "token_tree"})
PASSED = (
    JOINED
    | GROUPED
    | ARGUMENTS
    | {"argument", "attribute", "reference_expression", "equals_value_clause", "conditional_expression"}
    | {"ternary_expression", "member_expression", "member_access_expression", "selector_expression", "heredoc"}
)
SENT = re.compile(
    r"(?i)\$_(?:get|post|request|cookie|session|server)\b|\b(?:request|req|params|query_?params|args|argv|form|cookies?"
    r"|headers?|body|user_?input|getParameter|input)\b\s*(?:\(|\)|\[|\.|->|:|$)"
)
"""What is named after people or machines outside who sent it."""

_SCOPE_KINDS = (
    "arrow_function function_expression generator_function_declaration func_literal closure_expression "
    "local_function_statement anonymous_function anonymous_function_creation_expression lambda_expression"
)
SCOPES = FUNCTIONS | frozenset(_SCOPE_KINDS.split())
_NAMES = re.compile(r"(?<![\w.>$@:'\"])\$?[A-Za-z_]\w*")
_CHECKS = (
    r"(?i)(?:check|valid|ensure|assert|sanit|is_numeric|is_int|isdigit|ctype|preg_match|filter_var|in_array)\w*\s*\("
)
_TYPE = re.compile(
    r"(?i)array|string|str|int(eger)?|long|bool(ean)?|float|double|object|list|map|dict|mixed|callable|context|any|void"
    r"|char|byte|date|null|none|final|const|var|async|public|private|readonly|self"
)
_NUMBER = re.compile(r"\((?:int|float|integer|bool)\)|\b(?:int|float|intval|parseInt|Number)\s*\(|\.to_[if]\b")
_OURSELVES = frozenset({"self", "cls", "this", "$this"})
_MOST_LEVELS = 60  # of a text that is put together
_FORMATS = re.compile(r"(?i)(?:^|\W)(?:v?s?printf|format!?|formatted)\s*$")


@dataclass(frozen=True)
class Value:
    """What is put into a text: its source."""

    source: str


@dataclass(frozen=True)
class Hole:
    """A place of a text where something is put in: the source of it, and the text before and after."""

    source: str
    before: str
    after: str


def is_part(node: SgNode) -> bool:
    """Whether it belongs to a larger text, which is looked at as a whole."""
    parent = node.parent()
    while parent is not None and parent.kind() == "parenthesized_expression":
        parent = parent.parent()
    if parent is None:
        return False
    return parent.kind() == "concatenated_string" or (parent.kind() in JOINED and _read_sides(parent) is not None)


def is_from_outside(source: str, node: SgNode) -> bool:
    """Whether an expression names a parameter of a function around a node, or what was sent."""
    parameters = {name for scope in _list_scopes(node) for name in _list_parameters(scope)} - _OURSELVES
    return not parameters.isdisjoint(_NAMES.findall(source)) or is_sent(source, node)


def is_sent(source: str, node: SgNode) -> bool:
    """Whether an expression names what people or machines outside sent, or what was given that in the same function."""
    if SENT.search(source):
        return True
    scope = next(_list_scopes(node), None)
    if scope is None:
        return False
    before = scope.text()[: max(node.range().start.index - scope.range().start.index, 0)]
    given = "|".join(re.escape(name) for name in _NAMES.findall(source))
    assigned = re.finditer(rf"(?<![\w.>])(?:{given})\b[^=\n;()]*=(?![=>])(?P<what>[^\n;]*)", before) if given else ()
    return any(SENT.search(found["what"]) and not _NUMBER.search(found["what"]) for found in assigned)


def is_checked(source: str, node: SgNode) -> bool:
    """Whether something that is called after checking takes the same key or name before a node."""
    named = re.search(r"[\"'](\w+)[\"']", source) or re.search(r"(\w+)\W*$", source)
    scope = next(_list_scopes(node), None) or node.get_root().root()
    before = scope.text()[: max(node.range().start.index - scope.range().start.index, 0)]
    return named is not None and re.search(rf"{_CHECKS}[^;\n]*\b{re.escape(named[1])}\b", before) is not None


def _list_scopes(node: SgNode) -> Iterator[SgNode]:
    """The functions around a node, the innermost first."""
    return (each for each in node.ancestors() if each.kind() in SCOPES)


def _list_parameters(scope: SgNode) -> list[str]:
    texts = [child.text() for child in scope.children() if "parameter" in child.kind()]
    if scope.kind() == "arrow_function" and not texts:
        texts = [child.text() for child in scope.children()[:1]]
    names = [name for text in texts for name in _NAMES.findall(text) if not _TYPE.fullmatch(name)]
    return [name for name in names if name.startswith("$")] or names


def list_holes(parts: Sequence[str | Value]) -> Iterator[Hole]:
    """Each place of a text where something is put in, from the left."""
    plain = [part if isinstance(part, str) else "?" for part in parts]
    for at, part in enumerate(parts):
        if isinstance(part, Value):
            yield Hole(part.source, "".join(plain[:at]), "".join(plain[at + 1 :]))


def flatten(node: SgNode, level: int = 0) -> Iterator[str | Value]:
    """The text that an expression gives, with what is put into it."""
    kind = node.kind()
    if level > _MOST_LEVELS:
        return
    if kind in _LITERALS:
        yield from _read_literal(node)
    elif kind in JOINED and (sides := _read_sides(node)) is not None:
        left, operator, right = sides
        if operator == "%":
            yield from _fill(list(flatten(left, level + 1)), _list_items(right))
        else:
            yield from flatten(left, level + 1)
            yield from flatten(right, level + 1)
    elif kind in GROUPED or kind in ("argument", "reference_expression"):
        for child in list_named(node):
            yield from flatten(child, level + 1)
    elif kind in CALLS and _FORMATS.search(read_callee(node)):
        yield from _read_format(node, level)
    elif node.is_named():
        yield Value(node.text())


def _read_literal(node: SgNode) -> Iterator[str | Value]:
    children = [child for child in node.children() if child.is_named()]
    if not children:
        yield node.text().strip("\"'`@$")
    for child in children:
        kind = child.kind()
        if kind == "heredoc_body":
            yield from _read_literal(child)
        elif "content" in kind or "fragment" in kind or "escape" in kind:
            yield child.text()
        elif not kind.endswith(("start", "end")):
            yield Value(re.sub(r"^[#$]?\{|\}$", "", child.text()).strip())


def _read_sides(node: SgNode) -> tuple[SgNode, str, SgNode] | None:
    children = node.children()
    if len(children) != 3 or children[1].text() not in ("+", ".", "%"):
        return None
    return children[0], children[1].text(), children[2]


def _read_format(node: SgNode, level: int) -> Iterator[str | Value]:
    """The text of a call that puts its arguments into another one."""
    items = [item for child in node.children() if child.kind() in ARGUMENTS for item in _list_items(child)]
    template = _find_literal(node, level)
    if template is None:
        yield Value(node.text())
        return
    text = template.text()
    sources = items[items.index(text) + 1 :] if text in items else items
    yield from _fill(list(flatten(template, level + 1)), sources)


def _find_literal(node: SgNode, level: int) -> SgNode | None:
    """The first text within an expression."""
    if node.kind() in _LITERALS or level > _MOST_LEVELS:
        return node if node.kind() in _LITERALS else None
    return next((found for each in node.children() if (found := _find_literal(each, level + 1)) is not None), None)


def _fill(parts: Sequence[str | Value], sources: Sequence[str]) -> Iterator[str | Value]:
    """Puts values where a text has marks for them: ``%s``, ``{}``, ``{0}`` or ``{name}``."""
    waiting = list(sources)
    mark = re.compile(
        r"%(?:\((?P<name>\w+)\))?[-+#0 ]*\d*(?:\.\d+)?(?P<letter>[a-zA-Z])|\{(?P<key>\w*)(?:[:!][^{}]*)?\}"
    )
    for part in parts:
        if isinstance(part, Value):
            yield part
            continue
        at = 0
        for found in mark.finditer(part):
            named = found["name"] or (found["key"] if found["key"] and not found["key"].isdigit() else None)
            source = named or (waiting.pop(0) if waiting else "value")
            yield part[at : found.start()]
            yield Value("0" if found["letter"] in tuple("dixXfgeu") else source)
            at = found.end()
        yield part[at:]


def _list_items(node: SgNode) -> list[str]:
    """The sources of arguments, or of the values of a tuple."""
    if node.kind() in ARGUMENTS or node.kind() in ("tuple", "list", "array", "parenthesized_expression"):
        return [child.text() for child in list_named(node)]
    return [node.text()]


def list_named(node: SgNode) -> list[SgNode]:
    return [child for child in node.children() if child.is_named() and "comment" not in child.kind()]


def read_callee(call: SgNode) -> str:
    """What is called, as it is written: the text before the arguments."""
    arguments = next((child for child in call.children() if child.kind() in ARGUMENTS), None)
    if arguments is None:
        return ""
    return call.text()[: arguments.range().start.index - call.range().start.index].strip()
