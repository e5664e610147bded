"""The instructions for models, one file each, the same for every question of a kind."""

from functools import cache
from pathlib import Path


@cache
def load_prompt(name: str) -> str:
    """The instructions in ``NAME.md``."""
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8").strip()
