"""Finds related code by words, as it was found before: the baseline."""

import itertools
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from agents.llm.prices import estimate
from agents.review.checks.inputs import list_checked_files
from agents.review.model.moved_code import is_import
from agents.review.model.related import RelatedCode
from agents.review.model.rendering import WITHHELD
from agents.review.syntax import build_outline_request, has_functions
from agents.syntax.languages import find_language
from agents.syntax.trees import FUNCTIONS, SyntaxNode, find_name, parse
from domain.paths import is_lock, is_source, is_test
from domain.review.changes import Change, FileVersions
from domain.text.credential_shapes import find_key_lines
from workspace.diff import is_vendored
from workspace.objects import Objects

_CLASSES = frozenset(
    {
        *("class_definition", "class_declaration", "class", "interface_declaration", "struct_item", "enum_item"),
        *("trait_item", "impl_item", "struct_specifier", "class_specifier", "type_declaration", "module"),
        *("trait_declaration", "struct_declaration", "record_declaration", "enum_declaration", "namespace_definition"),
    }
)
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "function", "lambda"})
_GIVES_A_NAME = re.compile(
    r"assign|declarator$|short_var|(const|var|static|field|property)_|^let_|^property|parameter$"
)
_ATTRIBUTES = frozenset({"attribute", "member_expression", "field_expression", "selector_expression", "field_access"})
_CALLS = frozenset({"call", "call_expression", "method_invocation", "invocation_expression", "new_expression"}) | {
    *("object_creation_expression", "function_call_expression", "member_call_expression", "scoped_call_expression"),
    *("macro_invocation", "command"),
}
_STRINGS = re.compile(r"string|scalar")
_KEY = re.compile(r"^[\"'`]([A-Za-z_][\w.-]{3,40})[\"'`]$")
_USUAL_NAMES = "self this cls err error ctx context args kwargs value result data item name path key None True False"
_USUAL = frozenset(_USUAL_NAMES.split())
_SHORTEST = 3  # characters of a name that is looked for
_MOST_NAMES = 30
_DEFINES = r"\b(def|class|func|function|fn|const|let|var|type|interface|struct|enum|trait|module|record|static|final)\s"
_INHERITS = re.compile(r"\b(class|interface|struct|trait|impl|extends|implements|module)\b")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_MOST_TOKENS = 900
_MOST_PLACES, _MOST_OF_ONE = 8, 2
_MOST_IN_FILE = 6  # places of one name
_TOO_COMMON = 25  # files with a name that says nothing about this change
_OF_DEFINITION, _BEFORE_USE, _AFTER_USE = 14, 2, 3  # lines shown
_LONGEST_LINE = 400  # characters; a longer line is no source that people wrote


@dataclass(frozen=True)
class Outline:
    """The names of a changed file.

    :param defined: whose definition changed.
    :param classes: of which a part changed.
    :param mentioned: in added and removed lines.
    """

    defined: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Place:
    name: str
    path: str
    line: int
    is_definition: bool
    is_heir: bool = False


