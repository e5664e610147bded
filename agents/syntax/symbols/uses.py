"""Finds what uses a definition, what overrides it, what it overrides, and what changed lines call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from agents.syntax.symbols.changes import CONSTRUCTORS, SELF, SUPER, ChangedDefinition, ChangedSource, is_well_known
from agents.syntax.symbols.imports import find_family
from agents.syntax.symbols.meaning import Repository
from agents.syntax.symbols.places import ClassHead, NamePlace, SourceFile, find_root

_MOST_ALIKE = 3  # methods of a name, so that who calls the overridden one tells something about one that overrides it
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


class SymbolSearch:
    """What the unchanged files of a repository have to do with a change."""

    def __init__(self, changed: Sequence[ChangedSource], around: Surrounding) -> None:
        self._changed, self._around, self._texts = changed, around, around.texts

    @cached_property
    def _now(self) -> dict[str, str]:
        return {file.path: file.head for file in self._changed if file.head is not None}

    @cached_property
    def _after(self) -> Repository:
        """The repository after the change."""
        return self._build(self._now)

    @cached_property
    def _before(self) -> Repository:
        """The repository before the change, if anything is gone."""
        then = {file.old_path: file.base for file in self._changed if file.base is not None}
        return self._build({**{path: text for path, text in self._now.items() if path not in then}, **then})

    def _build(self, own: Mapping[str, str]) -> Repository:
        return Repository({**own, **self._texts}, self._around.paths, self._around.manifests)

    def find_users(self, file: ChangedSource, definition: ChangedDefinition) -> list[NamePlace]:
        """The users of a definition, one in each function; of many the first."""
        code, place = self._pick(definition), definition.place
        is_alone = len(code.list_named(place.name, file.language)) <= _MOST_ALIKE
        bases = self.find_overridden(file, definition) if definition.is_seen or is_alone else ()
        wanted = [place, *(base for _, base in bases)]
        if definition.is_constructor and (owner := code.find_owner(place)) is not None:
            wanted = [owner]
        found: dict[tuple[str, tuple[int, int] | int], NamePlace] = {}
        for source in self._list_holders(code, file, wanted[0]):
            for target in wanted:
                for use in code.list_uses(source, target):
                    if target is wanted[0] or _may_be_another(use, target):
                        found.setdefault((source.path, use.within or use.line), use)
            if len(found) > _MOST_USERS:
                break
        return [use for use in found.values() if not definition.is_gone or not self._is_still_there(use)]

    def find_heirs(
        self, file: ChangedSource, definition: ChangedDefinition
    ) -> Iterator[tuple[SourceFile, ClassHead, NamePlace | None]]:
        """Where classes build on a changed one, or on that of a changed method, with what overrides that."""
        code, place = self._pick(definition), definition.place
        owner = place if place.is_class else code.find_owner(place)
        if owner is None or definition.is_constructor:
            return
        for source in self._list_holders(code, file, owner):
            for head in source.classes:
                if head.bases & code.find_class_names(source, owner):
                    own = () if place.is_class else source.find_definitions(place.name)
                    yield source, head, next((each for each in own if each.owner == head.name), None)

    def find_overridden(
        self, file: ChangedSource, definition: ChangedDefinition
    ) -> Iterator[tuple[NamePlace, NamePlace]]:
        """The classes that the class of a method builds on, with the method that it overrides."""
        code, place = self._pick(definition), definition.place
        source = code.open(place.path)
        if not place.is_member or source is None or is_well_known(place.name) or definition.is_constructor:
            return
        for base in code.list_bases(source, place.owner):
            for each in code.list_members(base, place.name):
                if each.key != place.key:
                    yield base, each

    def find_called(self, source: SourceFile, call: NamePlace) -> NamePlace | None:
        """The definition of what is called: of a class how it is made; None if that is not plain."""
        found = self._after.find_meaning(source, call)
        if found is None or not found.is_class:
            return found
        made = (each for name in (*CONSTRUCTORS, found.name) for each in self._after.list_members(found, name))
        return next(made, found)

    def _pick(self, definition: ChangedDefinition) -> Repository:
        return self._before if definition.is_gone else self._after

    def _list_holders(self, code: Repository, file: ChangedSource, place: NamePlace) -> Iterator[SourceFile]:
        """Unchanged files that may use a definition."""
        own = code.open(place.path)
        is_default = own is not None and own.default == place.name
        held = [path for path, text in self._texts.items() if is_default or place.name in text]
        family = find_family(file.language)
        yield from list(code.open_all(held, family))[:_MOST_FILES]

    def _is_still_there(self, use: NamePlace) -> bool:
        """Whether a use of what is gone means something else now, as where a module passes on what it had."""
        source = self._after.open(use.path)
        return source is not None and self._after.find_meaning(source, use) is not None


def _may_be_another(use: NamePlace, target: NamePlace) -> bool:
    """Whether an object whose method is called may be of a class that overrides it."""
    root = find_root(use.receiver)
    return root not in SUPER and (root not in {"", *SELF} or use.owner == target.owner)


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
        own = (each for each in file.after.find(last) if not each.is_definition)
        found += [Reference(path, each.line, "calls" if each.is_called else "uses") for each in own]
        search = SymbolSearch([file], around)
        for place in places:
            definition = ChangedDefinition(place, is_gone=False, is_new=False, has_new_head=False)
            found += _list_outside(search, file, definition)
    return list({(each.path, each.line): each for each in reversed(found)}.values())[::-1]


def _list_outside(search: SymbolSearch, file: ChangedSource, definition: ChangedDefinition) -> Iterator[Reference]:
    for use in search.find_users(file, definition):
        yield Reference(use.path, use.line, "calls" if use.is_called else "uses")
    for source, heir, own in search.find_heirs(file, definition):
        yield (
            Reference(source.path, heir.line, "builds on") if own is None else Reference(own.path, own.line, "defines")
        )
