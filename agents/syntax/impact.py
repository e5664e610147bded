"""Decides from two versions of a file whether its change can alter the program: only what is certain is harmless."""

import re
from collections import Counter
from collections.abc import Collection, Iterator

from agents.syntax.reach import stays_by_itself
from agents.syntax.trees import FUNCTIONS, ParsedSource, SyntaxNode, find_name, parse
from domain.paths import holds_tests
from domain.review.impact import Impact
from domain.text.prose import is_sentence

_SIGN = re.compile(r"^\s*(?:#+|//[/!]?|--|;+|%+|/\*\*?|\*/?)?(?:\s+|$)|\s*\*/\s*$")
"""The signs around a line of a comment. What follows one at once, as in ``#!`` or ``//go:embed``, is no prose."""
_BREAKS = re.compile(r"\r(?!\n)|[\x00-\x08\v\f\x0e-\x1f\x85\u2028\u2029]")
"""What ends a line, and with it a comment, for some language: the grammars know the line feed alone."""
_SPELLED = re.compile(r"\\u+00[0-7][0-9a-f]", re.IGNORECASE)
_SPELLING = frozenset({"java", "kotlin", "scala"})
"""Languages that may read an escape such as ``\\u000a`` before anything else, so that it ends a comment."""

_ORDERED = frozenset({"c", "cpp", "bash", "php", "ruby", "css", "json", "yaml"})
"""Languages in which a later function may stand in for an earlier one, or must stand before its use."""
_SCOPE_KINDS = (
    "module program source_file compilation_unit translation_unit block class_body declaration_list body_statement "
    "class_definition class_declaration class namespace_declaration impl_item mod_item decorated_definition "
    "expression_statement call_expression call arguments arrow_function statement_block do_block "
    "export_statement file_scoped_namespace_declaration namespace_definition"
)
_SCOPES = frozenset(_SCOPE_KINDS.split())
"""Nodes in which a test may be added without a change of what they hold."""
_TEST_CALL = frozenset({"it", "test", "describe", "context", "specify"})
_TEST_NAME = re.compile(r"^(test(?!s?_?main$)|Test(?!Main$)|Benchmark|Fuzz|Example|should)")
_TEST_MARK = re.compile(r"^@?(Test|ParameterizedTest|Fact|Theory|TestMethod|TestCase|test|tokio::test)\b")
_MARKS = frozenset({"modifiers", "attribute_list", "annotation", "marker_annotation"})


def find_impact(path: str, language: str, base: str | None, head: str, own: Collection[str] = ()) -> Impact:
    """The impact of a change of one file.

    :param language: a value of :data:`agents.syntax.languages.LANGUAGES`.
    :param base: its text before; None for a new file.
    :param own: the names of the repository's own Python packages and modules, and of its Go module.
    :returns: ``behaviour`` unless it is certain that the program stays as it was. What cannot be parsed is not.
    """
    after = parse(head, language)
    if after is None or after.errors or _breaks_lines(head, language):
        return Impact.behaviour
    if base is None:
        is_harmless = holds_tests(path) and not _steers_tests(after.tree) and not [*_list_obeyed(after)]
        is_alone = is_harmless and stays_by_itself(path, language, head, [after.tree], after.tree, own)
        return Impact.tests if is_alone else Impact.behaviour
    before = parse(base, language)
    if before is None or before.errors or _has_other_directives(before, after, language):
        return Impact.behaviour
    if before.tree.signature == after.tree.signature:
        is_in_place = [*_list_obeyed(before)] == [*_list_obeyed(after)] and _read_interpreter(
            base
        ) == _read_interpreter(head)
        return Impact.layout if is_in_place else Impact.behaviour
    if language not in _ORDERED and _is_moved(before.tree, after.tree):
        return Impact.moved
    added = _list_added_tests(before.tree, after.tree, _list_words(before.tree)) if holds_tests(path) else None
    is_alone = added is not None and stays_by_itself(path, language, head, added, after.tree, own)
    return Impact.tests if is_alone else Impact.behaviour


def _breaks_lines(text: str, language: str) -> bool:
    """Whether a language may see a line end where the grammar, and who reads, sees none."""
    return _BREAKS.search(text) is not None or (language in _SPELLING and _SPELLED.search(text) is not None)


def _has_other_directives(before: ParsedSource, after: ParsedSource, language: str) -> bool:
    """Whether a comment changed that something may obey: all that is no prose. In Go, what stands above ``import "C"``
    is a program in C.
    """
    if language == "go" and _imports_c(before, after):
        return before.comments != after.comments
    return [line for line, _ in _list_obeyed(before)] != [line for line, _ in _list_obeyed(after)]


