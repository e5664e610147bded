"""Matches paths with the glob patterns of a configuration: ``*`` stays within a folder, ``**`` crosses them."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice, product, takewhile

MOST = 64
"""The most plain patterns that one with alternatives may expand to."""

_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\[\]/]+\]|[^*?]")
_MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FEW = 2  # the most wildcards in a regular expression, to avoid exponential time
_INNERMOST = re.compile(r"\{([^{}]+)\}")
_BRACKETS = re.compile(r"\[[^\[\]/]+\]")
_RANGES = re.compile(r"\[[!^].+\]|\[(?:[0-9]-[0-9]|[a-z]-[a-z]|[A-Z]-[A-Z]|[^A-Za-z0-9])+\]", re.DOTALL)
_ITSELF = {"{": "\x01", "}": "\x02"}  # a literal brace; patterns contain no control characters
_AS_WRITTEN = str.maketrans({mark: brace for brace, mark in _ITSELF.items()})

Parts = tuple[str, ...]
"""A plain pattern: wildcards, classes such as ``[a-z]``, and each other character by itself."""


def find_mistake(pattern: str) -> str | None:
    """The mistake in a pattern, as the rest of a sentence; None if there is none."""
    if not pattern or "\\" in pattern or _CONTROL.search(pattern):
        return find_path_mistake(pattern)
    if wrong := _find_unclosed(pattern):
        return wrong
    if sum(1 for _ in islice(_expand(pattern), MOST + 1)) > MOST:
        return f"stands for more than {MOST} patterns: write some of them on lines of their own"
    return next(filter(None, map(_find_unmatchable, _expand_braces(pattern))), None)


def repair(pattern: str) -> list[str]:
    """Repairs a wrong pattern: keeps the alternatives that can match, and extends a folder to its content.

    :param pattern: a valid one stays as it is.
    """
    if find_mistake(pattern) is None:
        return [pattern]
    written = islice(_expand_braces(pattern), MOST)
    extended = (f"{each}**" if each.endswith("/") else each for each in written)
    return [each for each in dict.fromkeys(extended) if find_mistake(each) is None]


def _find_unmatchable(alternative: str) -> str | None:
    if len(alternative) > 1 and alternative.endswith("/"):
        return f"ends in “/”, and only files are matched: write “{alternative}**” for all that the folder holds"
    return find_path_mistake(alternative)


def find_path_mistake(path: str) -> str | None:
    """Why this cannot be a path of a repository, as the rest of a sentence; None if it can."""
    if not path:
        return "is empty"
    if path.startswith("!"):
        return "starts with “!”, and patterns cannot be negated: use the list that leaves out"
    if path.startswith("/"):
        return "starts with “/”, and paths begin at the root of the repository without one"
    if "\\" in path or _CONTROL.search(path):
        return "holds a backslash or a control character; folders are separated by “/”"
    if {".", ".."} & set(path.split("/")):
        return "holds “.” or “..” as a folder, and no path does"
    if "//" in path:
        return "holds “//”, and no path does"
    return None


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches any of the patterns as a whole."""
    return any(_matches(path, parts) for pattern in patterns for parts in expand_pattern(pattern))


def join_patterns(patterns: Iterable[str]) -> re.Pattern[str]:
    """One expression that fully matches what any of the patterns does; for our own, which hold few wildcards."""
    plain = (parts for pattern in patterns for parts in expand_pattern(pattern))
    return re.compile("|".join("".join(map(_to_regex, parts)) for parts in plain), re.DOTALL)


def permits(path: str, patterns: Iterable[str]) -> bool:
    """Like :func:`matches`, but strict, for lists that allow or exclude.

    Brackets are literal unless they contain a range or a negation: ``[id]`` is a folder.
    """
    return any(_matches(path, parts) for pattern in patterns for parts in _expand_literally(pattern))


