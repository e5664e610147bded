"""Resolves a name to its definition, by imports, by the file's own names, and by the receiver where that is plain."""

import re

from agents.syntax.symbols.modules import Import, find_family
from agents.syntax.symbols.names import LINKS, OUTSIDE, Meaning, Module, Names
from agents.syntax.symbols.source import UNREADABLE, NamePlace, Role, SourceFile
from agents.syntax.symbols.types import read_class, read_maker, read_returned, read_type

_DEEPEST = 5  # receivers that are followed one after the other
SELF = frozenset({"self", "this", "cls", "Self", "static", "@self", "$this", "self.class", "this.constructor"})
SUPER = frozenset({"super", "super()", "base", "parent"})
"""Receivers that stand for the object or class itself, and for what it builds on."""
_MADE = re.compile(r"(?:new\s+([\w.:\\]+)|([\w.:\\]+?)(\.new|::new)?)\(.*\)|([A-Z][\w:]*)\.new", re.DOTALL)
_LAST_CALL = re.compile(r"(?:(.*?)\s*(?:\?\.|\?->|->|::|\.))?([\w$]+)\((?:[^()]|\([^()]*\))*\)", re.DOTALL)
_IMPLICIT_SELF = frozenset({"java", "csharp", "cpp", "ruby"})


