"""Writes the names that conditions of gates may use into ``docs/gates.md``, from their vocabulary."""

from domain.config.conditions import NAMES, KnownName

BEGIN, END = "<!-- names: written by make docs -->", "<!-- end of names -->"


def put_names(page: str) -> str:
    """The page with the names written anew between its marks.

    :raises ValueError: if the page lacks a mark.
    """
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return f"{page[:start]}\n\n{markdown()}\n\n{page[end:]}"


def markdown() -> str:
    """This part of the page: a line for each name."""
    return "\n".join(map(_describe, NAMES.values()))


def _describe(known: KnownName) -> str:
    choices = ", ".join(f"`{choice}`" for choice in known.type.choices)
    one_of = f" ({choices})" if choices and not known.type.ordered else ""
    return f"- `{known.name}`: {known.about[0].lower()}{known.about[1:].rstrip('.')}{one_of}"
