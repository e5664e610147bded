"""Matches paths with the glob patterns of a configuration: ``*`` stays within a folder, ``**`` crosses them."""

import re
from collections.abc import Iterable
from functools import lru_cache

_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(_MEANINGS.get(token) or re.escape(token) for token in _TOKENS.findall(pattern)))


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches any of the patterns as a whole."""
    return any(_compiled(pattern).fullmatch(path) is not None for pattern in patterns)
