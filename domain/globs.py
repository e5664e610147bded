"""Matches paths with the glob patterns of a configuration: ``*`` stays within a folder, ``**`` crosses them."""

import re
from collections.abc import Iterable
from functools import lru_cache

_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FEW = 2  # wildcards that a regular expression may hold before the time it takes could explode


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern as a regular expression; None if it holds so many wildcards that matching could take for ever."""
    tokens = _TOKENS.findall(pattern)
    if sum(token.startswith("*") for token in tokens) > _FEW:
        return None
    return re.compile("".join(_MEANINGS.get(token) or re.escape(token) for token in tokens), re.DOTALL)


def mistake(pattern: str) -> str | None:
    """What is wrong with a pattern, as the rest of a sentence about it; None if nothing is."""
    if not pattern:
        return "is empty"
    if pattern.startswith("!"):
        return "starts with “!”, and patterns cannot be negated: use the list that leaves out"
    if pattern.startswith("/"):
        return "starts with “/”, and paths begin at the root of the repository without one"
    if "\\" in pattern or _CONTROL.search(pattern):
        return "holds a backslash or a control character; folders are separated by “/”"
    if {".", ".."} & set(pattern.split("/")):
        return "holds “.” or “..” as a folder, and no path does"
    return None


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches any of the patterns as a whole."""
    return any(_matches(path, pattern) for pattern in patterns)


def _matches(path: str, pattern: str) -> bool:
    compiled = _compiled(pattern)
    return compiled.fullmatch(path) is not None if compiled is not None else _by_steps(path, pattern)


def _by_steps(path: str, pattern: str) -> bool:
    """The same, in time proportional to both lengths: all ways to match are followed side by side."""
    parts = _parts(pattern)
    states = _at_rest({0}, parts)
    for character in path:
        states = _at_rest({after for state in states for after in _after(state, character, parts)}, parts)
        if not states:
            return False
    return len(parts) in states


_OPTIONAL = ""  # the next part may be left out


@lru_cache(maxsize=1000)
def _parts(pattern: str) -> tuple[str, ...]:
    """Wildcards, and each other character by itself."""
    tokens: list[str] = _TOKENS.findall(pattern)
    return tuple(
        part
        for token in tokens
        for part in ((_OPTIONAL, token) if token == "**/" else (token,) if token in _MEANINGS else token)
    )


def _at_rest(states: set[int], parts: tuple[str, ...]) -> set[int]:
    """The states, and those that can be reached from them without a character."""
    reached: set[int] = set()
    waiting = list(states)
    while waiting:
        state = waiting.pop()
        if state in reached:
            continue
        reached.add(state)
        part = parts[state] if state < len(parts) else None
        if part == _OPTIONAL:
            waiting += [state + 1, state + 2]
        elif part in {"*", "**"}:
            waiting.append(state + 1)
    return reached


def _after(state: int, character: str, parts: tuple[str, ...]) -> Iterable[int]:
    """Where a character leads from a state."""
    part = parts[state] if state < len(parts) else _OPTIONAL
    if part == "**/":
        return (state, state + 1) if character == "/" else (state,)
    if part == "**":
        return (state,)
    if part == "*":
        return () if character == "/" else (state,)
    if part == "?":
        return () if character == "/" else (state + 1,)
    return (state + 1,) if character == part else ()
