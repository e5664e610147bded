"""Translates regular expressions of models to those of ``grep -E``, or says what ``grep -E`` does not know.

grep would read ``\\d`` as a d, and ``[\\w.]`` as a backslash, a w and a dot: it would silently find nothing.
Backreferences are refused because they make matching take exponential time.
"""

import re

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
_MEMBER = re.compile(r"\[:\w+:\]|\\.|\[(?=[.:=])|.", re.DOTALL)
_OUTSIDE = {"d": "[0-9]", "D": "[^0-9]", "t": "\t", "r": "\r", "'": "'", "`": "`"}
_AS_THEY_ARE = frozenset("wWsSbB")
_INSIDE = {"d": "0-9", "w": "[:alnum:]_", "s": "[:space:]", "t": "\t", "r": "\r"}
_PLACED = frozenset({"]", "[", r"\]", r"\[", r"\^", r"\-"})  # members whose meaning depends on their place


def to_extended(pattern: str) -> str:
    """The expression in the syntax of ``grep -E``. ``$`` also matches before the carriage return of a CRLF.

    :raises ToolMistake: it holds something that ``grep -E`` cannot express.
    """
    return "".join(map(_translate, _TOKEN.finditer(pattern)))


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
