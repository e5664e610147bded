"""Knows what names mean at the top of the files of a repository: their own, imported ones, and members of classes."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agents.syntax.languages import find_language
from agents.syntax.symbols.grammars import GRAMMARS
from agents.syntax.symbols.modules import EVERYTHING, Import, Modules, find_family
from agents.syntax.symbols.source import NamePlace, SourceFile
from agents.syntax.symbols.types import list_bases

_DEEPEST = 5  # imports or classes that are followed one after the other
_MOST_OPENED = 400  # files that are parsed
LINKS = re.compile(r"\?\.|\?->|->|::|&\.|!\.|\.|\\")
"""What stands between a receiver and its member."""
_IS_FILE = re.compile(r"\bmod\s+\w+\s*;")  # a module of Rust that is a file of its own
_BY_FOLDER = frozenset({"go"})
_GLOBAL = frozenset({"ruby", "c", "cpp", "php", "csharp"})
"""Languages whose names are known across files without naming the file."""
_OPEN_CLASSES = frozenset({"go", "ruby", "csharp", "c", "cpp", "rust"})
"""Languages in which the members of a class may stand in several files."""


class Outside:
    """What the language, a library or the function itself defines."""


OUTSIDE = Outside()


@dataclass(frozen=True)
class Module:
    """What a name that stands for files means."""

    paths: tuple[str, ...]


Meaning = NamePlace | Outside | None
"""A definition; something else for certain; or None if it is not plain."""


class Names:
    """The names of some files of a repository.

    :param texts: path → text of the files that matter; others are known by their names only.
    :param modules: all files.
    """

    def __init__(self, texts: Mapping[str, str], modules: Modules) -> None:
        self._texts, self._modules = texts, modules
        self._sources: dict[str, SourceFile | None] = {}
        self._named: dict[tuple[str, str], tuple[NamePlace, ...]] = {}

    def open(self, path: str) -> SourceFile | None:
        """A file with its tree; None if it is not there, people did not write it, or too many were opened."""
        if path not in self._sources:
            self._sources[path] = self._load(path) if len(self._sources) < _MOST_OPENED else None
        return self._sources[path]

    def _load(self, path: str) -> SourceFile | None:
        language, text = find_language(path), self._texts.get(path)
        if language is None or language not in GRAMMARS or text is None:
            return None
        try:
            return SourceFile(path, "cpp" if path.endswith(".h") and "class " not in text else language, text)
        except ValueError:
            return None

    def identify(self, place: NamePlace) -> tuple[str, str, str]:
        """What tells a definition from others: C knows what is not static by its name alone."""
        language = self._language(place.path)
        if language in {"c", "cpp"} and not re.match(r"static\b", place.declaration):
            return ("", *place.key[1:])
        if language in _OPEN_CLASSES and place.owner and not place.is_class:
            return (posixpath.dirname(place.path) if language in _BY_FOLDER else "", *place.key[1:])
        return place.key

    def find_members(self, owner: NamePlace, name: str, depth: int = 0) -> Meaning:
        """A member of a class, its own or inherited; outside if the class builds on something outside."""
        own = next((each for each in self._list_members(owner, name)), None)
        if own is not None or depth > _DEEPEST:
            return own
        meanings = [
            self.find_members(base, name, depth + 1) if isinstance(base, NamePlace) else base
            for base in self.list_bases(owner)
        ]
        found = next((each for each in meanings if isinstance(each, NamePlace)), None)
        return found or next((OUTSIDE for each in meanings if each is not None), None)

    def list_bases(self, owner: NamePlace) -> list[NamePlace | Outside]:
        """What a class builds on."""
        source = self.open(owner.path)
        if source is None:
            return []
        text = source.text if source.language == "rust" else source.read_class(owner)
        spelled = list_bases(source.language, owner.name, text)
        return [base if isinstance(base := self.find_type(source, each), NamePlace) else OUTSIDE for each in spelled]

    def find_type(self, source: SourceFile, spelled: str) -> Meaning:
        """The class that a text in a file names."""
        parts = [part for part in LINKS.split(spelled) if part]
        if not parts:
            return None
        if len(parts) == 1 or source.language in _GLOBAL:
            found = self.find_name(source, parts[-1])
        else:
            found = self.find_in(source, self.find_name(source, parts[0]), parts[1:], ".".join(parts[:-1]))
        if isinstance(found, Module):
            return None
        return found if not isinstance(found, NamePlace) or found.is_class else None

    def list_named(self, name: str, family: str) -> tuple[NamePlace, ...]:
        """All definitions of a name in the files of a language family."""
        if (name, family) not in self._named:
            found = (self.open(path) for path in self._holders(name, family))
            self._named[name, family] = tuple(
                each for source in found if source for each in source.find_definitions(name)
            )
        return self._named[name, family]

    def _holders(self, name: str, family: str) -> list[str]:
        return [path for path, text in self._texts.items() if name in text and self._family(path) == family]

    @staticmethod
    def _family(path: str) -> str:
        return find_family(find_language(path) or "")

    @staticmethod
    def _language(path: str) -> str:
        return find_language(path) or ""

    def _list_members(self, owner: NamePlace, name: str) -> Iterator[NamePlace]:
        language = self._language(owner.path)
        if language in _OPEN_CLASSES:
            for each in self.list_named(name, find_family(language)):
                is_near = language not in _BY_FOLDER or posixpath.dirname(each.path) == posixpath.dirname(owner.path)
                if each.owner == owner.name and is_near and not each.is_class:
                    yield each
            return
        source = self.open(owner.path)
        for each in source.find_definitions(name) if source else ():
            if each.owner == owner.name and owner.start <= each.start <= owner.end and each.start != owner.start:
                yield each

    def find_own_class(self, source: SourceFile, place: NamePlace) -> NamePlace | None:
        found = [each for each in source.find_definitions(place.owner) if each.is_class]
        around = [each for each in found if each.start <= place.line <= each.end]
        if around or found:
            return (around or found)[-1]
        named = self.list_named(place.owner, find_family(source.language))
        return next((each for each in named if each.is_class), None)

    def find_name(self, source: SourceFile, name: str, depth: int = 0) -> "Meaning | Module":
        """What a name means at the top of a file."""
        own = source.find_top(name)
        if own is not None and _IS_FILE.search(own.declaration) and source.language == "rust":
            return Module(self._modules.find(source.path, "rust", f"self::{name}"))
        if own is not None:
            return own
        for each in source.imports:
            if each.local == name and each.name != EVERYTHING:
                return self.follow(source, each, depth)
        if (near := self._find_near(source, name)) is not None:
            return near
        for each in source.imports:
            if each.name == EVERYTHING and source.language not in _GLOBAL:
                found = self.find_in_paths(self._list_paths(source, each.module, name), name, depth + 1)
                if found is not None:
                    return found
        return self._find_global(source, name)

    def _list_paths(self, source: SourceFile, module: str, name: str) -> tuple[str, ...]:
        """The files of a module; in Java, of the class of this name in a package."""
        if source.language == "java":
            classes = self._modules.find(source.path, "java", f"{module}.{name}")
            return classes or self._modules.find(source.path, "java", module)
        return self._modules.find(source.path, source.language, module)

    def _find_near(self, source: SourceFile, name: str) -> NamePlace | None:
        """What a file of the same package defines."""
        if source.language not in {"go", "java"}:
            return None
        package = self._modules.find_package(posixpath.dirname(source.path), source.package, source.language)
        same = [path for path in package if path != source.path and path.endswith(f".{source.language}")]
        if source.language == "java":
            same = [path for path in same if path.endswith(f"/{name}.java")]
        found = (self._find_top(path, name) for path in same)
        return next((each for each in found if each is not None), None)

    def _find_top(self, path: str, name: str) -> NamePlace | None:
        if name not in self._texts.get(path, ""):
            return None
        source = self.open(path)
        return None if source is None else source.find_top(name)

    def _find_global(self, source: SourceFile, name: str) -> NamePlace | None:
        """What any file defines for all, if that is one thing."""
        if source.language not in _GLOBAL:
            return None
        found = [each for each in self.list_named(name, find_family(source.language)) if self._is_visible(source, each)]
        kinds = {
            (each.owner if source.language == "ruby" and not each.is_class else "", each.is_class) for each in found
        }
        spaces = {self._package(each.path) for each in found} if source.language in {"csharp", "php"} else {""}
        with_body = [each for each in found if each.end > each.start]
        return next(iter(with_body or found), None) if len(kinds) == 1 and len(spaces) == 1 else None

    def _is_visible(self, source: SourceFile, found: NamePlace) -> bool:
        if source.language in {"c", "cpp"}:
            return (not found.owner or found.is_class) and not found.declaration.startswith("static")
        if source.language == "ruby":
            return found.is_class or not found.owner
        if not found.is_class and (found.owner or source.language == "csharp"):
            return False
        there, here = self._package(found.path), source.package
        used = {each.module for each in source.imports if each.name == EVERYTHING}
        is_around = here == there or here.startswith(f"{there}.")
        return is_around or (source.language == "csharp" and there in used) or (there == "" and not found.is_class)

    def _package(self, path: str) -> str:
        source = self.open(path)
        return "" if source is None else source.package

    def follow(self, source: SourceFile, taken: Import, depth: int = 0) -> "Meaning | Module":
        """What an imported name means."""
        if depth > _DEEPEST:
            return None
        if source.language in {"php", "csharp"}:
            return self._find_qualified(source, taken)
        paths = self._modules.find(source.path, source.language, taken.module)
        if source.language == "java":
            return self._find_java(paths, taken)
        if not taken.name:
            return Module(paths) if paths else OUTSIDE
        below = self._find_submodule(source, taken)
        if not paths and not below:
            return OUTSIDE
        if below and source.language == "rust":
            return Module(below)
        found = self.find_in_paths(paths, taken.name, depth + 1)
        return found if found is not None or not below else Module(below)

    def _find_java(self, paths: tuple[str, ...], taken: Import) -> Meaning:
        if not paths:
            return OUTSIDE
        found = self._find_top(paths[0], posixpath.basename(paths[0]).removesuffix(".java"))
        if found is None or taken.name == found.name:
            return found
        return self.find_members(found, taken.name)

    def _find_qualified(self, source: SourceFile, taken: Import) -> Meaning:
        family = find_family(source.language)
        tops = [each for each in self.list_named(taken.name, family) if each.is_class or not each.owner]
        return next((each for each in tops if self._package(each.path) == taken.module), OUTSIDE)

    def _find_submodule(self, source: SourceFile, taken: Import) -> tuple[str, ...]:
        joint = {"python": "." if not taken.module.endswith(".") else "", "rust": "::"}.get(source.language)
        if joint is None:
            return ()
        found = self._modules.find(source.path, source.language, f"{taken.module}{joint}{taken.name}")
        return tuple(path for path in found if source.language != "rust" or path != source.path)

    def find_in_paths(self, paths: tuple[str, ...], name: str, depth: int) -> "Meaning | Module":
        """What some files offer under a name, also where they only pass it on."""
        for path in paths:
            source = self.open(path)
            if source is None:
                continue
            found = self._find_offered(source, name, depth)
            if found is not None:
                return found
        return None

    def _find_offered(self, source: SourceFile, name: str, depth: int) -> "Meaning | Module":
        own = source.find_top(source.default if name == "default" else name)
        if own is not None or depth > _DEEPEST:
            return own
        sought = source.default if name == "default" else name
        for each in source.imports:
            is_it = each.local == sought and (each.is_passed_on or name == "default" or source.exports(name))
            if is_it and each.name != EVERYTHING:
                return self.follow(source, each, depth + 1)
        for each in source.imports:
            if each.name == EVERYTHING and each.is_passed_on:
                paths = self._modules.find(source.path, source.language, each.module)
                found = self.find_in_paths(paths, name, depth + 1)
                if found is not None:
                    return found
        return None

    def find_in(self, source: SourceFile, holder: "Meaning | Module", names: list[str], spelled: str) -> Meaning:
        """A name in a module, or in a class, one after the other."""
        for name in names:
            if isinstance(holder, Module):
                holder = self.find_in_paths(holder.paths, name, 1)
            elif isinstance(holder, NamePlace):
                holder = self.find_members(holder, name) if holder.is_class else None
            elif holder is None and spelled and source.language == "python":
                taken = next((each for each in source.imports if each.local == spelled), None)
                return None if taken is None else self.find_in(source, self.follow(source, taken), [name], "")
            else:
                return holder
        return None if isinstance(holder, Module) else holder