_MOST_FILES, _LARGEST, _MOST_BYTES = 250, 200_000, 6_000_000
_SETTINGS = frozenset([".json", ".yml", ".yaml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".env"])
_FAMILIES = (
    ".js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte",
    ".c .cc .cpp .cxx .h .hh .hpp .hxx",
    ".java .kt .scala",
)
_FAMILY: Mapping[str, frozenset[str]] = {
    suffix: frozenset(each.split()) for each in _FAMILIES for suffix in each.split()
}


async def find_by_words(
    objects: Objects, head: str, change: Change, versions: Mapping[str, FileVersions]
) -> tuple[RelatedCode, ...]:
    """The related code of a change."""
    files = [file for file in list_checked_files(change, versions) if has_functions(file)]
    outlines = {file.path: _outline(build_outline_request(file)) for file in files}
    return _find_related(outlines, await _read_neighbours(objects, head, outlines.keys())) if outlines else ()


def _find_related(
    outlines: Mapping[str, Outline], files: Mapping[str, bytes], *, most: int = _MOST_TOKENS
) -> tuple[RelatedCode, ...]:
    """The related code, the most telling first: users of what changed, then what changed lines call, then tests.

    :param outlines: changed path → its outline.
    :param files: unchanged path → its content at head.
    :param most: tokens of all of it together.
    """
    texts = {path: _withhold_keys(content.decode(errors="replace").split("\n")) for path, content in files.items()}
    wanted = {name for each in outlines.values() for name in (*each.defined, *each.classes, *each.mentioned)}
    places = _find_places(wanted, texts)
    kept: list[RelatedCode] = []
    taken: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    for of, place in _rank(outlines, places):
        related = _build_excerpt(of, place, texts[place.path])
        cost = sum(estimate(line[:_LONGEST_LINE]) + 2 for line in related.lines) + 12
        is_shown = any(each.path == related.path and abs(each.start - related.start) < 8 for each in kept)
        is_seen = place.is_definition and (place.name, place.path) in seen
        if is_shown or is_seen or taken[place.name] >= _MOST_OF_ONE or cost > most or len(kept) >= _MOST_PLACES:
            continue
        kept.append(related)
        taken[place.name] += 1
        seen.add((place.name, place.path))
        most -= cost
    return tuple(kept)


def _withhold_keys(lines: Sequence[str]) -> list[str]:
    """The lines of a file, without those of private keys: an excerpt might not show that they are some."""
    hidden = find_key_lines(lines)
    return [WITHHELD if number in hidden else line for number, line in enumerate(lines, 1)]


def _find_places(names: Collection[str], texts: Mapping[str, Sequence[str]]) -> dict[str, list[_Place]]:
    """Name → where it stands in these files; without names that stand in many."""
    places: dict[str, list[_Place]] = {}
    for path, lines in texts.items():
        for name in _keep_held(names, "\n".join(lines)):
            places.setdefault(name, []).extend(itertools.islice(_list_places(name, path, lines), _MOST_IN_FILE))
    return {name: found for name, found in places.items() if len({each.path for each in found}) <= _TOO_COMMON}


def _keep_held(names: Collection[str], text: str) -> list[str]:
    """Those of some names that a text holds."""
    words = set(_WORD.findall(text))
    return [name for name in names if name in words or (not name.isidentifier() and name in text)]


def _list_places(name: str, path: str, lines: Sequence[str]) -> Iterator[_Place]:
    whole = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    for number, line in enumerate(lines, 1):
        found = whole.search(line) if name in line and len(line) <= _LONGEST_LINE else None
        if found is not None and not is_import(line):
            yield _read_place(found, path, number, line)


def _read_place(found: re.Match[str], path: str, number: int, line: str) -> _Place:
    before, after = line[: found.start()], line[found.end() :]
    is_heir = _INHERITS.search(before) is not None and bool(re.search(r"[(:<]\s*$|extends|implements|for\s*$", before))
    is_declared = bool(before.strip()) and after.startswith("(") and not _calls(before, after)
    is_definition = not is_heir and (re.search(_DEFINES, before) is not None or is_declared)
    return _Place(found[0], path, number, is_definition, is_heir)


def _calls(before: str, after: str) -> bool:
    """Whether a name before an opening parenthesis is called and not declared, as in Java or C without a keyword."""
    return after.rstrip().endswith(";") or "return" in before or any(sign in before for sign in "=.(,[{:")


def _rank(outlines: Mapping[str, Outline], places: Mapping[str, Sequence[_Place]]) -> Iterator[tuple[str, _Place]]:
    users = [pair for of, outline in outlines.items() for pair in _list_of(of, outline.defined, places)]
    called = [pair for of, outline in outlines.items() for pair in _list_of(of, outline.mentioned, places)]
    uses = [pair for pair in users if not pair[1].is_definition]
    heirs = [pair for of, outline in outlines.items() for pair in _list_of(of, outline.classes, places)]
    yield from (pair for pair in heirs if pair[1].is_heir)
    yield from _interleave(
        [pair for pair in uses if not is_test(pair[1].path)],
        [pair for pair in called if pair[1].is_definition or not is_source(pair[1].path)],
    )
    yield from (pair for pair in uses if is_test(pair[1].path))


def _list_of(of: str, names: Iterable[str], places: Mapping[str, Sequence[_Place]]) -> Iterator[tuple[str, _Place]]:
    return ((of, place) for name in names for place in places.get(name, ()))


def _interleave(*sequences: Sequence[tuple[str, _Place]]) -> Iterator[tuple[str, _Place]]:
    for index in range(max(map(len, sequences))):
        yield from (sequence[index] for sequence in sequences if index < len(sequence))


def _build_excerpt(of: str, place: _Place, lines: Sequence[str]) -> RelatedCode:
    if place.is_heir:
        start, end, why = place.line, place.line + _OF_DEFINITION, f"builds on {place.name}"
    elif place.is_definition:
        start, end, why = place.line, place.line + _OF_DEFINITION, f"defines {place.name}"
    else:
        start, end, why = place.line - _BEFORE_USE, place.line + _AFTER_USE, f"uses {place.name}"
    start = max(1, start)
    return RelatedCode(of, place.path, why, start, tuple(lines[start - 1 : end]))


async def _read_neighbours(objects: Objects, tree: str, changed: Collection[str]) -> dict[str, bytes]:
    """The contents of unchanged source and settings in the languages of some files, the nearest to them first.

    At most 250 files, of 200 kB each and 6 MB together; what the repository lacks is fetched in one request.

    :param tree: a commit or tree.
    :param changed: paths of the changed files.
    :raises CodeAccessError: the repository cannot be read.
    """
    listed = await objects.list_files(tree)
    wanted = _choose(listed, changed)
    sizes = await objects.available({listed[path] for path in wanted})
    kept: list[str] = []
    room = _MOST_BYTES
    for path in wanted:
        size = sizes.get(listed[path], _MOST_BYTES)
        if size <= min(_LARGEST, room):
            kept.append(path)
            room -= size
    contents = await objects.contents({listed[path] for path in kept})
    return {path: contents[listed[path]] for path in kept if listed[path] in contents}


def _choose(listed: Mapping[str, str], changed: Collection[str]) -> list[str]:
    suffixes = {suffix for path in changed for suffix in _list_kin(_suffix(path))} | _SETTINGS
    paths = [
        path
        for path in listed
        if path not in changed and _suffix(path) in suffixes and not is_lock(path) and not is_vendored(path, listed)
    ]
    return sorted(paths, key=lambda path: (not is_source(path), _measure_distance(path, changed), path))[:_MOST_FILES]


def _list_kin(suffix: str) -> frozenset[str]:
    return _FAMILY.get(suffix, frozenset({suffix}))


def _suffix(path: str) -> str:
    return PurePosixPath(path.lower()).suffix


def _measure_distance(path: str, changed: Collection[str]) -> int:
    """The number of folders between a path and the nearest of some others."""
    return min(posixpath.relpath(path, posixpath.dirname(other) or ".").count("/") for other in changed)


def _outline(request: Mapping[str, Any]) -> Outline:
    language, base, head = find_language(request["path"]) or "", request["base"], request["head"]
    after, before = parse(head, language), None if base is None else parse(base, language)
    if after is None:
        return Outline()
    tree, new, old = after.tree, frozenset(request["added"]), frozenset(request["removed"])
    gone = () if before is None else _list_defined(before.tree, old)
    lapsed = () if before is None else _list_mentioned(before.tree, old)
    defined = tuple(dict.fromkeys([*gone, *_list_defined(tree, new)]))
    return Outline(
        tuple(_filter(defined))[:_MOST_NAMES],
        tuple(_filter(_list_classes(tree, new))),
        tuple(dict.fromkeys(_filter([*_list_mentioned(tree, new), *lapsed])))[:_MOST_NAMES],
    )


def _filter(names: Collection[str]) -> list[str]:
    return [name for name in names if len(name) >= _SHORTEST and name not in _USUAL and not name.startswith("__")]


def _meets(node: SyntaxNode, lines: Collection[int]) -> bool:
    return any(node.start <= line <= node.end for line in lines)


def _find_defined(node: SyntaxNode) -> str | None:
    """The name of a function or class, or nothing; of one that is a value: ``const f = () => 1``."""
    is_value = node.kind == "variable_declarator" and any(child.kind in _FUNCTION_VALUES for child in node.children)
    is_definition = (node.kind in FUNCTIONS or node.kind in _CLASSES) and len(node.children) > 1
    return find_name(node) if is_value or is_definition else None


def _list_defined(tree: SyntaxNode, lines: Collection[int]) -> Iterator[str]:
    """The functions in which a line changed, the innermost first, classes whose heads did, and values others see."""
    found = [(node, name) for node in tree.walk() if (name := _find_defined(node)) and _meets(node, lines)]
    yield from (name for node, name in reversed(found) if node.kind not in _CLASSES or node.start in lines)
    inside = [node for node, _ in found if node.kind not in _CLASSES]
    yield from _list_given(tree, {line for line in lines if not any(_meets(node, (line,)) for node in inside)})
    assigned = (node.children[0] for node in tree.walk() if node.start in lines and "assign" in node.kind)
    yield from (_list_names(target)[-1] for target in assigned if target.kind in _ATTRIBUTES)


def _list_classes(tree: SyntaxNode, lines: Collection[int]) -> list[str]:
    around = (node for node in tree.walk() if node.kind in _CLASSES and _meets(node, lines))
    return [name for node in around if (name := _find_defined(node))]


def _list_given(tree: SyntaxNode, lines: Collection[int]) -> Iterator[str]:
    """Names that changed lines assign or declare."""
    for node in tree.walk():
        if node.start in lines and node.children and _GIVES_A_NAME.search(node.kind):
            parts = (names[-1] for child in node.children if (names := _list_names(child)))
            yield from itertools.islice(parts, 1)


def _list_names(node: SyntaxNode) -> list[str]:
    return [each.text for each in node.walk() if _is_name(each)]


def _is_name(node: SyntaxNode) -> bool:
    return not node.children and node.kind.endswith(("identifier", "name", "constant"))


def _list_mentioned(tree: SyntaxNode, lines: Collection[int]) -> Iterator[str]:
    """Functions that some lines call, and words in their texts that look like keys."""
    for node in tree.walk():
        if node.start not in lines:
            continue
        if node.kind in _CALLS and node.children:
            yield from _list_called(node)
        elif _STRINGS.search(node.kind) and (key := _KEY.match(node.text)):
            yield key[1]


def _list_called(call: SyntaxNode) -> list[str]:
    """The last name before the arguments."""
    before = itertools.takewhile(lambda child: "argument" not in child.kind, call.children)
    return [each.text for child in before for each in child.walk() if _is_name(each)][-1:]
