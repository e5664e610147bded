"""Tells lines of code that say little about where they stand: imports, and lines of little but punctuation."""

import re

_IMPORTS = re.compile(r"\s*(import\b|from\s|use\s|using\s|require|#\s*include|export\s+(\*|\{)|package\s)")
_TELLING = 8  # letters and digits of a line that is not equal to others by chance


def is_import(line: str) -> bool:
    return _IMPORTS.match(line) is not None


def is_telling(line: str) -> bool:
    """Whether equal lines elsewhere are likely the same code."""
    return count_letters(line) >= _TELLING and not is_import(line)


def count_letters(line: str) -> int:
    """Its letters and digits."""
    return sum(map(str.isalnum, line))
