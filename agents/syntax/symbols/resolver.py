"""Resolves a name to its definition, by imports, by the file's own names, and by the receiver where that is plain."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agents.syntax.languages import find_language
from agents.syntax.symbols.grammars import GRAMMARS
from agents.syntax.symbols.imports import EVERYTHING, Import
from agents.syntax.symbols.modules import Modules, find_family
from agents.syntax.symbols.places import UNREADABLE, Place, Role
from agents.syntax.symbols.source import Source
from agents.syntax.symbols.types import list_bases, read_maker, read_returned, read_type

_DEEPEST = 5  # imports, receivers or classes that are followed one after the other
_MOST_OPENED = 400  # files that are parsed
SELF = frozenset({"self", "this", "cls", "Self", "static", "@self", "$this", "self.class", "this.constructor"})
SUPER = frozenset({"super", "super()", "base", "parent"})
"""Receivers that stand for the object or class itself, and for what it builds on."""
_LINKS = re.compile(r"\?\.|\?->|->|::|&\.|!\.|\.|\\")
_MADE = re.compile(r"(?:new\s+([\w.:\\]+)|([\w.:\\]+?)(\.new|::new)?)\(.*\)|([A-Z][\w:]*)\.new", re.DOTALL)
_LAST_CALL = re.compile(r"(?:(.*?)\s*(?:\?\.|\?->|->|::|\.))?([\w$]+)\((?:[^()]|\([^()]*\))*\)", re.DOTALL)
_IMPLICIT_SELF = frozenset({"java", "csharp", "cpp", "ruby"})
_BY_FOLDER = frozenset({"go"})
_GLOBAL = frozenset({"ruby", "c", "cpp", "php", "csharp"})
"""Languages whose names are known across files without naming the file."""
_OPEN_CLASSES = frozenset({"go", "ruby", "csharp", "c", "cpp", "rust"})
"""Languages in which the members of a class may stand in several files."""


class Outside:
    """What the language, a library or the function itself defines."""


OUTSIDE = Outside()
Meaning = Place | Outside | None
"""A definition; something else for certain; or None if it is not plain."""


@dataclass(frozen=True)
class _Module:
    """What a name that stands for files means."""

    paths: tuple[str, ...]


class Resolver:
    """Resolves names in some files of a repository.

    :param texts: path → text of the files that matter; others are known by their names only.
    :param modules: all files.
    """

    def __init__(self, texts: Mapping[str, str], modules: Modules) -> None:
        self._texts, self._modules = texts, modules
        self.sources: dict[str, Source | None] = {}
        self._named: dict[tuple[str, str], tuple[Place, ...]] = {}
        self._following: set[tuple[str, str, int]] = set()

    def open(self, path: str) -> Source | None:
        """A file with its tree; None if it is not there, people did not write it, or too many were opened."""
        if path not in self.sources:
            self.sources[path] = self._load(path) if len(self.sources) < _MOST_OPENED else None
        return self.sources[path]

    def _load(self, path: str) -> Source | None:
        language, text = find_language(path), self._texts.get(path)
        if language not in GRAMMARS or text is None:
            return None
        try:
            return Source(path, "cpp" if path.endswith(".h") and "class " not in text else language, text)
        except ValueError:
            return None

    def identify(self, place: Place) -> tuple[str, str, str]:
        """What tells a definition from others: C knows what is not static by its name alone."""
        language = self._language(place.path)
        if language in {"c", "cpp"} and not re.match(r"static\b", place.declaration):
            return ("", *place.key[1:])
        if language in _OPEN_CLASSES and place.owner and not place.is_class:
            return (posixpath.dirname(place.path) if language in _BY_FOLDER else "", *place.key[1:])
        return place.key

    def resolve(self, source: Source, place: Place) -> Meaning:
        """What a name in a file means."""
        step = (source.path, place.name, place.line)
        if step in self._following or len(self._following) > 4 * _DEEPEST:
            return None
        self._following.add(step)
        try:
            return self._resolve_bare(source, place) if not place.receiver else self._resolve_member(source, place)
        finally:
            self._following.discard(step)

    def find_members(self, owner: Place, name: str, depth: int = 0) -> Meaning:
        """A member of a class, its own or inherited; outside if the class builds on something outside."""
        own = next((each for each in self._list_members(owner, name)), None)
        if own is not None or depth > _DEEPEST:
            return own
        meanings = [
            self.find_members(base, name, depth + 1) if isinstance(base, Place) else base
            for base in self.list_bases(owner)
        ]
        found = next((each for each in meanings if isinstance(each, Place)), None)
        return found or next((OUTSIDE for each in meanings if each is not None), None)

    def list_bases(self, owner: Place) -> list[Place | Outside]:
        """What a class builds on."""
        source = self.open(owner.path)
        if source is None:
            return []
        text = source.text if source.language == "rust" else source.read_class(owner)
        spelled = list_bases(source.language, owner.name, text)
        return [base if isinstance(base := self.find_type(source, each), Place) else OUTSIDE for each in spelled]

    def find_type(self, source: Source, spelled: str) -> Meaning:
        """The class that a text in a file names."""
        parts = [part for part in _LINKS.split(spelled) if part]
        if not parts:
            return None
        if len(parts) == 1 or source.language in _GLOBAL:
            found = self._find_name(source, parts[-1])
        else:
            found = self._find_in(source, self._find_name(source, parts[0]), parts[1:], ".".join(parts[:-1]))
        if isinstance(found, _Module):
            return None
        return found if not isinstance(found, Place) or found.is_class else self._follow_value(found)

    def list_named(self, name: str, family: str) -> tuple[Place, ...]:
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

    def _list_members(self, owner: Place, name: str) -> Iterator[Place]:
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

    def _resolve_bare(self, source: Source, place: Place) -> Meaning:
        if self._find_binding(source, place) is not None:
            return OUTSIDE
        if place.owner and source.language in _IMPLICIT_SELF:
            owner = self._find_own_class(source, place)
            member = self.find_members(owner, place.name) if owner else None
            if isinstance(member, Place):
                return member
        found = self._find_name(source, place.name)
        return None if isinstance(found, _Module) else found

    def _find_binding(self, source: Source, place: Place) -> Place | None:
        """Where a name is bound in the function around a place, the last before it."""
        if place.scope is None:
            return None
        bound = [each for each in source.find(place.name) if each.role is Role.binding and _meets(each, place.scope)]
        before = [each for each in bound if each.line <= place.line]
        return next(reversed(before), next(iter(bound), None))

    def _find_own_class(self, source: Source, place: Place) -> Place | None:
        found = [each for each in source.find_definitions(place.owner) if each.is_class]
        around = [each for each in found if each.start <= place.line <= each.end]
        if around or found:
            return (around or found)[-1]
        named = self.list_named(place.owner, find_family(source.language))
        return next((each for each in named if each.is_class), None)

    def _find_name(self, source: Source, name: str, depth: int = 0) -> "Meaning | _Module":
        """What a name means at the top of a file."""
        own = source.find_top(name)
        if own is not None:
            return own
        for each in source.imports:
            if each.local == name and each.name != EVERYTHING:
                return self._follow(source, each, depth)
        if (near := self._find_near(source, name)) is not None:
            return near
        for each in source.imports:
            if each.name == EVERYTHING and source.language not in _GLOBAL:
                found = self._find_in_paths(self._list_paths(source, each.module, name), name, depth + 1)
                if found is not None:
                    return found
        return self._find_global(source, name)

    def _list_paths(self, source: Source, module: str, name: str) -> tuple[str, ...]:
        """The files of a module; in Java, of the class of this name in a package."""
        if source.language == "java":
            classes = self._modules.find(source.path, "java", f"{module}.{name}")
            return classes or self._modules.find(source.path, "java", module)
        return self._modules.find(source.path, source.language, module)

    def _find_near(self, source: Source, name: str) -> Place | None:
        """What a file of the same package defines."""
        if source.language not in {"go", "java"}:
            return None
        package = self._modules.find_package(posixpath.dirname(source.path), source.package, source.language)
        same = [path for path in package if path != source.path and path.endswith(f".{source.language}")]
        if source.language == "java":
            same = [path for path in same if path.endswith(f"/{name}.java")]
        found = (self._find_top(path, name) for path in same)
        return next((each for each in found if each is not None), None)

    def _find_top(self, path: str, name: str) -> Place | None:
        if name not in self._texts.get(path, ""):
            return None
        source = self.open(path)
        return None if source is None else source.find_top(name)

    def _find_global(self, source: Source, name: str) -> Place | None:
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

    def _is_visible(self, source: Source, found: Place) -> bool:
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

    def _follow(self, source: Source, taken: Import, depth: int = 0) -> "Meaning | _Module":
        """What an imported name means."""
        if depth > _DEEPEST:
            return None
        if source.language in {"php", "csharp"}:
            return self._find_qualified(source, taken)
        paths = self._modules.find(source.path, source.language, taken.module)
        if source.language == "java":
            return self._find_java(paths, taken)
        if not taken.name:
            return _Module(paths) if paths else OUTSIDE
        below = self._find_submodule(source, taken)
        if not paths and not below:
            return OUTSIDE
        found = self._find_in_paths(paths, taken.name, depth + 1)
        return found if found is not None or not below else _Module(below)

    def _find_java(self, paths: tuple[str, ...], taken: Import) -> Meaning:
        if not paths:
            return OUTSIDE
        found = self._find_top(paths[0], posixpath.basename(paths[0]).removesuffix(".java"))
        if found is None or taken.name == found.name:
            return found
        return self.find_members(found, taken.name)

    def _find_qualified(self, source: Source, taken: Import) -> Meaning:
        family = find_family(source.language)
        tops = [each for each in self.list_named(taken.name, family) if each.is_class or not each.owner]
        return next((each for each in tops if self._package(each.path) == taken.module), OUTSIDE)

    def _find_submodule(self, source: Source, taken: Import) -> tuple[str, ...]:
        joint = {"python": "." if not taken.module.endswith(".") else "", "rust": "::"}.get(source.language)
        if joint is None:
            return ()
        found = self._modules.find(source.path, source.language, f"{taken.module}{joint}{taken.name}")
        return tuple(path for path in found if source.language != "rust" or path != source.path)

    def _find_in_paths(self, paths: tuple[str, ...], name: str, depth: int) -> "Meaning | _Module":
        """What some files offer under a name, also where they only pass it on."""
        for path in paths:
            source = self.open(path)
            if source is None:
                continue
            found = self._find_offered(source, name, depth)
            if found is not None:
                return found
        return None

    def _find_offered(self, source: Source, name: str, depth: int) -> "Meaning | _Module":
        own = source.find_top(source.default if name == "default" else name)
        if own is not None or depth > _DEEPEST:
            return own
        sought = source.default if name == "default" else name
        for each in source.imports:
            is_it = each.local == sought and (each.is_passed_on or name == "default" or source.exports(name))
            if is_it and each.name != EVERYTHING:
                return self._follow(source, each, depth + 1)
        for each in source.imports:
            if each.name == EVERYTHING and each.is_passed_on:
                paths = self._modules.find(source.path, source.language, each.module)
                found = self._find_in_paths(paths, name, depth + 1)
                if found is not None:
                    return found
        return None

    def _resolve_member(self, source: Source, place: Place) -> Meaning:
        holder = self._find_receiver(source, place, place.receiver)
        return self._find_in(source, holder, [place.name], place.receiver)

    def _find_in(self, source: Source, holder: "Meaning | _Module", names: list[str], spelled: str) -> Meaning:
        """A name in a module, or in a class, one after the other."""
        for name in names:
            if isinstance(holder, _Module):
                holder = self._find_in_paths(holder.paths, name, 1)
            elif isinstance(holder, Place):
                holder = self.find_members(holder, name) if holder.is_class else None
            elif holder is None and spelled and source.language == "python":
                taken = next((each for each in source.imports if each.local == spelled), None)
                return None if taken is None else self._find_in(source, self._follow(source, taken), [name], "")
            else:
                return holder
        return None if isinstance(holder, _Module) else holder

    def _find_receiver(self, source: Source, place: Place, receiver: str, depth: int = 0) -> "Meaning | _Module":
        """What stands before a dot: a class, also for one of its objects, or a module."""
        if receiver == UNREADABLE or depth > _DEEPEST:
            return None
        if receiver in SELF or receiver in SUPER:
            return self._find_self(source, place, receiver)
        made = _MADE.fullmatch(receiver)
        if made is not None:
            spelled = next(each for each in (made[1], made[4], made[2]) if each)
            is_class = made[1] or made[3] or made[4] or _LINKS.split(spelled)[-1][:1].isupper()
            if is_class:
                return self.find_type(source, spelled)
        if receiver.endswith(")"):
            return self._find_returned(source, place, receiver)
        if "(" in receiver:
            return None
        parts = [part for part in _LINKS.split(receiver.replace("$", "")) if part]
        if source.language == "rust" and len(parts) > 1 and parts[0] in {"crate", "super", "self"} and "::" in receiver:
            return self._find_rust(source, receiver)
        if len(parts) == 1:
            return self._find_variable(source, place, parts[0])
        if parts[0] in SELF and len(parts) == 2:
            return self._find_field(source, place, parts[1])
        whole = next((each for each in source.imports if each.local == receiver and not each.name), None)
        if whole is not None:
            return self._follow(source, whole)
        first = self._find_receiver(source, place, parts[0], depth + 1)
        for name in parts[1:]:
            if isinstance(first, _Module):
                first = self._find_in_paths(first.paths, name, 1)
            elif isinstance(first, Place) and first.is_class:
                member = self.find_members(first, name)
                first = self._follow_value(member) if isinstance(member, Place) and not member.is_class else member
            else:
                return first
        return first

    def _find_returned(self, source: Source, place: Place, receiver: str) -> Meaning:
        """What a call gives back, if what is called says so."""
        call = _LAST_CALL.fullmatch(receiver)
        if call is None:
            return None
        return self._find_made(source, place, call[1] or "", call[2])

    def _find_made(self, source: Source, place: Place, receiver: str, name: str) -> Meaning:
        called = Place(
            name,
            source.path,
            Role.use,
            place.line,
            place.line,
            place.line,
            receiver=receiver,
            is_called=True,
            owner=place.owner,
            scope=place.scope,
            within=place.within,
        )
        found = self.resolve(source, called)
        if not isinstance(found, Place) or found.is_class:
            return found
        there = self.open(found.path)
        spelled = read_returned(there.language, found.name, found.declaration) if there else ""
        if there is None or not spelled:
            return None
        return (
            self._find_own_class(there, found)
            if spelled in {"Self", "self", "static"}
            else self.find_type(there, spelled)
        )

    def _find_rust(self, source: Source, spelled: str) -> "Meaning | _Module":
        module, _, name = spelled.rpartition("::")
        return self._follow(source, Import(name, module, name))

    def _find_self(self, source: Source, place: Place, receiver: str) -> Meaning:
        owner = self._find_own_class(source, place) if place.owner else None
        if owner is None or receiver in SELF:
            return owner
        bases = self.list_bases(owner)
        return next((base for base in bases if isinstance(base, Place)), OUTSIDE if bases else None)

    def _find_variable(self, source: Source, place: Place, name: str) -> "Meaning | _Module":
        seen = Place(
            name, source.path, Role.use, place.line, place.line, place.line, owner=place.owner, scope=place.scope
        )
        bound = self._find_binding(source, seen)
        if bound is not None:
            return self._follow_declaration(source, bound)
        if place.owner and source.language in {*_IMPLICIT_SELF, "php"} - {"ruby"}:
            field = self._find_field(source, place, name)
            if field is not None:
                return field
        if name.startswith("@"):
            return self._find_field(source, place, name)
        found = self._find_name(source, name)
        return self._follow_value(found) if isinstance(found, Place) and not found.is_class else found

    def _find_field(self, source: Source, place: Place, name: str) -> Meaning:
        """The type of a field of the class around a place."""
        declared = [each for each in source.find(name.lstrip("@")) if self._declares_field(each, place.owner)]
        types = (self._follow_declaration(source, each) for each in declared)
        found = next((each for each in types if each is not None), None)
        return None if isinstance(found, _Module) else found

    @staticmethod
    def _declares_field(each: Place, owner: str) -> bool:
        if each.owner != owner:
            return False
        is_promoted = re.match(r"(private|protected|public|readonly)\b", each.declaration) is not None
        is_assigned = each.receiver in SELF and re.match(r"[\w$]+\s*(:[^=\n]+)?=[^=]", each.declaration) is not None
        return each.role is Role.definition or is_promoted or is_assigned

    def _follow_declaration(self, source: Source, declared: Place) -> "Meaning | _Module":
        """What the declaration of a name says it is."""
        spelled = read_type(source.language, declared.name, declared.declaration)
        if spelled:
            return self.find_type(source, spelled)
        receiver, maker = read_maker(declared.name, declared.declaration)
        if maker and maker != declared.name:
            return self._find_made(source, declared, receiver, maker)
        passed = re.match(rf"{re.escape(declared.name)}\s*=\s*(\w+)\s*$", declared.declaration)
        if passed is not None and declared.receiver in SELF:
            return self._find_variable(source, declared, passed[1])
        return None

    def _follow_value(self, value: Place) -> Meaning:
        source = self.open(value.path)
        found = None if source is None else self._follow_declaration(source, value)
        return None if isinstance(found, _Module) else found


def _meets(place: Place, lines: tuple[int, int]) -> bool:
    return lines[0] <= place.line <= lines[1]
