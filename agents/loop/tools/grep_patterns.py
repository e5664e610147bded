"""Translates regular expressions of models to those of the search, or says what the search does not know.

They are Rust's (https://docs.rs/regex), with the letters and digits of ASCII, and signs that stand for themselves as in
``grep -E``: a brace that bounds nothing, and in brackets ``[``, ``&`` and ``~``.
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
_MEMBER = re.compile(r"\[:\w+:\]|\\.|.", re.DOTALL)
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\v\f\r "}
_ESCAPES = {
    **{letter: f"[{members}]" for letter, members in _CLASSES.items()},
    **{letter.upper(): f"[^{members}]" for letter, members in _CLASSES.items()},
    "t": r"\t",
    "r": r"\r",
}
_PLACES = {"b": r"(?-u:\b)", "B": r"\B"}


def to_linear(pattern: str) -> str:
    """The expression in the syntax of the search. ``$`` also matches before the carriage return of a CRLF.

    :raises ToolMistake: it holds something that the search does not know.
    """
    tokens = list(_TOKEN.finditer(pattern))
    if _measure(tokens) > _LARGEST:
        raise ToolMistake("The pattern repeats what repeats too often. Write * or + in place of {m,n}.")
    return "".join(map(_translate, tokens))


def _measure(tokens: Iterable[re.Match[str]]) -> int:
    """How many characters a pattern has with everything written out that a bound repeats, as the engine does."""
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
        return _PLACES.get(token["escape"]) or _escape(token["escape"])
    if token["members"] is not None:
        return f"[{token['negated']}{''.join(map(_member, _MEMBER.findall(token['members'])))}]"
    if token["group"] is not None and token["group"] != "(?:":
        raise _unknown(token["group"])
    if token["brace"] is not None:
        return r"\{"
    if token["bound"] is not None:
        return token["bound"].replace("{,", "{0,")
    return "\r?$" if token["end"] is not None else token[0]


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isascii() and character.isalnum():
        raise _unknown(f"\\{character}")
    return f"\\{character}" if character.isascii() else character


def _member(text: str) -> str:
    """A member of a bracket expression."""
    if len(text) == 2:
        return _escape(text[1])
    return f"\\{text}" if text in {"[", "]", "&", "~", "^"} else text


def _unknown(what: str) -> ToolMistake:
    return ToolMistake(
        f"The pattern holds {what!r}, which this search does not know: no look-around, backreferences, flags or"
        " character codes. Write a simpler pattern, or search a fixed text with fixed=true."
    )
