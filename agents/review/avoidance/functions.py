"""Reads the functions of a file: what they raise, what they drop, whether they leave their work out."""

import re
from collections.abc import Callable, Iterator, Mapping

from agents.review.avoidance.answers import find_only_answer, list_answers
from agents.review.avoidance.assertions import (
    CALLS,
    find_callee,
    is_literal,
    join_text,
    list_literals,
    list_words,
    make_signature,
    read_assertions,
)
from agents.review.avoidance.facts import FunctionFact, PlaceFact
from agents.review.avoidance.lookups import find_early_names
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
_HANDLERS = frozenset({"except_clause", "catch_clause", "rescue", "rescue_modifier"})
_IFS = frozenset(
    {"if_statement", "if_expression", "if", "if_modifier", "elif_clause", "conditional_expression", "else_if_clause"}
)
_RETURNS = frozenset({"return_statement", "return", "return_expression"})
_STUB = re.compile(
    r"NotImplemented(Error|Exception)?\b|\b(unimplemented|todo) !|not (yet )?(implemented|supported)|"
    r"\bTODO\b|UnsupportedOperationException",
    re.IGNORECASE,
)
_HANDLED = re.compile(
    r"\b(raise|throw|log\w*|warn\w*|print\w*|console|error\w*|fail\w*|exit|abort|reject|panic|record|report|emit|"
    r"errors|append|push|add|retry|sleep|notify|capture\w*|trace)\b",
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
        swallows=tuple(_list_swallows(own, language)),
        specials=tuple(_list_specials(tree, own)) if language == "bash" else (),
        cases=tuple(_list_cases(own)) if language == "bash" else (),
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
        swallows=tuple(_list_swallows(own, language)),
        specials=tuple(_list_specials(node, own)),
        cases=tuple(_list_cases(own)),
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
            each.kind in _RETURNS and re.search(r"\berr\b|\bErr[A-Z]\w+", join_text(each))
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
    if _STUB.search(text) and not any(each.kind in _IFS for each in statements):
        return text[:80]
    if language == "python" and re.fullmatch(r"(pass|\. \. \.|\.\.\.)", text):
        return text
    return ""


def _is_docstring(node: SyntaxNode) -> bool:
    return node.kind == "expression_statement" and len(node.children) == 1 and "string" in node.children[0].kind


def _list_swallows(own: list[SyntaxNode], language: str) -> Iterator[PlaceFact]:
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


def _list_specials(node: SyntaxNode, own: list[SyntaxNode]) -> Iterator[PlaceFact]:
    """Conditions on a literal of a parameter that answer with a literal at once."""
    parameters = _list_parameters(node)
    for each in own:
        if each.kind not in _IFS or not each.children:
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


def _list_cases(own: list[SyntaxNode]) -> Iterator[str]:
    """The literals of the branches of a ``switch``, ``match`` or ``case``."""
    for each in own:
        if each.kind in _BRANCHES and each.children:
            head = next((child for child in each.children if child.children or is_literal(child)), None)
            yield from ([] if head is None else [head.text] if is_literal(head) else list_literals(head))


_RETURNS_ERROR = re.compile(r"\berr\b|\bErr[A-Z]\w+")
_BRANCHES = frozenset({"match_arm", "switch_case", "case_clause", "when", "expression_case", "case_statement"}) | {
    *("switch_section", "case_item", "switch_block_statement_group", "switch_rule", "match_conditional_expression"),
    "switch_label",
}


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
    return node.kind in _RETURNS or (node.kind == "command" and find_callee(node)[:1] in (["echo"], ["printf"]))


def _answers_itself(answer: SyntaxNode) -> bool:
    """Whether a return returns literals, and calls nothing."""
    leaves = [each for each in answer.walk() if not each.children and each.text.strip()]
    is_call = any(each.kind in CALLS and find_callee(each)[-1:] not in _WRAPS for each in answer.walk())
    is_call = is_call and answer.kind != "command"
    return any(is_literal(each) for each in leaves) and not is_call


_MANY = 3  # values in one condition
_WRAPS = (["Some"], ["Ok"], ["Duration"])
