"""Blanks what stands in the literals and comments of a text, so that rules about lines do not read words as code."""

import re
from pathlib import PurePosixPath

LONGEST = 1_000
"""Characters of a line that is read."""
_BLANK = "\ue001"
"""Stands for a character of a literal; no expression of ours asks for it."""
_TRIPLE = r'"""(?:[^\\]|\\.)*?"""' + r"|'''(?:[^\\]|\\.)*?'''"
_DOUBLE, _SINGLE, _TICKS = r'"(?:[^"\\\n]|\\.)*"', r"'(?:[^'\\\n]|\\.)*'", r"`(?:[^`\\]|\\.)*`"
_HASHES, _SLASHES = r"(?<![\w$&{])\#[^\n]*", r"//[^\n]*|/\*.*?\*/"
_HASH_LANGUAGES = frozenset({".py", ".pyi", ".rb", ".sh", ".bash", ".bats"})
_NO_SINGLE = frozenset({".rs"})  # where it begins a lifetime
_TICKED = frozenset({".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".go"})


def blank_literals(path: str, text: str) -> str:
    """The text with as many lines and columns, in which literals and comments hold nothing."""
    suffix = PurePosixPath(path).suffix.lower()
    quotes = [_TRIPLE, _DOUBLE, *([] if suffix in _NO_SINGLE else [_SINGLE]), *([_TICKS] if suffix in _TICKED else [])]
    comments = _HASHES if suffix in _HASH_LANGUAGES else _SLASHES
    return re.sub("|".join((*quotes, f"(?P<comment>{comments})")), _blank, text, flags=re.DOTALL)


def _blank(found: re.Match[str]) -> str:
    whole = found[0]
    if found["comment"] is not None:
        return re.sub(r"[^\n]", " ", whole)
    return whole[0] + re.sub(r"[^\n]", _BLANK, whole[1:-1]) + whole[-1]
