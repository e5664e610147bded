"""Decides whether a name in one file means a definition in another: by imports, folders and what stands beside it."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from agents.syntax.languages import find_language
from agents.syntax.symbols.changes import SELF, SUPER, is_telling, read_class
from agents.syntax.symbols.imports import EVERYTHING, Import, Modules, find_family
from agents.syntax.symbols.places import FOLLOWED, NamePlace, SourceFile, find_root

_DEEPEST = 3  # files that pass a name on
_MOST_OPENED = 400  # files that are parsed
_GLOBAL = frozenset({"ruby", "c", "cpp", "php", "csharp"})
"""Languages whose names are known across files without naming the file."""
_OPEN_CLASSES = frozenset({"go", "ruby", "csharp", "c", "cpp", "rust"})
"""Languages in which the members of a class may stand in several files."""
_IMPLICIT_SELF = frozenset({"java", "csharp", "cpp", "ruby"})
_QUALIFIED = frozenset({"java", "php", "csharp"})
"""Languages in which a file says the whole name of what it defines."""
_Names = tuple[frozenset[str], frozenset[str]]


class Repository:
    """The names of some files of a repository.

    :param texts: path → text of the files that matter; others are known by their names only.
    :param paths: all files.
    :param manifests: the texts of what names packages.
    """

    def __init__(self, texts: Mapping[str, str], paths: Iterable[str], manifests: Mapping[str, str]) -> None:
        self._texts = texts
        self._modules = Modules({*paths, *texts}, manifests)
        self._sources: dict[str, SourceFile | None] = {}
        self._named: dict[tuple[str, str], tuple[NamePlace, ...]] = {}
        self._known: dict[tuple[str, NamePlace], _Names] = {}

    def open(self, path: str) -> SourceFile | None:
        """A file with its tree; None if it is not there, people did not write it, or too many were opened."""
        if path not in self._sources:
            self._sources[path] = self._load(path) if len(self._sources) < _MOST_OPENED else None
        return self._sources[path]

    def open_all(self, paths: Iterable[str], family: str) -> Iterator[SourceFile]:
        """Those of some files that are in the languages of a family."""
        own = (path for path in paths if find_family(find_language(path) or "") == family)
        return (source for path in own if (source := self.open(path)) is not None)

    def _load(self, path: str) -> SourceFile | None:
        language, text = find_language(path), self._texts.get(path)
        if language is None or language not in FOLLOWED or text is None:
            return None
        try:
            return SourceFile(path, language, text)
        except ValueError:
            return None

    def list_named(self, name: str, language: str) -> tuple[NamePlace, ...]:
        """All definitions of a name in the files of a language; those with a body first."""
        family = find_family(language)
        if (name, family) not in self._named:
            sources = self.open_all([path for path, text in self._texts.items() if name in text], family)
            found = [each for source in sources for each in source.find_definitions(name)]
            self._named[name, family] = tuple(sorted(found, key=lambda each: each.end == each.start))
        return self._named[name, family]

    def find_owner(self, member: NamePlace) -> NamePlace | None:
        """The class of a member."""
        source = self.open(member.path)
        if source is None or not member.owner:
            return None
        own = [each for each in source.find_definitions(member.owner) if each.is_class]
        around = [each for each in own if each.start <= member.line <= each.end]
        named = [each for each in self.list_named(member.owner, source.language) if each.is_class]
        return next(iter((*around, *own, *named)), None)

    def list_members(self, owner: NamePlace, name: str) -> list[NamePlace]:
        """The members of a class with a name."""
        source = self.open(owner.path)
        if source is None:
            return []
        is_open = source.language in _OPEN_CLASSES
        found = self.list_named(name, source.language) if is_open else source.find_definitions(name)
        own = [each for each in found if each.is_member and each.owner == owner.name]
        return [each for each in own if source.language != "go" or _is_beside(each, owner)]

    def list_bases(self, source: SourceFile, owner: str) -> Iterator[NamePlace]:
        """The classes that a class of a file builds on."""
        bases = {base for head in source.classes if head.name == owner for base in head.bases}
        for base in sorted(bases):
            renamed = next((each.name for each in source.imports if each.local == base and each.name), base)
            own = source.find_top(base)
            for each in self.list_named(renamed, source.language) if own is None else [own]:
                if each.is_class and base in self.find_class_names(source, each):
                    yield each
                    break

    def list_uses(self, source: SourceFile, place: NamePlace) -> Iterator[NamePlace]:
        """Where a file uses a definition."""
        names = {place.name} if place.is_member else {place.name, *self.find_names(source, place)[0]}
        return (use for name in sorted(names) for use in source.find(name) if self.means(source, use, place))

    def find_meaning(self, source: SourceFile, use: NamePlace) -> NamePlace | None:
        """The definition that a use means."""
        taken = next((each.name for each in source.imports if each.local == use.name and each.name), use.name)
        named = (each for name in dict.fromkeys((use.name, taken)) for each in self.list_named(name, source.language))
        return next((each for each in named if self.means(source, use, each)), None)

    def means(self, source: SourceFile, use: NamePlace, place: NamePlace) -> bool:
        """Whether a use means a definition."""
        if use.is_definition:
            return False
        if place.is_member:
            return use.name == place.name and self._means_member(source, use, place)
        names, modules = self.find_names(source, place)
        if use.is_bound or (not use.receiver and not place.is_class and self._is_own_member(source, use)):
            return False
        if not use.receiver:
            return use.name in names
        if place.is_class and source.language in _GLOBAL and use.name in names:
            return True
        module = use.receiver.lstrip("\\").replace("::", ".")
        is_path = source.language == "rust" and f"{use.receiver}::{use.name}" in source.text
        leads_there = module in modules or (is_path and place.path in self._modules.find(source.path, "rust", module))
        return use.name == place.name and leads_there

    @staticmethod
    def _is_own_member(source: SourceFile, use: NamePlace) -> bool:
        """Whether the class around a use has such a member, which needs no receiver."""
        own = any(each.is_member and each.owner == use.owner for each in source.find_definitions(use.name))
        return own and source.language in _IMPLICIT_SELF

    def _means_member(self, source: SourceFile, use: NamePlace, place: NamePlace) -> bool:
        owner = self.find_owner(place)
        if owner is None:
            return False
        names, words = self._find_kin(source, owner), re.findall(r"(?!new\b)\b\w+", use.receiver)
        if len(words) == 1 and words[0] in SELF | SUPER:
            return self._is_within(source, use, owner, names)
        if not words:
            taken = (each for each in source.imports if each.local == use.name)
            is_within = source.language in _IMPLICIT_SELF and self._is_within(source, use, owner, names)
            return is_within or any(self._leads_to(source, each, place, 0) for each in taken)
        is_class = words[-1] in names and not use.is_bound
        if is_class or ("(" in use.receiver and not names.isdisjoint(words[:2])):
            return True
        is_field = (len(words) > 1 and words[0] in SELF) or use.receiver.startswith("@")
        scope = use.scope if use.is_bound and not is_field else None
        types = set[str]() if "(" in use.receiver else source.find_types(words[-1], scope)
        if types:
            return not types.isdisjoint(names)
        if "(" not in use.receiver and read_class(words[-1]) == owner.name:
            return sum(each.is_class for each in self.list_named(owner.name, source.language)) == 1
        return self._is_alone(source, use, place)

    def _find_kin(self, source: SourceFile, owner: NamePlace) -> frozenset[str]:
        """What a file calls a class, and those of its own that build on it."""
        names = self.find_class_names(source, owner)
        return names | {head.name for head in source.classes if not head.bases.isdisjoint(names)}

    def _is_within(self, source: SourceFile, use: NamePlace, owner: NamePlace, names: frozenset[str]) -> bool:
        """Whether a use is in the class itself, or in one that builds on it."""
        if use.owner == owner.name:
            is_open = source.language in _OPEN_CLASSES and (source.language != "go" or _is_beside(use, owner))
            return source.path == owner.path or is_open
        return use.owner in names and not self._is_own_member(source, use)

    def _is_alone(self, source: SourceFile, use: NamePlace, place: NamePlace) -> bool:
        """Whether a method is called on something unknown, and no other of its name is defined anywhere."""
        if not use.is_called or not is_telling(place.name):
            return False
        root = find_root(use.receiver)
        if root in SELF and "(" in use.receiver:
            return False  # what it has from outside gives what is from outside
        taken = (each for each in source.imports if each.local == root)
        is_foreign = any(not self._modules.find(source.path, source.language, each.module) for each in taken)
        return not is_foreign and len({each.owner for each in self.list_named(place.name, source.language)}) <= 1

    def find_names(self, source: SourceFile, place: NamePlace, depth: int = 0) -> _Names:
        """What a file calls a definition at its top, and the modules through which it reaches it."""
        key = (source.path, place)
        if key not in self._known:
            self._known[key] = (frozenset(), frozenset())  # of files that import each other
            self._known[key] = self._list_names(source, place, depth)
        return self._known[key]

    def find_class_names(self, source: SourceFile, owner: NamePlace) -> frozenset[str]:
        """The last words of what a file calls a class."""
        names, modules = self.find_names(source, owner)
        return names | {owner.name} if modules else names

    def _list_names(self, source: SourceFile, place: NamePlace, depth: int) -> _Names:
        if source.path == place.path:
            return frozenset({place.name}), frozenset()
        names, modules = set[str](), set[str]()
        there = self.open(place.path)
        is_default = there is not None and there.default == place.name
        for each in source.imports:
            is_it = each.name == place.name or (each.name == "default" and is_default)
            if is_it and self._leads_to(source, each, place, depth):
                names.add(each.local)
            elif each.name == EVERYTHING and source.language not in {"c", "cpp", "csharp"}:
                names |= {place.name} if self._leads_to(source, each, place, depth) else set()
            elif each.name != EVERYTHING and self._leads_to(source, self._as_module(source, each), place, depth):
                modules.add(each.local)
                names |= {each.local} if is_default and each.name == "" else set()
        is_taken = any(each.local == place.name for each in source.imports) or source.find_top(place.name) is not None
        if not is_taken and self._is_near(source, place):
            names.add(place.name)
        return frozenset(names), frozenset(modules)

    @staticmethod
    def _as_module(source: SourceFile, taken: Import) -> Import:
        """An imported name, as the module that it may be."""
        link = "" if taken.module.endswith(".") or not taken.name else "."
        is_module = source.language in {"python", "rust"} and taken.name
        return Import(taken.local, f"{taken.module}{link}{taken.name}") if is_module else taken

    def _leads_to(self, source: SourceFile, taken: Import, place: NamePlace, depth: int) -> bool:
        """Whether an import reaches a definition, perhaps through files that pass it on."""
        if source.language in _QUALIFIED:
            there = self.open(place.path)
            module = "" if there is None else there.package.replace("\\", ".")
            whole = f"{module}.{place.owner}".strip(".") if place.is_member else module
            return bool(taken.name) and taken.module == whole
        if taken.name not in {"", "default", EVERYTHING, place.name}:
            return False
        paths = self._modules.find(source.path, source.language, taken.module)
        if place.path in paths:
            return True
        others = (self.open(path) for path in paths[:4]) if depth < _DEEPEST else ()
        passing = (each for each in others if each is not None and (place.name in each.text or each.takes_everything))
        return any(
            each.find_top(place.name) is None and place.name in self.find_names(each, place, depth + 1)[0]
            for each in passing
        )

    def _is_near(self, source: SourceFile, place: NamePlace) -> bool:
        """Whether a file sees a definition without importing it."""
        language, there = source.language, self.open(place.path)
        if there is None or find_family(there.language) != find_family(language):
            return False
        if language == "go":
            return _is_beside(source, place)
        if language == "java":
            return source.package == there.package
        if language not in _GLOBAL:
            return False
        named = [each for each in self.list_named(place.name, language) if not each.is_member]
        if language in {"csharp", "php"}:
            used = {each.module for each in source.imports if each.name == EVERYTHING}
            is_around = source.package == there.package or f"{source.package}.".startswith(f"{there.package}.")
            return is_around or there.package in used or (there.package == "" and not place.is_class)
        if language in {"c", "cpp"} and place.declaration.startswith("static"):
            return False
        return len({each.is_class for each in named}) == 1


def _is_beside(one: NamePlace | SourceFile, other: NamePlace) -> bool:
    """Whether two names stand in files of one folder."""
    return posixpath.dirname(one.path) == posixpath.dirname(other.path)
