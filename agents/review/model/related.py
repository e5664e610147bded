"""Selects code of unchanged files that a change concerns: callers of what changed, heirs, what it calls, and tests.

The lines that say which version of its language a file is written for belong to it: a version may decide a bug.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath

from agents.llm.prices import estimate
from agents.review.checks.inputs import is_test_or_document
from agents.review.model.rendering import WITHHELD, Line, render_safely
from agents.syntax.languages import find_language
from agents.syntax.symbols.changes import ChangedDefinition, ChangedSource
from agents.syntax.symbols.imports import find_family
from agents.syntax.symbols.places import NamePlace, SourceFile
from agents.syntax.symbols.uses import Surrounding, SymbolSearch
from domain.paths import clean_name, namesake
from domain.text.credential_shapes import find_key_lines
from domain.text.redaction import redact_outgoing

_MOST_TOKENS = 900
_MOST_PLACES, _MOST_OF_ONE = 8, 3
_OF_DEFINITION, _OF_HEIR, _BEFORE_USE, _AFTER_USE = 14, 6, 3, 4  # lines shown
_SHORT = 12  # lines of a function that is shown whole around a use
_PASSES_NOTHING = re.compile(r"[\w.]+ />")  # an element of JSX without properties
_LEAST_BODY = 2  # lines of a function that says more than its name
_LONGEST_LINE = 400  # characters; a longer line is no source that people wrote
_FEW_USERS = 5  # of a definition, so that each tells something about its change
_LONG = 100  # lines of a function of which callers say nothing about a few lines
_MOST_TESTS, _MOST_BASES = 2, 2
_SWEEPING = 6  # definitions whose bodies change, so that the change is about none of them
_USUAL_HERE, _USUAL_EVERYWHERE = 3, 12  # other calls in the file, and other files that call, so that all know it


@dataclass(frozen=True)
class RelatedCode:
    """A few lines of an unchanged file.

    :param of: the changed file that they explain.
    :param why: what they have to do with it, as ``calls load, which changed``.
    :param start: the number of the first line.
    """

    of: str
    path: str
    why: str
    start: int
    lines: tuple[str, ...]


_LONGEST = 100  # characters of a line
_MOST = 3  # lines of a file
_BARE = re.compile(r"[\w./-]{0,20}\d[\w./-]{0,20}\s*")  # all of a line, as ruby-3.2.1
_FILES: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "go": {"go.mod": re.compile(r"go \d")},
    "python": {
        "pyproject.toml": re.compile(r"\s*(requires-python|python)\s*="),
        "setup.cfg": re.compile(r"\s*python_requires\s*="),
        "setup.py": re.compile(r"\s*python_requires\s*="),
        ".python-version": _BARE,
    },
    "javascript": {
        "package.json": re.compile(r'\s*"(node|type|typescript)"\s*:'),
        "tsconfig.json": re.compile(r'\s*"(target|strict)"\s*:'),
        ".nvmrc": _BARE,
    },
    "rust": {"Cargo.toml": re.compile(r"(edition|rust-version)\s*=")},
    "php": {"composer.json": re.compile(r'\s*"php"\s*:')},
    "ruby": {".ruby-version": _BARE, "Gemfile": re.compile(r"ruby\b")},
    "csharp": {"Directory.Build.props": re.compile(r"\s*<(LangVersion|TargetFrameworks?|Nullable)>")},
    "java": {"pom.xml": re.compile(r"\s*<(maven\.compiler\.(source|target|release)|java\.version)>")},
    "kotlin": {"build.gradle.kts": re.compile(r"\s*jvmToolchain\(")},
}
"""Family of languages → file → the start of a line of it that names a version."""


def list_version_files(changed: Sequence[str]) -> list[str]:
    """The files to look into, beside each changed one and above it: they need not exist."""
    found = (
        str(folder / name)
        for path in changed
        for folder in PurePosixPath(path).parents
        for name in _FILES.get(_find_family(path), ())
    )
    return list(dict.fromkeys(found))


def find_version_lines(contents: Mapping[str, bytes], changed: Sequence[str]) -> tuple[RelatedCode, ...]:
    """The lines, of the nearest file of each kind.

    :param contents: of the files above that exist at the head.
    :param changed: paths; a file that changed itself is shown with its change.
    """
    return tuple(line for path in changed for line in _find_of(path, contents) if line.path not in changed)


def _find_of(path: str, contents: Mapping[str, bytes]) -> Iterator[RelatedCode]:
    for name, pattern in _FILES.get(_find_family(path), {}).items():
        there = (str(folder / name) for folder in PurePosixPath(path).parents)
        nearest = next((each for each in there if each in contents), None)
        if nearest is None:
            continue
        lines = withhold_keys(contents[nearest].decode(errors="replace").split("\n"))
        matches = pattern.fullmatch if pattern is _BARE else pattern.match
        said = ((number, line) for number, line in enumerate(lines, 1) if matches(line))
        for number, line in islice(said, _MOST):
            yield RelatedCode(path, nearest, "says what it is written for", number, (line[:_LONGEST],))


def _find_family(path: str) -> str:
    return find_family(find_language(path) or "")


@dataclass(frozen=True)
class _Found:
    """A place to show."""

    of: str
    why: str
    path: str
    start: int
    end: int
    line: int
    about: str


def find_related(
    changed: Sequence[ChangedSource], around: Surrounding, *, most: int = _MOST_TOKENS
) -> tuple[RelatedCode, ...]:
    """The related code, the most telling first: callers of what changed, heirs, what changed lines call, then tests.

    :param most: tokens of all of it together.
    """
    ranked = dict(sorted(around.texts.items(), key=lambda each: is_test_or_document(each[0])))
    search = _Search(changed, replace(around, texts=ranked))
    lines = {path: withhold_keys(text.split("\n")) for path, text in around.texts.items()}
    kept: list[RelatedCode] = []
    taken: Counter[str] = Counter()
    shown: set[tuple[str, int]] = set()
    for found in search.list_ranked():
        numbers = {(found.path, number) for number in range(found.start, found.end + 1)}
        if taken[found.about] >= _MOST_OF_ONE or (found.path, found.line) in shown:
            continue
        text = tuple(lines[found.path][found.start - 1 : found.end])
        cost = sum(estimate(line[:_LONGEST_LINE]) + 2 for line in text) + 12
        if cost > most or len(kept) >= _MOST_PLACES:
            continue
        kept.append(RelatedCode(found.of, found.path, found.why, found.start, text))
        taken[found.about] += 1
        shown |= numbers
        most -= cost
    return tuple(kept)


def render_related(related: Sequence[RelatedCode]) -> Iterator[str]:
    """The related code as a model sees it, each place once, under a heading that says it is unchanged."""
    once = {(each.path, each.start, each.lines): each for each in related}
    for each in once.values():
        shown = render_safely([Line(number, " ", text) for number, text in enumerate(each.lines, each.start)], ())
        yield "\n".join([f"== {clean_name(each.path)} (unchanged, {redact_outgoing(each.why)})", *shown])


def withhold_keys(lines: Sequence[str]) -> list[str]:
    """The lines of a file, without those of private keys: an excerpt might not show that they are some."""
    hidden = find_key_lines(lines)
    return [WITHHELD if number in hidden else line for number, line in enumerate(lines, 1)]


class _Search:
    """Looks for the places around one change."""

    def __init__(self, changed: Sequence[ChangedSource], around: Surrounding) -> None:
        self._changed, self._texts = changed, around.texts
        self._uses = SymbolSearch(changed, around)

    def list_ranked(self) -> Iterator[_Found]:
        """All places, the most telling first."""
        yield from self._list_users(in_tests=False)
        yield from self._list_heirs()
        yield from self._list_called()
        yield from islice(self._list_users(in_tests=True), _MOST_TESTS)

    @cached_property
    def _users(self) -> list[tuple[ChangedSource, ChangedDefinition, list[NamePlace]]]:
        """The users of each changed definition, as far as they tell something about its change."""
        old = [
            (file, each)
            for file in self._changed
            if not is_test_or_document(file.path)
            for each in file.definitions
            if not each.is_new or file.base is None
        ]
        is_sweeping = sum(not each.is_seen for _, each in old) > _SWEEPING
        telling = [(file, each) for file, each in old if each.is_seen or not is_sweeping]
        return [(file, each, self._uses.find_users(file, each)) for file, each in telling]

    def _list_users(self, *, in_tests: bool) -> Iterator[_Found]:
        """The users of each changed definition in turn."""
        rows = [
            [_show_use(file.path, user, definition) for user in _choose(file, definition, users, in_tests=in_tests)]
            for file, definition, users in self._users
        ]
        for index in range(max(map(len, rows), default=0)):
            yield from (row[index] for row in rows if index < len(row))

    def _list_heirs(self) -> Iterator[_Found]:
        for file in self._changed:
            for definition in file.definitions:
                for source, heir, own in self._uses.find_heirs(file, definition):
                    if own is not None:
                        yield _show_definition(file.path, f"overrides {definition.label}, which {definition.fate}", own)
                    elif definition.place.is_class and definition.is_seen:
                        why = f"{heir.name} builds on {definition.label}, which {definition.fate}"
                        yield _Found(file.path, why, source.path, heir.line, heir.line + _OF_HEIR, heir.line, why)

    def _list_called(self) -> Iterator[_Found]:
        seen: set[tuple[str, str, str]] = set()
        for of, why, found in (*islice(self._list_bases(), _MOST_BASES), *self._list_callees()):
            if found.path in self._texts and found.key not in seen:
                seen.add(found.key)
                yield _show_definition(of, why, found)

    def _list_bases(self) -> Iterator[tuple[str, str, NamePlace]]:
        """What changed methods override, unless it is a mere name that stays as it was."""
        for file in self._changed:
            for definition in file.definitions:
                for base, found in self._uses.find_overridden(file, definition):
                    if found.end > found.start or definition.is_seen or definition.is_new:
                        why = f"defines {base.name}.{found.name}, which {definition.label} overrides"
                        yield file.path, why, found

    def _list_callees(self) -> Iterator[tuple[str, str, NamePlace]]:
        """What changed lines call; of tests nothing, unless only tests changed."""
        sources = [file for file in self._changed if not is_test_or_document(file.path)]
        for file in sources or self._changed:
            for source, call in file.calls:
                found = None if self._is_usual(source, call, file) else self._uses.find_called(source, call)
                if found is not None and not self._is_trivial(found):
                    yield file.path, _tell_call(file, source, call, found), found

    def _is_usual(self, source: SourceFile, call: NamePlace, file: ChangedSource) -> bool:
        """Whether the file, or the repository, calls it so often that it needs no explanation."""
        lines = {*file.added, *file.removed}
        others = [each for each in source.find(call.name) if each.is_called and each.line not in lines]
        called = f"{call.name}("
        return len(others) >= _USUAL_HERE or sum(called in text for text in self._texts.values()) > _USUAL_EVERYWHERE

    def _is_trivial(self, found: NamePlace) -> bool:
        """Whether its name says as much: it has one line or none, or is a macro."""
        lines = self._texts.get(found.path, "").split("\n")[found.start - 1 : found.end]
        body = [line for line in lines[1:] if line.strip() not in {"", "{", "}", "end"}]
        return not found.is_class and (len(body) < _LEAST_BODY or found.name.isupper())


def _tell_call(file: ChangedSource, source: SourceFile, call: NamePlace, found: NamePlace) -> str:
    name = f"{found.owner}.{found.name}" if found.owner and not found.is_class else found.name
    by = f"line {call.line} calls" if source is file.after else "a removed line called"
    return f"defines {name}, which {by}"


def _show_definition(of: str, why: str, found: NamePlace) -> _Found:
    end = min(found.end, found.start + _OF_DEFINITION)
    return _Found(of, why, found.path, found.start, end, found.line, f"{found.path}:{found.name}")


def _show_use(of: str, use: NamePlace, definition: ChangedDefinition) -> _Found:
    verb = "tests with" if is_test_or_document(use.path) else "calls" if use.is_called else "uses"
    first, last = use.within or (1, use.line + _AFTER_USE)
    if last - first >= _SHORT:
        first, last = max(first, use.line - _BEFORE_USE), min(last, use.line + _AFTER_USE)
    why = f"{verb} {definition.label}, which {definition.fate}"
    return _Found(of, why, use.path, max(1, first), last, use.line, definition.label)


def _choose(
    file: ChangedSource, definition: ChangedDefinition, users: Sequence[NamePlace], *, in_tests: bool
) -> Sequence[NamePlace]:
    """The users to show of a changed definition.

    Where its head stays, callers see only what it does. Then one of many tells nothing, nor does one that passes
    nothing, or only names it.
    """
    place, is_gone = definition.place, definition.is_gone
    if in_tests:
        named = [each for each in users if namesake(each.path) == namesake(file.path)]
        return () if place.is_class and not is_gone else (named or (users if definition.is_seen else ()))[:1]
    outside = _drop_alike([each for each in users if not is_test_or_document(each.path)])
    if not is_gone and (place.is_called or place.is_class):
        outside = [each for each in outside if each.is_called]
    if is_gone or (definition.is_seen and not place.is_class):
        return outside[:_MOST_OF_ONE]
    is_long = place.end - place.start > _LONG and not place.is_class
    if is_long or len(outside) > _FEW_USERS or (place.is_class and not definition.is_seen):
        return ()
    return [each for each in outside if not _PASSES_NOTHING.match(each.declaration)][:_MOST_OF_ONE]


def _drop_alike(users: Sequence[NamePlace]) -> list[NamePlace]:
    """The users without those that write the same."""
    return list({"".join(each.declaration.split()): each for each in reversed(users)}.values())[::-1]