class Resolver:
    """Resolves names in some files of a repository.

    :param names: of these files.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._following: set[tuple[str, str, int]] = set()

    def resolve(self, source: SourceFile, place: NamePlace) -> Meaning:
        """What a name in a file means."""
        step = (source.path, place.name, place.line)
        if step in self._following or len(self._following) > 4 * _DEEPEST:
            return None
        self._following.add(step)
        try:
            return self._resolve_bare(source, place) if not place.receiver else self._resolve_member(source, place)
        finally:
            self._following.discard(step)

    def _resolve_bare(self, source: SourceFile, place: NamePlace) -> Meaning:
        if self._find_binding(source, place) is not None:
            return OUTSIDE
        if place.owner and source.language in _IMPLICIT_SELF:
            owner = self._names.find_own_class(source, place)
            member = self._names.find_members(owner, place.name) if owner else None
            if isinstance(member, NamePlace):
                return member
        found = self._names.find_name(source, place.name)
        return None if isinstance(found, Module) else found

    def _find_binding(self, source: SourceFile, place: NamePlace) -> NamePlace | None:
        """Where a name is bound in the function around a place, the last before it."""
        if place.scope is None:
            return None
        bound = [each for each in source.find(place.name) if each.role is Role.binding and _meets(each, place.scope)]
        before = [each for each in bound if each.line <= place.line]
        return next(reversed(before), next(iter(bound), None))

    def _resolve_member(self, source: SourceFile, place: NamePlace) -> Meaning:
        holder = self._find_receiver(source, place, place.receiver)
        found = self._names.find_in(source, holder, [place.name], place.receiver)
        return self._find_by_name(source, place) if holder is None and found is None else found

    def _find_by_name(self, source: SourceFile, place: NamePlace) -> Meaning:
        """The member of the one class that an unknown object is called after and that has such a member."""
        family, name = find_family(source.language), read_class(source.language, place.receiver)
        classes = [each for each in self._names.list_named(name, family) if each.is_class] if name else []
        members = [self._names.find_members(each, place.name) for each in classes]
        found = {self._names.identify(each): each for each in members if isinstance(each, NamePlace)}
        return next(iter(found.values())) if len(found) == 1 else None

    def _find_receiver(self, source: SourceFile, place: NamePlace, receiver: str, depth: int = 0) -> Meaning | Module:
        """What stands before a dot: a class, also for one of its objects, or a module."""
        if receiver == UNREADABLE or depth > _DEEPEST:
            return None
        if receiver in SELF or receiver in SUPER:
            return self._find_self(source, place, receiver)
        if (spelled := _read_made(receiver)) != "":
            return self._names.find_type(source, spelled)
        if "(" in receiver:
            return self._find_returned(source, place, receiver)
        parts = [part for part in LINKS.split(receiver.replace("$", "")) if part]
        if not parts:
            return None
        if source.language == "rust" and len(parts) > 1 and parts[0] in {"crate", "super", "self"} and "::" in receiver:
            module, _, name = receiver.rpartition("::")
            return self._names.follow(source, Import(name, module, name))
        if len(parts) == 1:
            return self._find_variable(source, place, parts[0])
        return self._find_chain(source, place, receiver, parts, depth)

    def _find_chain(
        self, source: SourceFile, place: NamePlace, receiver: str, parts: list[str], depth: int
    ) -> Meaning | Module:
        """What several names with dots between them mean."""
        if parts[0] in SELF and len(parts) == 2:
            return self._find_field(source, place, parts[1])
        whole = next((each for each in source.imports if each.local == receiver and not each.name), None)
        if whole is not None:
            return self._names.follow(source, whole)
        found = self._find_receiver(source, place, parts[0], depth + 1)
        for name in parts[1:]:
            if isinstance(found, Module):
                found = self._names.find_in_paths(found.paths, name, 1)
            elif isinstance(found, NamePlace) and found.is_class:
                member = self._names.find_members(found, name)
                found = self._follow_value(member) if isinstance(member, NamePlace) and not member.is_class else member
            else:
                return found
        return found

    def _find_returned(self, source: SourceFile, place: NamePlace, receiver: str) -> Meaning:
        """What a call gives back, if what is called says so."""
        call = _LAST_CALL.fullmatch(receiver)
        if call is None:
            return None
        return self._find_made(source, place, call[1] or "", call[2])

    def _find_made(self, source: SourceFile, place: NamePlace, receiver: str, name: str) -> Meaning:
        called = NamePlace(
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
        if not isinstance(found, NamePlace) or found.is_class:
            return found
        there = self._names.open(found.path)
        spelled = read_returned(there.language, found.name, found.declaration) if there else ""
        if there is None or not spelled:
            return None
        return (
            self._names.find_own_class(there, found)
            if spelled in {"Self", "self", "static"}
            else self._names.find_type(there, spelled)
        )

    def _find_self(self, source: SourceFile, place: NamePlace, receiver: str) -> Meaning:
        owner = self._names.find_own_class(source, place) if place.owner else None
        if owner is None or receiver in SELF:
            return owner
        bases = self._names.list_bases(owner)
        return next((base for base in bases if isinstance(base, NamePlace)), OUTSIDE if bases else None)

    def _find_variable(self, source: SourceFile, place: NamePlace, name: str) -> "Meaning | Module":
        seen = NamePlace(
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
        found = self._names.find_name(source, name)
        return self._follow_value(found) if isinstance(found, NamePlace) and not found.is_class else found

    def _find_field(self, source: SourceFile, place: NamePlace, name: str) -> Meaning:
        """The type of a field of the class around a place."""
        declared = [each for each in source.find(name.lstrip("@")) if self._declares_field(each, place.owner)]
        types = (self._follow_declaration(source, each) for each in declared)
        found = next((each for each in types if each is not None), None)
        return None if isinstance(found, Module) else found

    @staticmethod
    def _declares_field(each: NamePlace, owner: str) -> bool:
        if each.owner != owner:
            return False
        is_promoted = re.match(r"(private|protected|public|readonly)\b", each.declaration) is not None
        is_assigned = each.receiver in SELF and re.match(r"[\w$]+\s*(:[^=\n]+)?=[^=]", each.declaration) is not None
        return each.role is Role.definition or is_promoted or is_assigned

    def _follow_declaration(self, source: SourceFile, declared: NamePlace) -> "Meaning | Module":
        """What the declaration of a name says it is."""
        spelled = read_type(source.language, declared.name, declared.declaration)
        if spelled:
            return self._names.find_type(source, spelled)
        receiver, maker = read_maker(declared.name, declared.declaration)
        if maker and maker != declared.name:
            return self._find_made(source, declared, receiver, maker)
        passed = re.match(rf"{re.escape(declared.name)}\s*=\s*(\w+)\s*$", declared.declaration)
        if passed is not None and declared.receiver in SELF:
            return self._find_variable(source, declared, passed[1])
        return None

    def _follow_value(self, value: NamePlace) -> Meaning:
        source = self._names.open(value.path)
        found = None if source is None else self._follow_declaration(source, value)
        return None if isinstance(found, Module) else found


def _read_made(receiver: str) -> str:
    """The class of an object that is made where it is used; empty if none is."""
    made = _MADE.fullmatch(receiver)
    if made is None:
        return ""
    spelled = next(each for each in (made[1], made[4], made[2]) if each)
    return spelled if made[1] or made[3] or made[4] or LINKS.split(spelled)[-1][:1].isupper() else ""


def _meets(place: NamePlace, lines: tuple[int, int]) -> bool:
    return lines[0] <= place.line <= lines[1]
