"""Finds what uses a definition, what overrides it, what it overrides, and what changed lines call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agents.syntax.languages import find_language
from agents.syntax.symbols.changes import (
    CONSTRUCTORS,
    ChangedDefinition,
    ChangedSource,
    is_telling,
    is_well_known,
)
from agents.syntax.symbols.modules import Modules, find_family
from agents.syntax.symbols.names import Meaning, Names
from agents.syntax.symbols.resolver import SELF, SUPER, Resolver
from agents.syntax.symbols.source import NamePlace, Role, SourceFile

_MOST_FILES, _MOST_USERS = 120, 20  # in which users of one definition are looked for; that are looked for


@dataclass(frozen=True)
class Surrounding:
    """The code around a change.

    :param texts: unchanged path → text of the files that may matter, the most telling first.
    :param paths: all source files of the head.
    :param manifests: path → text of what names packages.
    """

    texts: Mapping[str, str]
    paths: Sequence[str]
    manifests: Mapping[str, str]


_Keys = set[tuple[str, str, str]]


class _Version:
    """The repository before or after the change.

    :param own: path → text of the changed files.
    """

    def __init__(self, own: Mapping[str, str], around: Surrounding) -> None:
        modules = Modules({*around.paths, *around.texts, *own}, around.manifests)
        self.names = Names({**own, **around.texts}, modules)
        self._resolver = Resolver(self.names)

    def resolve(self, source: SourceFile, place: NamePlace) -> Meaning:
        """What a name in a file means."""
        return self._resolver.resolve(source, place)

    def means(self, source: SourceFile, place: NamePlace, targets: _Keys) -> NamePlace | None:
        """The definition that a name means, if it is one of some."""
        meaning = self.resolve(source, place)
        return meaning if isinstance(meaning, NamePlace) and self.names.identify(meaning) in targets else None


class SymbolSearch:
    """What the unchanged files of a repository have to do with a change."""

    def __init__(self, changed: Sequence[ChangedSource], around: Surrounding) -> None:
        self._texts = around.texts
        now = {file.path: file.head for file in changed if file.head is not None}
        then = {file.old_path: file.base for file in changed if file.base is not None}
        self._after = _Version(now, around)
        self._before = _Version({**{path: text for path, text in now.items() if path not in then}, **then}, around)

    def find_users(self, file: ChangedSource, definition: ChangedDefinition) -> list[NamePlace]:
        """The users of a definition, one in each function; of many the first."""
        version, place, own = self._pick(definition), definition.place, _open(file, definition)
        if own is None:
            return []
        name = place.owner if definition.is_constructor else place.name
        targets = {version.names.identify(each) for each in self._list_equals(file, definition)}
        found: dict[tuple[str, tuple[int, int] | int], NamePlace] = {}
        for source, names in self._list_holders(version, file, own, name):
            for use in (each for name in names for each in source.find(name)):
                around = (source.path, use.within or use.line)
                if use.role is not Role.use or around in found:
                    continue
                if self._reaches(version, source, use, targets, place) or self._is_alone(version, source, use, place):
                    found[around] = use
            if len(found) > _MOST_USERS:
                break
        return [use for use in found.values() if not definition.is_gone or not self._is_still_there(use)]

    def find_heirs(
        self, file: ChangedSource, definition: ChangedDefinition
    ) -> Iterator[tuple[NamePlace, NamePlace | None]]:
        """Where classes build on a changed one, or on that of a changed method, with what overrides that."""
        version, place = self._pick(definition), definition.place
        owner = place.name if place.is_class else place.owner
        source = _open(file, definition)
        if not owner or source is None or definition.is_constructor:
            return
        classes = {version.names.identify(each) for each in source.find_definitions(owner) if each.is_class}
        for other, names in self._list_holders(version, file, source, owner):
            for heir in (each for name in names for each in other.find(name) if each.role is Role.heir):
                if version.means(other, heir, classes) is not None:
                    own = () if place.is_class else other.find_definitions(place.name)
                    yield heir, next((each for each in own if each.owner == heir.owner), None)

    def find_overridden(
        self, file: ChangedSource, definition: ChangedDefinition
    ) -> Iterator[tuple[NamePlace, NamePlace]]:
        """The classes that the class of a method builds on, with the method that it overrides."""
        version, place = self._pick(definition), definition.place
        source = _open(file, definition)
        if not place.owner or place.is_class or source is None or is_well_known(place.name):
            return
        for owner in source.find_definitions(place.owner):
            for base in version.names.list_bases(owner) if owner.is_class else ():
                found = version.names.find_members(base, place.name) if isinstance(base, NamePlace) else None
                if isinstance(base, NamePlace) and isinstance(found, NamePlace) and found.key != place.key:
                    yield base, found

    def find_called(self, source: SourceFile, call: NamePlace) -> NamePlace | None:
        """The definition of what is called: of a class how it is made; None if that is not plain."""
        meaning = self._after.resolve(source, call)
        if meaning is None and call.receiver and is_telling(call.name):
            named = self._after.names.list_named(call.name, find_family(source.language))
            meaning = named[0] if len(named) == 1 and named[0].owner else None
        if not isinstance(meaning, NamePlace) or not meaning.is_class:
            return self._find_body(source, meaning) if isinstance(meaning, NamePlace) else None
        names = (*CONSTRUCTORS, meaning.name)
        made = (self._after.names.find_members(meaning, name) for name in names)
        return next((each for each in made if isinstance(each, NamePlace)), meaning)

    def _find_body(self, source: SourceFile, declared: NamePlace) -> NamePlace:
        """What a mere declaration stands for, if that is one thing; else itself."""
        named = self._after.names.list_named(declared.name, find_family(source.language))
        bodies = [each for each in named if each.end > each.start]
        return bodies[0] if declared.start == declared.end and len(bodies) == 1 else declared

    def _pick(self, definition: ChangedDefinition) -> _Version:
        return self._before if definition.is_gone else self._after

    def _list_equals(self, file: ChangedSource, definition: ChangedDefinition) -> list[NamePlace]:
        """A definition and those that it overrides: who calls these may call it."""
        place = definition.place
        if definition.is_constructor:
            source = _open(file, definition)
            found = [each for each in source.find_definitions(place.owner) if each.is_class] if source else []
            return found or [place]
        return [place, *(base for _, base in self.find_overridden(file, definition))]

    def _list_holders(
        self, version: _Version, file: ChangedSource, own: SourceFile, name: str
    ) -> Iterator[tuple[SourceFile, list[str]]]:
        """Files that may use a name of a changed file, and what they may call it."""
        family = find_family(file.language)
        names = {name, *({"default", ""} if own.default == name != "" else ())}
        held = [path for path, text in self._texts.items() if name in text or len(names) > 1]
        for path in [path for path in held if find_family(find_language(path) or "") == family][:_MOST_FILES]:
            source = version.names.open(path)
            if source is not None:
                yield source, [name, *(each.local for each in source.imports if each.name in names - {each.local})]

    def _reaches(
        self,
        version: _Version,
        source: SourceFile,
        use: NamePlace,
        targets: _Keys,
        place: NamePlace,
    ) -> bool:
        """Whether a use means a definition, or what it overrides: that only on an object which may be of its class."""
        meaning = version.means(source, use, targets)
        if meaning is None:
            return False
        is_itself = meaning.is_class or version.names.identify(meaning) == version.names.identify(place)
        is_own = use.receiver in {"", *SELF}
        return is_itself or (use.receiver not in SUPER and (not is_own or use.owner == meaning.owner))

    def _is_alone(self, version: _Version, source: SourceFile, use: NamePlace, place: NamePlace) -> bool:
        """Whether a method is called on something unknown, and no other of its name is defined anywhere."""
        is_on_something = use.receiver != "" or source.language == "ruby"  # there a bare name is called on self
        if not is_on_something or not use.is_called or not place.owner or place.is_class:
            return False
        if not is_telling(place.name) or version.resolve(source, use) is not None:
            return False
        named = version.names.list_named(place.name, find_family(source.language))
        return len(set(map(version.names.identify, named))) <= 1

    def _is_still_there(self, use: NamePlace) -> bool:
        """Whether a use of what is gone means something else now, as where a module passes on what it had."""
        source = self._after.names.open(use.path)
        if source is None:
            return False
        same = (each for each in source.find(use.name) if each.line == use.line and each.receiver == use.receiver)
        return any(isinstance(self._after.resolve(source, each), NamePlace) for each in same)


@dataclass(frozen=True)
class Reference:
    """A line that refers to a name.

    :param what: it does there: ``defines``, ``uses``, ``calls`` or ``builds on``.
    """

    path: str
    line: int
    what: str


def find_references(path: str, language: str, text: str, name: str, around: Surrounding) -> list[Reference]:
    """The definitions of a name in a file, its users there and elsewhere, and what builds on it; each line once.

    :param name: as the file defines it; with its class before a dot, if it is a member.
    """
    owner, _, last = name.rpartition(".")
    file = ChangedSource(path, path, language, None, text, (), ())
    if file.after is None:
        return []
    places = [each for each in file.after.find_definitions(last) if not owner or each.owner == owner.split(".")[-1]]
    found = [Reference(path, each.line, "defines") for each in places]
    if places:
        own = (each for each in file.after.find(last) if each.role is Role.use)
        found += [Reference(path, each.line, "calls" if each.is_called else "uses") for each in own]
        search = SymbolSearch([file], around)
        for place in places:
            definition = ChangedDefinition(place, is_gone=False, is_new=False, has_new_head=False)
            found += _list_outside(search, file, definition)
    return list({(each.path, each.line): each for each in reversed(found)}.values())[::-1]


def _list_outside(search: SymbolSearch, file: ChangedSource, definition: ChangedDefinition) -> Iterator[Reference]:
    for use in search.find_users(file, definition):
        yield Reference(use.path, use.line, "calls" if use.is_called else "uses")
    for heir, own in search.find_heirs(file, definition):
        yield Reference(heir.path, heir.line, "builds on") if own is None else Reference(own.path, own.line, "defines")


def _open(file: ChangedSource, definition: ChangedDefinition) -> SourceFile | None:
    """The version of a file in which a definition is."""
    return file.before if definition.is_gone else file.after
