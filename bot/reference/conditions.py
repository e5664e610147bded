"""Writes the names that conditions of gates may use into ``docs/gates.md``, from their vocabulary."""

import textwrap
from itertools import groupby

from domain.config.conditions.names import NAMES, KnownName

BEGIN, END = "<!-- names: written by make docs -->", "<!-- end of names -->"


def put_names(page: str) -> str:
    """The page with the names written anew between its marks.

    :raises ValueError: if the page lacks a mark.
    """
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return f"{page[:start]}\n{markdown()}\n{page[end:]}"


def markdown() -> str:
    """This part of the page: one item for each phase's names."""
    families = groupby(NAMES.values(), key=lambda known: known.name.partition(".")[0])
    items = (f"- {'; '.join(map(_describe, names))}." for _, names in families)
    return "\n".join(textwrap.fill(item, 120, subsequent_indent="  ", break_on_hyphens=False) for item in items)


def _describe(known: KnownName) -> str:
    choices = [f"`{choice}`" for choice in known.type.choices]
    values = f" ({(' < ' if known.type.ordered else ', ').join(choices)})" if choices else ""
    about = known.about.rstrip(".")
    return f"`{known.name}` {about[0].lower()}{about[1:]}{values}"
