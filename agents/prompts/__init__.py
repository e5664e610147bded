"""The instructions for models, one file each, the same for every question of a kind; and how questions quote."""

from functools import cache
from pathlib import Path

from domain.text.escaping import strip_invisible


@cache
def load_prompt(name: str) -> str:
    """The instructions in ``NAME.md``."""
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8").strip()


def quote_lines(text: str) -> list[str]:
    """Marks each line, so that none looks like a heading or a note of Forge."""
    return [f"> {line}" for line in strip_invisible(text).split("\n")]


def note_omitted(count: int, what: str) -> list[str]:
    return [f"[{count:,} {what} are left out]"] if count > 0 else []
