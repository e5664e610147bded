"""Reads text that is put together: what is written and what is put in, in any language."""

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
COLLECTIONS = frozenset(
    {"list", "tuple", "set", "array", "array_creation_expression", "array_initializer", "array_element_initializer"}
    | {"literal_value", "literal_element"}
)
_CHOICES = frozenset({"conditional_expression", "ternary_expression", "conditional"})
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
SENT_ITSELF = re.compile(
    r"(?i:\$_(?:get|post|request|cookie)\b|\b(?:request|req)\s*(?:\.|->)\s*(?:args|query\w*|params?|body|form|get|post"
    r"|values|cookies?|headers?|json|get_json|data|input)\b|\bgetParameter\s*\(|\bargv\s*\[)|\bos\.Args\s*\["
    r"|\bparams\[:|\br\.(?:URL\.Query|FormValue|PostFormValue|PathValue)\(|(?<![\w.])input\("
)
"""What was sent, by names that are used for nothing else."""

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
_NUMBER = re.compile(
    r"\((?:int|float|integer|bool)\)|type\s*=\s*(?:int|float)\b|\b(?:int|float|intval|parse(?:Int|Long|Float|Double)|Number|Atoi|ParseInt|ToInt\d*)"
    r"\s*\(|\.to_[if]\b|\b(?:int|long)\.(?:Try)?Parse\("
)
_NUMBERS = (
    r"(?:u?int\d*|[iu](?:8|16|32|64|128|size)|float\d*|f(?:32|64)|double|long|short|number|bigint|[Dd]ecimal|BigDecimal"
    r"|Integer|Long|Short|Float|Double|BigInteger|bool|[bB]oolean)"
)
_CLOSED = re.compile(r"[\w$.>:@-]*\([^()]*\)")
_OPEN = re.compile(r"([\w$.>:@-]*)\(")
_PASSES = re.compile(
    r"(?i)^$|(?:str|string|trim|\w*strip\w*|(?:str)?tolower\w*|(?:str)?toupper\w*|url\w*|decode\w*|first)$"
)
_OURSELVES = frozenset({"self", "cls", "this", "$this"})
_MOST_LEVELS = 60  # of a text that is put together
_UNCHANGED = re.compile(
    r"(?:^|\W)(?:String::from|to_string|to_owned|toString|ToString|String(?:Builder|Buffer)?|text|trim|dedent|strip|squish)$"
)
"""Calls that give the text they are given."""
_FORMATS = re.compile(r"(?i)(?:^|\W)(?:v?s?printf|format!?|formatted)\s*$")


@dataclass(frozen=True)
class Filling:
    """What is put into a text.

    :param source: of it.
    :param node: the expression, where there is one of its own.
    """

    source: str
    node: SgNode | None = None


@dataclass(frozen=True)
class Hole:
    """A place of a text where something is put in: the source of it, the text before and after, and where it stands."""

    source: str
    before: str
    after: str
    node: SgNode | None = None


def is_part(node: SgNode) -> bool:
    """Whether it belongs to a larger text, which is looked at as a whole."""
    parent = node.parent()
    while parent is not None and parent.kind() == "parenthesized_expression":
        parent = parent.parent()
    if parent is None:
        return False
    return parent.kind() == "concatenated_string" or (parent.kind() in JOINED and read_sides(parent) is not None)


def is_from_outside(source: str, node: SgNode) -> bool:
    """Whether an expression names a parameter of a function around a node, or what was sent."""
    parameters = {name for scope in list_scopes(node) for name in list_parameters(scope)} - _OURSELVES
    return not parameters.isdisjoint(_NAMES.findall(source)) or is_sent(source, node)


def is_declared_number(source: str, node: SgNode) -> bool:
    """Whether an expression is a parameter of a function around a node that is declared to be a number, or true."""
    name = re.escape(source.strip().lstrip("&$@"))
    declared = re.compile(
        rf"\b{name}\??\s*:\s*(?:Optional\[)?{_NUMBERS}\b|\b{_NUMBERS}\s*\??\s+\$?{name}\b"  # Python and Java
        rf"|\b{name}(?:\s*,\s*\w+)*\s+{_NUMBERS}\b"  # Go
    )
    return any(declared.search(text) for scope in list_scopes(node) for text in _read_parameters(scope))


