"""Translates regular expressions of models to those of ``grep -E``, or says what ``grep -E`` does not know.

grep would read ``\\d`` as a d, and ``[\\w.]`` as a backslash, a w and a dot: it would silently find nothing.
Backreferences are refused because they make matching take exponential time.
"""

import re
from collections.abc import Iterable

from agents.loop.tools.tool import ToolMistake

_TOKEN = re.compile(
    r"""
      \\(?P<escape>.)
    | \[(?P<negated>\^?)(?P<members>\]?(?:\[:\w+:\]|\\.|[^\]\\])*+)\]
    | (?P<group>\(\?.?)
    | (?P<bound>\{(?:\d+,?\d*|,\d+)\})
    | (?P<brace>\{)
    | (?P<end>\$)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LARGEST = 20_000
_MEMBER = re.compile(r"\[:\w+:\]|\\.|\[(?=[.:=])|.", re.DOTALL)
_OUTSIDE = {"d": "[0-9]", "D": "[^0-9]", "t": "\t", "r": "\r", "'": "'", "`": "`"}
_AS_THEY_ARE = frozenset("wWsSbB")
_INSIDE = {"d": "0-9", "w": "[:alnum:]_", "s": "[:space:]", "t": "\t", "r": "\r"}
_PLACED = frozenset({"]", "[", r"\]", r"\[", r"\^", r"\-"})  # members whose meaning depends on their place


def to_extended(pattern: str) -> str:
    """The expression in the syntax of ``grep -E``. ``$`` also matches before the carriage return of a CRLF.

    :raises ToolMistake: it holds something that ``grep -E`` cannot express.
    """
    tokens = list(_TOKEN.finditer(pattern))
    if _measure(tokens) > _LARGEST:
        raise ToolMistake("The pattern repeats what repeats too often. Write * or + in place of {m,n}.")
    return "".join(map(_translate, tokens))


def _measure(tokens: Iterable[re.Match[str]]) -> int:
    """How many characters a pattern has with everything written out that a bound repeats.

    The C library writes it out, and fails in ways of its own where that needs more memory than there is.
    """
    sizes, last = [0], 0  # of the groups that are open, and of what a bound would repeat
    for token in tokens:
        if token["bound"] is not None:
            times = max(int(number or 0) for number in token["bound"].strip("{}").split(","))
            sizes[-1] += last * max(times - 1, 0)
            last *= max(times, 1)
        elif token["group"] is not None or token[0] == "(":
            sizes.append(0)
        elif token[0] == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        else:
            last = 1
            sizes[-1] += last
    return sum(sizes)


def _translate(token: re.Match[str]) -> str:
    if token["escape"] is not None:
        return _escape(token["escape"])
    if token["members"] is not None:
        return _bracket(token["negated"], token["members"])
    if token["group"] is not None:
        return _group(token["group"])
    if token["brace"] is not None:
        return r"\{"
    return "\r?$" if token["end"] is not None else token[0]


def _escape(character: str) -> str:
    if character in _OUTSIDE:
        return _OUTSIDE[character]
    if character.isascii() and character.isalnum() and character not in _AS_THEY_ARE:
        raise _unknown(f"\\{character}")
    return f"\\{character}"


def _group(opening: str) -> str:
    if opening != "(?:":
        raise _unknown(opening)
    return "("


def _bracket(negated: str, members: str) -> str:
    """A POSIX bracket expression. A backslash is no escape in it, so special members move to where they are plain."""
    parts = _MEMBER.findall(members)
    placed = {part[-1] for part in parts if part in _PLACED}
    first, opening, caret, dash = (sign if sign in placed else "" for sign in "][^-")
    ordinary = "".join(_member(part) for part in parts if part not in _PLACED)
    body = first + ordinary + opening + caret + dash
    if negated or not body.startswith("^"):
        return f"[{negated}{body}]"
    return r"\^" if body == "^" else "[-^]"


def _member(text: str) -> str:
    if len(text) != 2 or text[0] != "\\":
        return text
    character = text[1]
    if character in _INSIDE:
        return _INSIDE[character]
    if character.isascii() and character.isalnum():
        raise _unknown(f"[{text}]")
    return character


def _unknown(what: str) -> ToolMistake:
    return ToolMistake(
        f"The pattern holds {what!r}, which this search does not know: no look-around, backreferences, flags or"
        " character codes. Write a simpler pattern, or search a fixed text with fixed=true."
    )