def matches_by_name(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches a pattern that ends in a suffix or in a file name: ``**/*.js``, not ``src/**``."""
    return any(_names_a_kind(parts) and _matches(path, parts) for each in patterns for parts in expand_pattern(each))


def _names_a_kind(parts: Parts) -> bool:
    """Whether its suffix, or its last name without a dot, has no wildcard."""
    name = list(takewhile(lambda part: part not in {"/", "**/"}, reversed(parts)))
    last = name[: name.index(".")] if "." in name else name
    return bool(last) and not any(part in {"*", "**", "?"} for part in last)


@lru_cache(maxsize=1000)
def expand_pattern(pattern: str) -> tuple[Parts, ...]:
    """Expands a pattern to plain patterns.

    Braces without a comma and brackets match both as a choice and literally: there are folders
    named ``[id]`` and ``{{name}}``, and a protecting pattern must not miss them.
    """
    return tuple(dict.fromkeys(islice(_expand(pattern), MOST)))


@lru_cache(maxsize=1000)
def _expand_literally(pattern: str) -> tuple[Parts, ...]:
    plain = islice(_expand_braces(pattern), MOST)
    return tuple(dict.fromkeys(sum(map(_read_literally, _TOKENS.findall(each)), ()) for each in plain))


def _read_literally(token: str) -> Parts:
    return tuple(token) if _is_class(token) and not _RANGES.fullmatch(token) else (token,)


def _expand(pattern: str) -> Iterator[Parts]:
    for written in _expand_braces(pattern):
        tokens: list[str] = _TOKENS.findall(written)
        yield from (sum(chosen, ()) for chosen in product(*map(_expand_token, tokens)))


def _expand_token(token: str) -> tuple[Parts, ...]:
    """A class matches as a class and literally; other tokens have one meaning."""
    return ((token,), tuple(token)) if _is_class(token) else ((token,),)


def _expand_braces(pattern: str) -> Iterator[str]:
    """The pattern with each choice of its braces, from the innermost ones outwards."""
    group = _INNERMOST.search(pattern)
    if group is None:
        yield pattern.translate(_AS_WRITTEN)
        return
    choices = group[1].split(",")
    if len(choices) == 1:
        choices.append(f"{_ITSELF['{']}{group[1]}{_ITSELF['}']}")
    for choice in choices:
        yield from _expand_braces(pattern[: group.start()] + choice + pattern[group.end() :])


def _find_unclosed(pattern: str) -> str | None:
    """The mistake in its braces or brackets, as the rest of a sentence."""
    for group, which in ((_INNERMOST, "{}"), (_BRACKETS, "[]")):
        rest = pattern
        while rest != (shorter := group.sub("x", rest)):
            rest = shorter
        if set(which) & set(rest):
            return f"holds “{which[0]}” or “{which[1]}” without the other, or with nothing between them in one name"
    return None


def _matches(path: str, parts: Parts) -> bool:
    compiled = _compile(parts)
    return compiled.fullmatch(path) is not None if compiled is not None else _match_by_steps(path, parts)


@lru_cache(maxsize=4000)
def _compile(parts: Parts) -> re.Pattern[str] | None:
    """The pattern as a regular expression; None if its wildcards could make matching too slow."""
    if sum(part.startswith("*") for part in parts) > _FEW:
        return None
    return re.compile("".join(map(_to_regex, parts)), re.DOTALL)


def _to_regex(part: str) -> str:
    if _is_class(part):
        return f"(?!/){_class_to_regex(part[1:-1])}"
    return _MEANINGS.get(part) or re.escape(part)


def _is_class(part: str) -> bool:
    return len(part) > 2 and part.startswith("[")


def _class_to_regex(inside: str) -> str:
    """The class of a regular expression; a backward range is literal."""
    negated = len(inside) > 1 and inside[0] in "!^"
    ranges = re.findall(r"(.)-(.)|(.)", inside[negated:], re.DOTALL)
    written = (
        f"{re.escape(first)}-{re.escape(last)}"
        if first and first <= last
        else re.escape(f"{first}{'-' * bool(first)}{last}{one}")
        for first, last, one in ranges
    )
    return f"[{'^' * negated}{''.join(written)}]"


def _match_by_steps(path: str, pattern: Parts) -> bool:
    """Matches in time proportional to both lengths, by following all states in parallel."""
    parts = _to_steps(pattern)
    states = _epsilon_closure({0}, parts)
    for character in path:
        states = _epsilon_closure({after for state in states for after in _advance(state, character, parts)}, parts)
        if not states:
            return False
    return len(parts) in states


_OPTIONAL = ""  # the next part may be left out


@lru_cache(maxsize=1000)
def _to_steps(parts: Parts) -> Parts:
    return tuple(step for part in parts for step in ((_OPTIONAL, part) if part == "**/" else (part,)))


def _epsilon_closure(states: set[int], parts: tuple[str, ...]) -> set[int]:
    """The states, and those reachable without a character."""
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


def _advance(state: int, character: str, parts: tuple[str, ...]) -> Iterable[int]:
    """The next states after a character."""
    part = parts[state] if state < len(parts) else _OPTIONAL
    if part == "**/":
        return (state, state + 1) if character == "/" else (state,)
    if part == "**":
        return (state,)
    if part == "*":
        return () if character == "/" else (state,)
    if part == "?" or _is_class(part):
        return (state + 1,) if re.fullmatch(_to_regex(part), character, re.DOTALL) else ()
    return (state + 1,) if character == part else ()
