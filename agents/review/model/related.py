"""Selects code of unchanged files that a change concerns: callers of what changed, heirs, what it calls, and tests."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from agents.llm.tokens import estimate
from agents.review.checks.paths import is_test_or_document
from agents.review.model.rendering import WITHHELD, Line, clean_name, render_safely
from agents.syntax.languages import find_language
from agents.syntax.symbols.changes import (
    CONSTRUCTORS,
    ChangedDefinition,
    ChangedFile,
    is_telling,
    is_well_known,
    list_changed,
)
from agents.syntax.symbols.modules import Modules, find_family
from agents.syntax.symbols.places import Place, Role
from agents.syntax.symbols.resolver import SELF, SUPER, Resolver
from agents.syntax.symbols.source import Source
from domain.paths import namesake
from domain.text.credential_shapes import find_key_lines
from domain.text.redaction import Redact

_MOST_TOKENS = 900
_MOST_PLACES, _MOST_OF_ONE = 8, 3
_OF_DEFINITION, _OF_HEIR, _BEFORE_USE, _AFTER_USE = 14, 6, 3, 4  # lines shown
_SHORT = 12  # lines of a function that is shown whole around a use
_PASSES_NOTHING = re.compile(r"[\w.]+ />")  # an element of JSX without properties
_ACCESSOR = re.compile(r"\s*(?:return\b\s*)?(?:self|this)?[.@]?[\w.]+;?\s*$|\s*this\.\w+\s*=\s*\w+;\s*$")
_LONGEST_LINE = 400  # characters; a longer line is no source that people wrote
_MOST_FILES, _MOST_USERS = 120, 20  # in which users of one definition are looked for; that are looked for
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

    @classmethod
    def from_json(cls, value: Any) -> "RelatedCode":
        """What a worker answered."""
        return cls(**{**value, "lines": tuple(value["lines"])})


@dataclass(frozen=True)
class Surrounding:
    """The code around a change.

    :param texts: unchanged path → text of the files that may matter, the nearest first.
    :param paths: all source files of the head.
    :param manifests: path → text of what names packages.
    """

    texts: Mapping[str, str]
    paths: Sequence[str]
    manifests: Mapping[str, str]


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
    changed: Sequence[ChangedFile], around: Surrounding, *, most: int = _MOST_TOKENS
) -> tuple[RelatedCode, ...]:
    """The related code, the most telling first: callers of what changed, heirs, what changed lines call, then tests.

    :param most: tokens of all of it together.
    """
    search = _Search(changed, around)
    lines = {path: _withhold_keys(text.split("\n")) for path, text in around.texts.items()}
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


def render_related(related: Sequence[RelatedCode], redact: Redact) -> Iterator[str]:
    """The related code as a model sees it, each under a heading that says it is unchanged."""
    for each in related:
        shown = render_safely(
            [Line(number, " ", text) for number, text in enumerate(each.lines, each.start)], (), redact
        )
        yield "\n".join([f"== {clean_name(each.path)} (unchanged, {redact(each.why)})", *shown])


def _withhold_keys(lines: Sequence[str]) -> list[str]:
    """The lines of a file, without those of private keys: an excerpt might not show that they are some."""
    hidden = find_key_lines(lines)
    return [WITHHELD if number in hidden else line for number, line in enumerate(lines, 1)]


class _Search:
    """Looks for the places around one change."""

    def __init__(self, changed: Sequence[ChangedFile], around: Surrounding) -> None:
        self._changed, self._texts = changed, around.texts
        both = {file.path: file.head for file in changed if file.head is not None}
        gone = {file.old_path: file.base for file in changed if file.base is not None and file.old_path not in both}
        paths = {*around.paths, *both, *gone}
        self._resolver = Resolver({**gone, **both, **around.texts}, Modules(paths, around.manifests))
        self._resolver.sources.update({file.old_path: file.before for file in changed if file.old_path in gone})

    def list_ranked(self) -> Iterator[_Found]:
        """All places, the most telling first."""
        yield from self._list_users(in_tests=False)
        yield from self._list_heirs()
        yield from self._list_called()
        yield from islice(self._list_users(in_tests=True), _MOST_TESTS)

    @cached_property
    def _users(self) -> list[tuple[ChangedFile, ChangedDefinition, list[Place]]]:
        """The users of each changed definition, as far as they tell something about its change."""
        found = [
            (file, each, self._find_users(file, each))
            for file in self._changed
            if not is_test_or_document(file.path)
            for each in list_changed(file)
            if not each.is_new or file.base is None
        ]
        quiet = sum(not each.has_new_head and not each.is_gone for _, each, _ in found)
        return [row for row in found if row[2] and (quiet <= _SWEEPING or row[1].has_new_head or row[1].is_gone)]

    def _list_users(self, *, in_tests: bool) -> Iterator[_Found]:
        """The users of each changed definition in turn."""
        rows = [
            [
                _show_use(file.path, user, definition)
                for user in _choose_users(file, definition, users, in_tests=in_tests)
            ]
            for file, definition, users in self._users
        ]
        for index in range(max(map(len, rows), default=0)):
            yield from (row[index] for row in rows if index < len(row))

    def _find_users(self, file: ChangedFile, definition: ChangedDefinition) -> list[Place]:
        """The users of a definition, one in each function; of many the first."""
        place = definition.place
        targets = {self._resolver.identify(each) for each in self._list_equals(file, definition)}
        found: dict[tuple[str, tuple[int, int] | int], Place] = {}
        for path, names in self._list_holders(file, definition):
            source = self._resolver.open(path)
            for use in [each for name in names for each in source.find(name)] if source else ():
                around = (path, use.within or use.line)
                if use.role is not Role.use or around in found:
                    continue
                if self._reaches(source, use, targets, place) or self._is_alone(source, use, place):
                    found[around] = use
            if len(found) > _MOST_USERS:
                break
        return list(found.values())

    def _list_equals(self, file: ChangedFile, definition: ChangedDefinition) -> list[Place]:
        """A definition and those that it overrides: who calls these may call it."""
        place = definition.place
        if definition.is_constructor:
            source = file.before if definition.is_gone else file.after
            found = [each for each in source.find_definitions(place.owner) if each.is_class] if source else []
            return found or [place]
        return [place, *(base for _, base in self._list_overridden(file, definition))]

    def _list_overridden(self, file: ChangedFile, definition: ChangedDefinition) -> Iterator[tuple[Place, Place]]:
        """The classes that the class of a method builds on, with the method that it overrides."""
        place = definition.place
        source = file.before if definition.is_gone else file.after
        if not place.owner or place.is_class or source is None or is_well_known(place.name):
            return
        for owner in source.find_definitions(place.owner):
            for base in self._resolver.list_bases(owner) if owner.is_class else ():
                found = self._resolver.find_members(base, place.name) if isinstance(base, Place) else None
                if isinstance(base, Place) and isinstance(found, Place) and found.key != place.key:
                    yield base, found

    def _list_holders(self, file: ChangedFile, definition: ChangedDefinition) -> Iterator[tuple[str, list[str]]]:
        """Files that may use a definition, and what they may call it."""
        place, family = definition.place, find_family(file.language)
        name = place.owner if definition.is_constructor else place.name
        found = 0
        for path, text in sorted(self._texts.items(), key=lambda each: is_test_or_document(each[0])):
            if name not in text or find_family(find_language(path) or "") != family:
                continue
            source = self._resolver.open(path)
            aliases = [each.local for each in source.imports if each.name == name] if source else []
            is_default = source is not None and file.after is not None and file.after.default == name
            if is_default and source is not None:
                aliases += [each.local for each in source.imports if each.name in {"default", ""}]
            yield path, list(dict.fromkeys([name, *aliases]))
            found += 1
            if found >= _MOST_FILES:
                return

    def _reaches(self, source: Source | None, use: Place, targets: set[tuple[str, str, str]], place: Place) -> bool:
        """Whether a use means a definition, or what it overrides: that only on an object which may be of its class."""
        meaning = None if source is None else self._resolver.resolve(source, use)
        if not isinstance(meaning, Place) or self._resolver.identify(meaning) not in targets:
            return False
        is_itself = meaning.is_class or self._resolver.identify(meaning) == self._resolver.identify(place)
        is_own = use.receiver in {"", *SELF}
        return is_itself or (use.receiver not in SUPER and (not is_own or use.owner == meaning.owner))

    def _means(self, source: Source | None, use: Place, targets: set[tuple[str, str, str]]) -> bool:
        meaning = None if source is None else self._resolver.resolve(source, use)
        return isinstance(meaning, Place) and self._resolver.identify(meaning) in targets

    def _is_alone(self, source: Source | None, use: Place, place: Place) -> bool:
        """Whether a method is called on something unknown, and no other of its name is defined anywhere."""
        if source is None or not use.receiver or not use.is_called or not place.owner or place.is_class:
            return False
        if not is_telling(place.name) or self._resolver.resolve(source, use) is not None:
            return False
        named = self._resolver.list_named(place.name, find_family(source.language))
        return len({each.key for each in named}) <= 1

    def _list_heirs(self) -> Iterator[_Found]:
        for file in self._changed:
            for definition in list_changed(file):
                yield from self._list_heirs_of(file, definition)

    def _list_heirs_of(self, file: ChangedFile, definition: ChangedDefinition) -> Iterator[_Found]:
        place = definition.place
        owner = place.name if place.is_class else place.owner
        source = file.before if definition.is_gone else file.after
        if not owner or source is None or definition.is_constructor:
            return
        classes = {self._resolver.identify(each) for each in source.find_definitions(owner) if each.is_class}
        for path, text in self._texts.items():
            other = self._resolver.open(path) if owner in text else None
            for heir in other.find(owner) if other else ():
                if heir.role is Role.heir and self._means(other, heir, classes):
                    yield from self._show_heir(file, definition, other, heir)

    def _show_heir(
        self, file: ChangedFile, definition: ChangedDefinition, source: Source | None, heir: Place
    ) -> Iterator[_Found]:
        place = definition.place
        if source is None:
            return
        if not place.is_class:
            for own in source.find_definitions(place.name):
                if own.owner == heir.owner:
                    yield _show_definition(file.path, f"overrides {definition.label}, which changed", own)
            return
        if definition.has_new_head or definition.is_gone:
            why = f"{heir.owner} builds on {place.name}, which changed"
            yield _Found(file.path, why, heir.path, heir.line, heir.line + _OF_HEIR, heir.line, place.name)

    def _list_called(self) -> Iterator[_Found]:
        seen: set[tuple[str, str, str]] = set()
        for of, why, found in (*islice(self._list_bases(), _MOST_BASES), *self._list_callees()):
            if found.path in self._texts and found.key not in seen:
                seen.add(found.key)
                yield _show_definition(of, why, found)

    def _list_bases(self) -> Iterator[tuple[str, str, Place]]:
        """What changed methods override, unless it is a mere name that stays as it was."""
        for file in self._changed:
            for definition in list_changed(file):
                for base, found in self._list_overridden(file, definition):
                    if found.end > found.start or definition.has_new_head or definition.is_new:
                        why = f"defines {base.name}.{found.name}, which {definition.label} overrides"
                        yield file.path, why, found

    def _list_callees(self) -> Iterator[tuple[str, str, Place]]:
        """What changed lines call; of tests nothing, unless only tests changed."""
        sources = [file for file in self._changed if not is_test_or_document(file.path)]
        for file in sources or self._changed:
            for source, call in file.list_calls():
                found = None if self._is_usual(source, call, file) else self._find_called(source, call)
                if found is not None and not self._is_trivial(found):
                    yield file.path, _tell_call(file, source, call, found), found

    def _is_usual(self, source: Source, call: Place, file: ChangedFile) -> bool:
        """Whether the file, or the repository, calls it so often that it needs no explanation."""
        lines = {*file.added, *file.removed}
        others = [each for each in source.find(call.name) if each.is_called and each.line not in lines]
        called = f"{call.name}("
        return len(others) >= _USUAL_HERE or sum(called in text for text in self._texts.values()) > _USUAL_EVERYWHERE

    def _is_trivial(self, found: Place) -> bool:
        """Whether it only gives or sets a field, or is a macro, whose name says as much."""
        lines = self._texts.get(found.path, "").split("\n")[found.start - 1 : found.end]
        body = [line for line in lines[1:] if line.strip() not in {"", "{", "}", "end"}]
        is_accessor = not found.is_class and len(body) == 1 and _ACCESSOR.match(body[0]) is not None
        return is_accessor or (found.name.isupper() and not found.is_class)

    def _find_called(self, source: Source, call: Place) -> Place | None:
        meaning = self._resolver.resolve(source, call)
        if meaning is None and call.receiver and is_telling(call.name):
            named = self._resolver.list_named(call.name, find_family(source.language))
            meaning = named[0] if len(named) == 1 and named[0].owner else None
        if not isinstance(meaning, Place):
            return None
        if meaning.is_class:
            names = [*CONSTRUCTORS, meaning.name]
            made = (self._resolver.find_members(meaning, name) for name in names)
            return next((each for each in made if isinstance(each, Place)), meaning)
        return meaning


def _tell_call(file: ChangedFile, source: Source, call: Place, found: Place) -> str:
    name = f"{found.owner}.{found.name}" if found.owner and not found.is_class else found.name
    by = f"line {call.line} calls" if source is file.after else "a removed line called"
    return f"defines {name}, which {by}"


def _show_definition(of: str, why: str, found: Place) -> _Found:
    end = min(found.end, found.start + _OF_DEFINITION)
    return _Found(of, why, found.path, found.start, end, found.line, f"{found.path}:{found.name}")


def _show_use(of: str, use: Place, definition: ChangedDefinition) -> _Found:
    verb = "tests with" if is_test_or_document(use.path) else "calls" if use.is_called else "uses"
    first, last = use.within or (1, use.line + _AFTER_USE)
    if last - first >= _SHORT:
        first, last = max(first, use.line - _BEFORE_USE), min(last, use.line + _AFTER_USE)
    why = f"{verb} {definition.label}, which {'is gone' if definition.is_gone else 'changed'}"
    return _Found(of, why, use.path, max(1, first), last, use.line, definition.label)


def _choose_users(
    file: ChangedFile, definition: ChangedDefinition, users: Sequence[Place], *, in_tests: bool
) -> list[Place]:
    """The users to show of a changed definition.

    Where its head stays, callers see only what it does. Then one of many tells nothing, nor does one that passes it on.
    """
    place = definition.place
    is_seen = definition.is_gone or definition.has_new_head
    if in_tests:
        named = [each for each in users if namesake(each.path) == namesake(file.path)]
        return [] if place.is_class else (named or users if is_seen else named)[:1]
    outside = _drop_alike([each for each in users if not is_test_or_document(each.path)])
    if not definition.is_gone and place.is_called:
        outside = [each for each in outside if each.is_called]  # who only passes it on says nothing
    if is_seen and not place.is_class:
        return outside[:_MOST_OF_ONE]
    is_long = place.end - place.start > _LONG
    telling = [each for each in outside if each.is_called or not place.is_class]
    if (is_long and not place.is_class) or len(outside) > _FEW_USERS or not (is_seen or not place.is_class):
        return []
    return [each for each in telling if not _PASSES_NOTHING.match(each.declaration)][:_MOST_OF_ONE]


def _drop_alike(users: Sequence[Place]) -> list[Place]:
    """The users without those that write the same."""
    return list({"".join(each.declaration.split()): each for each in reversed(users)}.values())[::-1]
