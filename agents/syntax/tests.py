"""Finds the tests of a file with their lines: functions by their names and marks, and calls such as ``it("…", …)``."""

import re
from collections.abc import Iterator, Sequence

from agents.syntax.trees import FUNCTIONS, SyntaxNode, find_name, parse
from domain.value import Value

_BY_NAME = {
    "python": re.compile(r"^test(?!_suite$)"),
    "go": re.compile(r"^(Test|Fuzz|Example)([A-Z_0-9]|$)"),
    "java": re.compile(r"^test[A-Z_0-9]"),
    "ruby": re.compile(r"^test_"),
    "php": re.compile(r"^test"),
}
_BY_MARK = {
    "java": re.compile(r"@ ?\w*Test\b|@ ?(Property|TestFactory|Theory)\b"),
    "csharp": re.compile(r"\b(Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod)\b"),
    "rust": re.compile(r"\b(test|rstest|test_case|quickcheck)\b"),
    "php": re.compile(r"\bTest\b"),
    "kotlin": re.compile(r"@ ?Test\b"),
}
_CALLED = frozenset(["it", "test", "specify", "xit", "xtest", "xspecify", "fit", "ftest", "its", "scenario", "pit"])
_GROUPS = frozenset(["describe", "context", "suite", "xdescribe", "fdescribe", "xcontext", "feature", "RSpec"])
_TITLED = frozenset({"javascript", "typescript", "tsx", "ruby", "php", "lua", "kotlin"})
_CALLS = frozenset({"call", "call_expression", "function_call_expression"})
_MARKS = frozenset({"decorator", "attribute_item", "attribute_list", "modifiers", "annotation", "marker_annotation"})
_SUITES = frozenset({"class_definition", "class_declaration", "class", "mod_item", "module"})
_BATS = re.compile(r"""^\s*@test\s+["']?(.*?)["']?\s*\{\s*$""")


class TestText(Value):
    """One test of a file.

    :param name: its own, or its title; :param groups: the names of the classes and groups around it.
    :param start: its first line with what stands above it, from 1; :param end: its last.
    """

    __test__ = False

    name: str
    groups: tuple[str, ...] = ()
    start: int
    end: int


def find_tests(text: str, language: str) -> tuple[TestText, ...]:
    """The tests of a file, in order; none if it cannot be parsed.

    :param language: a value of :data:`agents.syntax.languages.LANGUAGES`, or ``bats``.
    """
    if language == "bats":
        return tuple(_find_bats(text.split("\n")))
    parsed = parse(text, language)
    return () if parsed is None else tuple(_walk(parsed.tree, language, (), None))


def find_all(files: Sequence[tuple[str, str]]) -> list[tuple[TestText, ...]]:
    """The tests of some files.

    :param files: the text and the language of each.
    """
    return [find_tests(text, language) for text, language in files]


def _walk(node: SyntaxNode, language: str, groups: tuple[str, ...], above: int | None) -> Iterator[TestText]:
    """:param above: the first line of what stands above the node and belongs to it."""
    start = node.start if above is None else min(above, node.start)
    if node.kind in FUNCTIONS and (name := find_name(node)):
        marks = " ".join(_spell(child) for child in node.children if child.kind in _MARKS)
        if _is_test(name, language, marks):
            yield TestText(name=name, groups=groups, start=start, end=node.end)
            return
    if node.kind in _CALLS and language in _TITLED:
        words = re.findall(r"[\w$]+", _spell(node.children[0]) if node.children else "")
        arguments = next((child for child in node.children if "argument" in child.kind), None)
        if words and arguments is not None and (words[0] in _CALLED or words[0] in _GROUPS):
            title = _find_title(arguments)
            if words[0] in _CALLED:
                yield TestText(name=title or "it", groups=groups, start=start, end=node.end)
                return
            groups = (*groups, title or words[0])
    if node.kind in _SUITES and node.children and (name := find_name(node)):
        groups = (*groups, name)
    waiting: int | None = None
    marked = False
    for child in node.children:
        if child.kind in _MARKS:
            waiting = child.start if waiting is None else waiting
            marked = marked or (language in _BY_MARK and _BY_MARK[language].search(_spell(child)) is not None)
            continue
        if marked and child.kind in FUNCTIONS and (name := find_name(child)):
            yield TestText(name=name, groups=groups, start=waiting or child.start, end=child.end)
        else:
            yield from _walk(child, language, groups, waiting)
        waiting, marked = None, False


def _is_test(name: str, language: str, marks: str) -> bool:
    by_name, by_mark = _BY_NAME.get(language), _BY_MARK.get(language)
    if by_name is not None and by_name.search(name):
        return True
    return by_mark is not None and by_mark.search(marks) is not None


def _spell(node: SyntaxNode) -> str:
    return " ".join(each.text for each in node.walk() if not each.children)


def _find_title(arguments: SyntaxNode) -> str:
    for child in arguments.children:
        if child.text in {"(", ","} and not child.children:
            continue
        return (
            _spell(child).strip("\"'`: ") if "string" in child.kind or child.kind in {"argument", "identifier"} else ""
        )
    return ""


def _find_bats(lines: list[str]) -> Iterator[TestText]:
    starts = [(number, found[1]) for number, line in enumerate(lines, 1) if (found := _BATS.match(line))]
    for start, name in starts:
        end = next((number for number in range(start, len(lines) + 1) if lines[number - 1].startswith("}")), len(lines))
        yield TestText(name=name, start=start, end=end)