def is_sent(source: str, node: SgNode, sent: re.Pattern[str] = SENT) -> bool:
    """Whether an expression names what people or machines outside sent, or what was given that in the same function.

    :param sent: what names it.
    """
    if _names_sent(source, sent):
        return True
    found = [each["what"] for each in _find_assigned(source, _read_level(node))]
    if any(_NUMBER.search(what) for what in found):
        return False
    return any(_names_sent(what, sent) and not is_checked(what, node) for what in found)


def _names_sent(text: str, sent: re.Pattern[str]) -> bool:
    """Whether what was sent is named, and no function that may check or change it is called with it."""
    found = sent.search(text)
    if found is None or sent is SENT:
        return found is not None
    before = text[: found.start()]
    while _CLOSED.search(before):
        before = _CLOSED.sub("", before)
    return _NUMBER.search(text) is None and all(_PASSES.search(name) for name in _OPEN.findall(before))


def _find_assigned(source: str, before: str) -> Iterator[re.Match[str]]:
    """Where a text gives something to the names of an expression, to one by one or to several at once."""
    names: list[str] = _NAMES.findall(source)
    whole = "|".join(re.escape(name) for name in names)
    if not whole:
        return iter(())
    place = re.escape(source.strip())
    return re.finditer(
        rf"(?<![\w.>])(?:{place}\s*|(?:{whole})\b(?!\s*->)[^=\n;().\[]*)=(?![=>])(?P<what>[^\n;]*)", before
    )


def is_checked(source: str, node: SgNode) -> bool:
    """Whether something that is called after checking takes the same key or name before a node."""
    named = re.search(r"[\"'](\w+)[\"']", source) or re.search(r"(\w+)\W*$", source)
    return named is not None and re.search(rf"{_CHECKS}[^;\n]*\b{re.escape(named[1])}\b", read_before(node)) is not None


def read_before(node: SgNode) -> str:
    """The text before a node, of the innermost function or, outside of functions, of the file."""
    scope = next(list_scopes(node), None) or node.get_root().root()
    return scope.text()[: max(node.range().start.index - scope.range().start.index, 0)]


def _read_level(node: SgNode) -> str:
    """The text before a node; outside of functions without the lines that are indented deeper, as theirs are."""
    before = read_before(node)
    if next(list_scopes(node), None) is not None:
        return before
    lines = before.split("\n")
    depth = len(lines[-1]) - len(lines[-1].lstrip())
    return "\n".join(line for line in lines if len(line) - len(line.lstrip()) <= depth)


def list_scopes(node: SgNode) -> Iterator[SgNode]:
    """The functions around a node, the innermost first."""
    return (each for each in node.ancestors() if each.kind() in SCOPES)


def _read_parameters(scope: SgNode) -> list[str]:
    texts = [child.text() for child in scope.children() if "parameter" in child.kind()]
    if scope.kind() == "arrow_function" and not texts:
        return [child.text() for child in scope.children()[:1]]
    return texts


def list_parameters(scope: SgNode) -> list[str]:
    names = [name for text in _read_parameters(scope) for name in _NAMES.findall(text) if not _TYPE.fullmatch(name)]
    return [name for name in names if name.startswith("$")] or names


def list_holes(parts: Sequence[str | Filling]) -> Iterator[Hole]:
    """Each place of a text where something is put in, from the left."""
    plain = [part if isinstance(part, str) else "?" for part in parts]
    for at, part in enumerate(parts):
        if isinstance(part, Filling):
            yield Hole(part.source, "".join(plain[:at]), "".join(plain[at + 1 :]), part.node)


def flatten(node: SgNode, level: int = 0) -> Iterator[str | Filling]:
    """The text that an expression gives, with what is put into it."""
    kind = node.kind()
    if level > _MOST_LEVELS:
        return
    if kind in _LITERALS:
        yield from _read_literal(node)
    elif kind in JOINED and (sides := read_sides(node)) is not None:
        left, operator, right = sides
        if operator == "%":
            yield from fill(list(flatten(left, level + 1)), list_items(right))
        else:
            yield from flatten(left, level + 1)
            yield from flatten(right, level + 1)
    elif kind in GROUPED or kind in ("argument", "reference_expression") or _is_choice(node):
        for child in _list_chosen(node) if kind in _CHOICES else list_named(node):
            yield from flatten(child, level + 1)
    elif kind == "composite_literal":  # Go's: a type, and what is in it
        yield from flatten(list_named(node)[-1], level + 1)
    elif kind in COLLECTIONS:
        for child in list_named(node):
            yield from flatten(child, level + 1)
            yield " "
    elif kind in CALLS:
        yield from _read_call(node, level)
    elif node.is_named():
        yield Filling(node.text(), node)


