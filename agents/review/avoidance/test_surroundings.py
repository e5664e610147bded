"""Reads what stands around each test: the groups that it is in, and the conditions under which it is there."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agents.review.avoidance.calls import CALLS
from agents.review.avoidance.expected_failures import find_expected_failure
from agents.review.avoidance.facts import TestFact
from agents.review.avoidance.kinds import MARKS, SUITES
from agents.review.avoidance.leaves import join_text
from agents.review.avoidance.shadowing import find_shadowed
from agents.syntax.trees import FUNCTIONS, SyntaxNode, find_name

_IFS = frozenset({"if_statement", "if", "unless", "if_modifier", "unless_modifier", "preproc_if", "preproc_elif"})
_ELSES = frozenset({"else_clause", "else", "elif_clause", "elsif", "preproc_else"})
_BLOCKS = frozenset({"block", "statement_block", "then", "compound_statement", "declaration_list"})
_LONGEST = 200
"""Characters of a condition."""
_MARKED = re.compile(
    r"\bmark \. (\w+)|@ (?:tag|attr|Tag|Category) \( (.{1,200}?)\)|\bgroups = (.{1,200})|"
    r"\b(?:Test)?Category \( (.{1,100}?)\)|\bTrait \( \"?\w+\"? , (.{1,100}?)\)|\bGroup \( (.{1,100}?)\)|"
    r"\b(Large|Medium)\b"
)
_WORD = re.compile(r"[\w-]+")
_NO_GROUP = frozenset({"class", "value", "parametrize", "typeof", "nameof", "skip", "skipif", "xfail", "usefixtures"})
_IN_TITLE = re.compile(r"(?<![\w.])@([\w-]+)")
_GO_TAGS = re.compile(r"^//go:build[ \t]+(.+)$", re.MULTILINE)
_OLD_GO_TAGS = re.compile(r"^//[ \t]*\+build[ \t]+(.+)$", re.MULTILINE)
_GO_SYSTEM = re.compile(
    r"_(windows|darwin|plan9|solaris|illumos|freebsd|netbsd|openbsd|dragonfly|aix|android|ios|js|wasip1|arm64|arm|386|"
    r"wasm|riscv64|s390x|ppc64|ppc64le|mips\w*|loong64)_test\.go$"
)
_BATS_TAGS = re.compile(r"^[ \t]*#[ \t]*bats[ \t]+(test|file)_tags=(.+)$")


@dataclass(frozen=True)
class _Around:
    """What holds for the place that a walk is at."""

    groups: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    def add(self, groups: Sequence[str] = (), needs: Sequence[str] = ()) -> "_Around":
        return replace(self, groups=(*self.groups, *groups), needs=(*self.needs, *needs))


def complete(tests: Sequence[TestFact], tree: SyntaxNode, language: str, path: str, text: str) -> tuple[TestFact, ...]:
    """The tests of a file with what stands around them."""
    if not tests:
        return ()
    wanted = {(each.line, each.end) for each in tests}
    outer = _Around(needs=tuple(list_file_needs(path, text)))
    around = {
        place: (where, find_expected_failure(node, language, marks))
        for place, node, where, marks in _walk(tree, language, outer, (), wanted)
    }
    shadowed, tags = find_shadowed(tree, language), _list_bats_tags(text) if language == "bash" else []
    nothing = (outer, "")
    return tuple(
        each.model_copy(
            update={
                "groups": (*where.groups, *_find_bats_tags(each, tests, tags)),
                "needs": where.needs,
                "inverted": inverted,
                "shadowed_by": shadowed.get(each.line, 0),
            }
        )
        for each in tests
        for where, inverted in [around.get((each.line, each.end), nothing)]
    )


def list_file_needs(path: str, text: str) -> Iterator[str]:
    """The build constraints of a file of Go."""
    if not path.endswith(".go"):
        return
    head = text.partition("\npackage ")[0]
    if found := _GO_TAGS.search(head):
        yield f"tag {found[1].strip()}"
    else:
        for old in _OLD_GO_TAGS.finditer(head):
            options = (f"({' && '.join(option.split(','))})" for option in old[1].split())
            yield f"tag {' || '.join(options)}"
    if system := _GO_SYSTEM.search(path):
        yield f"tag {system[1]}"


def _walk(
    node: SyntaxNode, language: str, around: _Around, marks: tuple[SyntaxNode, ...], wanted: set[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], SyntaxNode, _Around, tuple[SyntaxNode, ...]]]:
    """Each test with what stands around it, and above it."""
    own = (*marks, *(child for child in node.children if child.kind in MARKS))
    is_definition = node.kind in FUNCTIONS or node.kind in SUITES
    inner = around
    if is_definition:
        groups = [group for mark in own for group in _read_groups(join_text(mark))]
        inner = inner.add(groups, [need for mark in own for need in _read_cfg(mark)])
    is_call = node.kind in CALLS and language in {"javascript", "typescript", "tsx", "ruby"}
    if is_call:
        inner = inner.add(_read_options(node))
    if (node.kind in FUNCTIONS or is_call) and (node.start, node.end) in wanted:
        yield (node.start, node.end), node, inner, own
        return
    if language == "python" and node.kind in FUNCTIONS and not find_name(node).startswith("describe_"):
        inner = inner.add(needs=[f"def {find_name(node)}"])
    yield from _walk_children(node, language, inner, wanted)


def _walk_children(
    node: SyntaxNode, language: str, around: _Around, wanted: set[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], SyntaxNode, _Around, tuple[SyntaxNode, ...]]]:
    condition = _read_condition(node)
    inside = around.add(
        needs=[f"{'#if' if node.kind.startswith('preproc') else 'if'} {condition}"] if condition else []
    )
    otherwise = around.add(needs=[f"else {condition}"] if condition else [])
    for child in node.children:  # marks of the whole module or class
        if child.kind == "expression_statement" and join_text(child).startswith("pytestmark ="):
            inside = inside.add([*_read_groups(join_text(child))])
        elif child.kind == "inner_attribute_item":
            inside = inside.add(needs=[*_read_cfg(child)])
    waiting: tuple[SyntaxNode, ...] = ()
    for child in node.children:
        if child.kind in MARKS:
            waiting = (*waiting, child)
            continue
        if child.children:
            yield from _walk(child, language, otherwise if child.kind in _ELSES else inside, waiting, wanted)
        waiting = ()


def _read_condition(node: SyntaxNode) -> str:
    """The condition of a branch; empty if a node is none."""
    if node.kind not in _IFS:
        return ""
    if node.kind.startswith("preproc"):
        return join_text(node.children[1])[:_LONGEST] if len(node.children) > 1 else ""
    is_modifier = node.kind.endswith("modifier")
    parts = node.children[-1:] if is_modifier else [each for each in node.children[1:2] if each.kind not in _BLOCKS]
    text = " ".join(join_text(each) for each in parts)[:_LONGEST]
    return f"not {text}" if text and node.kind.startswith("unless") else text


def _read_groups(mark: str) -> Iterator[str]:
    """The groups that a mark puts a test in."""
    for found in _MARKED.finditer(mark[:_LONGEST]):
        text = next(filter(None, found.groups()), "")
        yield from (word for word in _WORD.findall(text) if word not in _NO_GROUP)


def _read_cfg(mark: SyntaxNode) -> Iterator[str]:
    """What an attribute of Rust compiles a test for."""
    text = join_text(mark)
    found = re.search(r"\[ cfg \( (.+) \) \]$", text)
    if found is not None and found[1] != "test":
        yield f"cfg {found[1][:_LONGEST]}"


def _read_options(call: SyntaxNode) -> list[str]:
    """The tags that a call such as ``it`` gives a test: symbols, options and words of its title."""
    head = next((child for child in call.children if "argument" in child.kind), None)
    found = list[str]()
    for each in () if head is None else head.children:
        if "string" in each.kind:
            found += _IN_TITLE.findall(each.text)
        elif each.kind == "simple_symbol":
            found.append(each.text.strip(":"))
        elif each.kind == "pair" and each.children:
            found += _WORD.findall(join_text(each.children[0]))[:1]
        elif each.kind == "object":
            found += _IN_TITLE.findall(join_text(each)) if "tag" in join_text(each) else []
    return found


def _list_bats_tags(text: str) -> list[tuple[int, bool, list[str]]]:
    """The line, whether it holds for the whole file, and the tags."""
    return [
        (number, found[1] == "file", [tag.strip() for tag in found[2].split(",")])
        for number, line in enumerate(text.split("\n"), 1)
        if (found := _BATS_TAGS.match(line[: _LONGEST * 2]))
    ]


def _find_bats_tags(
    test: TestFact, tests: Sequence[TestFact], tags: Sequence[tuple[int, bool, list[str]]]
) -> list[str]:
    if not tags:
        return []
    above = max((each.end for each in tests if each.end < test.line), default=0)
    return [tag for line, is_for_all, names in tags for tag in names if is_for_all or above < line < test.line]
