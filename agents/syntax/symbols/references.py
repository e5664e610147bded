"""Finds what refers to a name that a file defines, whether or not a change touches it."""

from collections.abc import Iterator
from dataclasses import dataclass

from agents.syntax.symbols.changes import ChangedDefinition, ChangedSource
from agents.syntax.symbols.source import Role
from agents.syntax.symbols.uses import Surrounding, SymbolSearch


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