def _is_choice(node: SgNode) -> bool:
    return node.kind() in _CHOICES and len(list_named(node)) == 3


def _list_chosen(choice: SgNode) -> list[SgNode]:
    """The two expressions one of which a condition chooses; in Python the condition stands between them."""
    first, second, third = list_named(choice)
    return [first, third] if choice.children()[1].text() == "if" else [second, third]


def _read_call(node: SgNode, level: int) -> Iterator[str | Filling]:
    callee = read_callee(node)
    if _FORMATS.search(callee):
        yield from _read_format(node, level)
    elif _UNCHANGED.search(callee) and (literal := _find_literal(node, level)) is not None:
        yield from flatten(literal, level + 1)
    else:
        yield Filling(node.text(), node)


def _read_literal(node: SgNode) -> Iterator[str | Filling]:
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
            inner = list_named(child)
            source = re.sub(r"^[#$]?\{|\}$", "", child.text()).strip()
            yield Filling(source, inner[0] if len(inner) == 1 and inner[0].text() == source else None)


def read_sides(node: SgNode) -> tuple[SgNode, str, SgNode] | None:
    children = node.children()
    if len(children) != 3 or children[1].text() not in ("+", ".", "%"):
        return None
    return children[0], children[1].text(), children[2]


def _read_format(node: SgNode, level: int) -> Iterator[str | Filling]:
    """The text of a call that puts its arguments into another one."""
    items = [item for child in node.children() if child.kind() in ARGUMENTS for item in list_items(child)]
    template = _find_literal(node, level)
    if template is None:
        yield Filling(node.text())
        return
    text = template.text()
    at = next((at + 1 for at, item in enumerate(items) if item.source == text), 0)
    sources = items[at:]
    yield from fill(list(flatten(template, level + 1)), sources)


def _find_literal(node: SgNode, level: int) -> SgNode | None:
    """The first text within an expression."""
    if node.kind() in _LITERALS or level > _MOST_LEVELS:
        return node if node.kind() in _LITERALS else None
    return next((found for each in node.children() if (found := _find_literal(each, level + 1)) is not None), None)


def fill(parts: Sequence[str | Filling], sources: Sequence[Filling]) -> Iterator[str | Filling]:
    """Puts values where a text has marks for them: ``%s``, ``{}``, ``{0}`` or ``{name}``."""
    waiting = list(sources)
    mark = re.compile(
        r"%(?:\((?P<name>\w+)\))?[-+#0 ]*\d*(?:\.\d+)?(?P<letter>[a-zA-Z])|\{(?P<key>\w*)(?:[:!][^{}]*)?\}"
    )
    for part in parts:
        if isinstance(part, Filling):
            yield part
            continue
        at = 0
        for found in mark.finditer(part):
            named = found["name"] or (found["key"] if found["key"] and not found["key"].isdigit() else None)
            value = Filling(named) if named else waiting.pop(0) if waiting else Filling("value")
            yield part[at : found.start()]
            yield Filling("0") if found["letter"] in tuple("dixXfgeu") else value
            at = found.end()
        yield part[at:]


def list_items(node: SgNode) -> list[Filling]:
    """Arguments, or the values of a tuple."""
    if node.kind() in ARGUMENTS or node.kind() in ("tuple", "list", "array", "parenthesized_expression"):
        return [Filling(child.text(), child) for child in list_named(node)]
    return [Filling(node.text(), node)]


def list_named(node: SgNode) -> list[SgNode]:
    return [child for child in node.children() if child.is_named() and "comment" not in child.kind()]


def read_callee(call: SgNode) -> str:
    """What is called, as it is written: the text before the arguments."""
    arguments = next((child for child in call.children() if child.kind() in ARGUMENTS), None)
    if arguments is None:
        return ""
    return call.text()[: arguments.range().start.index - call.range().start.index].strip()