def _read_interpreter(text: str) -> str:
    """The first line, if it says what runs the file: it does so at this place alone."""
    return text.split("\n", 1)[0] if text.startswith("#!") else ""


def _imports_c(*parsed: ParsedSource) -> bool:
    return any(node.text == '"C"' for each in parsed for node in each.tree.walk())


def _list_obeyed(parsed: ParsedSource) -> Iterator[tuple[str, int]]:
    """The lines of comments that are no prose, each with how much of the program stands before it."""
    for comment, place in zip(parsed.comments, parsed.places, strict=True):
        for line in comment.split("\n"):
            if not is_sentence(_SIGN.sub("", line.rstrip("\r"))):
                yield line.strip(), place


def _is_moved(before: SyntaxNode, after: SyntaxNode) -> bool:
    """Whether functions of one scope changed places between the same other statements."""
    if before.signature == after.signature:
        return True
    if before.kind != after.kind or before.text != after.text or len(before.children) != len(after.children):
        return False
    if _split(before) == _split(after):
        return True
    pairs = zip(before.children, after.children, strict=True)
    return before.kind in _SCOPES and all(_is_moved(*pair) for pair in pairs)


def _split(scope: SyntaxNode) -> list[Counter[int] | int]:
    """The runs of movable functions of a scope, each without its order, and what stands between them."""
    parts: list[Counter[int] | int] = [Counter()]
    names = Counter(find_name(child) for child in scope.children if child.kind in FUNCTIONS)
    for child in scope.children:
        run = parts[-1]
        if _is_movable(child) and names[find_name(child)] == 1 and isinstance(run, Counter):
            run[child.signature] += 1
        else:
            parts += [child.signature, Counter()]
    return parts


def _is_movable(node: SyntaxNode) -> bool:
    """Whether it is a function that does nothing before it is called: a default value may do something."""
    return node.kind in FUNCTIONS and not any("default" in each.kind for each in node.walk())


def _list_added_tests(before: SyntaxNode, after: SyntaxNode, words: frozenset[str]) -> list[SyntaxNode] | None:
    """The tests that are new; None unless all that was there is there, in its order, and nothing else is new.

    :param words: every name and text of the file before.
    """
    if before.signature == after.signature:
        return []
    if before.kind != after.kind or before.text != after.text or before.kind not in _SCOPES:
        return None
    added: list[SyntaxNode] = []
    old = list(before.children)
    for child in after.children:
        within = _list_added_tests(old[0], child, words) if old else None
        if within is not None:
            old.pop(0)
            added += within
        elif _is_test_of_its_own(child, words) or _is_sign(child):
            added.append(child)
        else:
            return None
    return None if old else added


def _is_sign(node: SyntaxNode) -> bool:
    """A comma or semicolon between what was added."""
    return node.kind in {",", ";"}


def _is_test_of_its_own(node: SyntaxNode, words: frozenset[str]) -> bool:
    """Whether it is a test whose name is new. Fixtures and hooks reach into other tests, so they are none."""
    core = next((child for child in node.children if child.kind in FUNCTIONS), node)
    if node.kind == "decorated_definition" and any("fixture" in each.text for each in node.walk()):
        return False
    if core.kind in FUNCTIONS:
        name = find_name(core)
        is_marked = any(_TEST_MARK.search(text) for text in _list_marks(core))
        return name not in words and (_TEST_NAME.search(name) is not None or is_marked)
    call = core.find("call_expression", "call") if core.kind == "expression_statement" else core
    called = None if call is None else call.find("identifier")
    return called is not None and called.text in _TEST_CALL


def _list_marks(function: SyntaxNode) -> Iterator[str]:
    """The names of annotations and attributes at a function."""
    marks = (child for child in function.children if child.kind in _MARKS)
    return (each.text for mark in marks for each in mark.walk() if each.kind.endswith("identifier"))


def _steers_tests(tree: SyntaxNode) -> bool:
    """Whether a new file of tests holds what runs around tests of other files."""
    hooks = {"TestMain", "pytest_plugins", "load_tests", "setUpModule"}
    return any(each.text in hooks or each.text.startswith("pytest_") for each in tree.walk())


def _list_words(tree: SyntaxNode) -> frozenset[str]:
    return frozenset(each.text for each in tree.walk() if each.text)
