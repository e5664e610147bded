"""Finds the tests of a file: functions by their names and marks, and calls such as ``it("…", …)``."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agents.review.avoidance.assertions import read_assertions
from agents.review.avoidance.calls import CALLS, find_callee
from agents.review.avoidance.facts import AssertionFact, Strength, TestFact
from agents.review.avoidance.kinds import MARKS, SUITES
from agents.review.avoidance.leaves import join_text, list_leaves, list_words, make_signature
from agents.review.avoidance.skips import SKIPPING, depends_on_condition, find_mark, find_option, find_skip
from agents.review.avoidance.tables import SPACE, join_row, list_rows
from agents.syntax.trees import FUNCTIONS, SyntaxNode, find_name

SEPARATOR = " › "
_BY_NAME = {
    "python": re.compile(r"^test(?!_suite$)"),  # `test_suite` builds a suite for old runners
    "go": re.compile(r"^(Test|Fuzz|Example)([A-Z_0-9]|$)"),
    "java": re.compile(r"^test[A-Z_0-9]"),
    "ruby": re.compile(r"^test_"),
    "php": re.compile(r"^test"),
    "bash": re.compile(r"^(test|bats_|it_)"),
}
_BY_MARK = {
    "java": re.compile(r"@ \w*Test\b|@ (Property|TestFactory|Theory)\b"),
    "csharp": re.compile(r"\b(Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod)\b"),
    "rust": re.compile(r"\b(test|rstest|test_case|quickcheck)\b"),
    "php": re.compile(r"\bTest\b"),
    "kotlin": re.compile(r"@ Test\b"),
}
_CALLED = frozenset({"it", "test", "specify", "xit", "xtest", "xspecify", "fit", "ftest", "its", "scenario", "pit"})
_GROUPS = frozenset(
    {"describe", "context", "suite", "xdescribe", "fdescribe", "xcontext", "feature", "shared_examples"}
)
_EXPECTED = re.compile(r"\b(?:expected = |(?:expectedExceptions|ExpectedException) [(=] )\{? ?(?:typeof \( )?([\w. ]+)")
_BROAD = frozenset({"Exception", "Throwable", "Error"})
_ROW_MARK = re.compile(r"\b(InlineData|TestCase|DataRow|CsvSource|ValueSource|TestWith|case)\b")


@dataclass(frozen=True)
class _Place:
    """Where a walk is.

    :param prefix: the names of the classes and groups around.
    :param skip: how they are skipped.
    """

    prefix: str = ""
    skip: str = ""
    is_conditional: bool = False
    is_collected: bool = True

    def enter(self, name: str) -> "_Place":
        return replace(self, prefix=f"{self.prefix}{name}{SEPARATOR}" if name else self.prefix)

    def with_skip(self, skip: str) -> "_Place":
        if not skip:
            return self
        return replace(self, skip=skip, is_conditional=depends_on_condition(skip))


def find_tests(tree: SyntaxNode, language: str) -> tuple[TestFact, ...]:
    """The tests of a file, in order."""
    return tuple(_walk(tree, language, _Place(), ()))


def _walk(node: SyntaxNode, language: str, place: _Place, marks: tuple[SyntaxNode, ...]) -> Iterator[TestFact]:
    if node.kind in FUNCTIONS and (name := find_name(node)):
        own = (*marks, *(child for child in node.children if child.kind in MARKS))
        if _is_test(name, language, own):
            yield _read(node, name, language, place, own)
            return
    if node.kind in CALLS and language not in {"python", "go", "java", "rust", "csharp", "bash"}:
        found = _read_call(node, language, place)
        if found is not None:
            yield from found
            return
    inner = place
    if node.kind in SUITES and node.children and (name := find_name(node)):
        own = (*marks, *(child for child in node.children if child.kind in MARKS))
        inner = replace(place.enter(name).with_skip(find_mark(own)), is_collected=_is_found(node, name, language))
    waiting: tuple[SyntaxNode, ...] = ()
    for child in node.children:
        if child.kind in MARKS:
            waiting = (*waiting, child)
            continue
        if language == "ruby" and child.text in _VISIBILITIES:  # a private method is no test
            inner = replace(inner, is_collected=place.is_collected and child.text == "public")
        yield from _walk(child, language, inner, waiting)
        waiting = ()


_VISIBILITIES = frozenset({"private", "protected", "public"})


def _is_found(node: SyntaxNode, name: str, language: str) -> bool:
    """Whether a runner finds the tests of a class: by its name, or by what it inherits from."""
    if any(mark in name for mark in _SHARED):
        return True
    match language:
        case "python":
            bases = node.find("argument_list")
            named = [] if bases is None else [each for each in list_leaves(bases) if not each.endswith("Mixin")]
            return name.startswith("Test") or any(_IS_TEST_CASE.search(each) for each in named)
        case "ruby":
            return node.kind != "class" or node.find("superclass") is not None
        case "php":
            return node.find("base_clause") is not None
        case _:
            return True


_SHARED = ("Mixin", "Base", "Abstract", "Common", "Shared", "Trait")
_IS_TEST_CASE = re.compile(r"Test|Case|Spec|Suite")


def _is_test(name: str, language: str, marks: Sequence[SyntaxNode]) -> bool:
    by_name, by_mark = _BY_NAME.get(language), _BY_MARK.get(language)
    if by_name is not None and by_name.search(name):
        return True
    return by_mark is not None and any(by_mark.search(join_text(mark)) for mark in marks)


def _read(node: SyntaxNode, name: str, language: str, place: _Place, marks: Sequence[SyntaxNode]) -> TestFact:
    own = place.with_skip(find_mark(marks))
    if not own.skip:
        own = own.with_skip(find_skip(node))
    rows = [*(row for mark in marks for row in _list_marked_rows(mark, language)), *list_rows(node)]
    rows += [f"run {name.replace(' ', SPACE)}" for name in _list_runs(node)]
    return TestFact(
        name=f"{place.prefix}{name}",
        line=node.start,
        end=node.end,
        skip=own.skip,
        is_conditional=own.is_conditional,
        assertions=(*read_assertions(node, language), *_list_expected(marks, language)),
        rows=tuple(rows),
        words=frozenset(list_words(node)) - {name},
        signature=make_signature(*(child for child in node.children if child.children)),
        calls=tuple(_list_calls(node)),
        is_collected=place.is_collected,
    )


def _list_expected(marks: Sequence[SyntaxNode], language: str) -> Iterator[AssertionFact]:
    """The errors that a test must end with, by what stands above it."""
    for mark in marks:
        text = join_text(mark)
        if "should_panic" in text:
            yield from read_assertions(mark, language)
        elif found := _EXPECTED.search(text):
            names = [word for word in found[1].replace(".", " ").split() if word != "class"]
            is_broad = bool(names) and names[-1] in _BROAD
            yield AssertionFact(
                line=mark.start,
                text=text,
                words=tuple(names),
                literals=(),
                strength=Strength.weak if is_broad else Strength.exact,
                guards=0,
                kind="raises",
            )


def _list_marked_rows(mark: SyntaxNode, language: str) -> list[str]:
    """The cases that stand above a test: those of a table, or each mark as one."""
    rows = [*list_rows(mark)]
    is_row = language != "python" and _ROW_MARK.search(join_text(mark)) is not None
    return rows or ([join_row(mark)] if is_row else [])


def _list_calls(node: SyntaxNode) -> Iterator[str]:
    """The last names of what a test calls."""
    for each in node.walk():
        if each.kind in CALLS and each.children:
            yield from _list_called(each)


def _list_called(call: SyntaxNode) -> list[str]:
    for child in reversed(call.children):
        if "argument" in child.kind or child.kind in {"do_block", "block", "token_tree"}:
            continue
        names = [each for each in child.walk() if not each.children and each.text[:1].isalpha()]
        if names:
            return [names[-1].text]
    return []


def _list_runs(node: SyntaxNode) -> Iterator[str]:
    """The names of the parts of a Go test."""
    for each in node.walk():
        if each.kind == "call_expression" and find_callee(each)[-1:] == ["Run"]:
            arguments = each.find("argument_list")
            if arguments is not None and len(arguments.children) > 1 and "string" in arguments.children[1].kind:
                yield arguments.children[1].text


def _read_call(node: SyntaxNode, language: str, place: _Place) -> Iterator[TestFact] | None:
    """The tests of a call that defines one or a group of them; None if it is no such call."""
    names = find_callee(node)
    if not names or not (names[0] in _CALLED or names[0] in _GROUPS or names[:2] == ["RSpec", "describe"]):
        return None
    body = _find_body(node)
    title = _find_title(node)
    if body is None and not (title and SKIPPING & {*names[1:]}):
        return None
    skip = ""
    if SKIPPING & {*names[1:]} or names[0] in {"xit", "xtest", "xdescribe", "xcontext", "xspecify"}:
        skip = " . ".join(names)
    head = next((child for child in node.children if "argument" in child.kind), None)
    if not skip and head is not None:
        skip = find_option(head)
    inside = place.with_skip(skip)
    if names[0] in _GROUPS or names[:2] == ["RSpec", "describe"]:
        return _walk_all(body, language, inside.enter(title or " ".join(names)))
    if not title and language != "ruby":
        return None
    return iter([_read_titled(node, body or node, title or "it", language, inside)])


def _walk_all(body: SyntaxNode | None, language: str, place: _Place) -> Iterator[TestFact]:
    if body is not None:
        for child in body.children:
            yield from _walk(child, language, place, ())


def _read_titled(node: SyntaxNode, body: SyntaxNode, title: str, language: str, place: _Place) -> TestFact:
    own = place if place.skip else place.with_skip(find_skip(body))
    return TestFact(
        name=f"{place.prefix}{title}",
        line=node.start,
        end=node.end,
        skip=own.skip,
        is_conditional=own.is_conditional,
        assertions=read_assertions(body, language),
        rows=tuple(list_rows(node)),
        words=frozenset(list_words(body)),
        signature=make_signature(body),
        calls=tuple(_list_calls(body)),
    )


def _find_body(node: SyntaxNode) -> SyntaxNode | None:
    """The function or block that a call is given."""
    kinds = {"arrow_function", "function_expression", "function", "do_block", "block", "anonymous_function"}
    kinds |= {"anonymous_function_creation_expression", "generator_function", "lambda"}
    for child in node.children:
        if child.kind in {"do_block", "block"}:
            return child
        if "argument" in child.kind:
            for each in child.children:
                found = each if each.kind in kinds else each.find(*kinds) if each.kind == "argument" else None
                if found is not None:
                    return found
    return None


_COMPUTED_TITLES = frozenset(
    {"argument", "binary_expression", "identifier", "member_expression", "subscript_expression", "call_expression"}
)


def _find_title(node: SyntaxNode) -> str:
    arguments = next((child for child in node.children if "argument" in child.kind), None)
    if arguments is None:
        return ""
    for child in arguments.children:
        if child.kind in {"(", ","}:
            continue
        return join_text(child) if "string" in child.kind or child.kind in _COMPUTED_TITLES else ""
    return ""
