"""Judges a line that the second look quotes: whether it is code that was shown, and where that stands."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agents.review.model.answers import squash

CANDIDATES = "== candidates"
"""The heading below which a question lists what is to be judged; nothing there is evidence."""

_SHOWN = re.compile(r"(?P<sign>-|\d+[+> ])(?P<code>.*)")
_SIGNS = re.compile(r"^(\d+[+> ]|[-+>])\s*")
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_LEAST_PART = 12  # characters of a part of a line that count as the line
_KEYWORDS = frozenset(
    [
        "and",
        "break",
        "case",
        "class",
        "const",
        "continue",
        "def",
        "default",
        "else",
        "end",
        "false",
        "final",
        "for",
        "from",
        "func",
        "function",
        "if",
        "import",
        "int",
        "let",
        "new",
        "nil",
        "none",
        "not",
        "null",
        "private",
        "protected",
        "public",
        "return",
        "self",
        "static",
        "string",
        "this",
        "true",
        "type",
        "var",
        "void",
        "while",
    ]
)


@dataclass(frozen=True)
class ShownCode:
    """The code in a question of the second look, line by line without numbers and signs.

    :param changed: lines that the change adds, moves or removes.
    :param unchanged: all others.
    """

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]

    @classmethod
    def of(cls, content: str, heading: str = CANDIDATES) -> "ShownCode":
        """:param content: of the question.
        :param heading: of the part that is no evidence.
        """
        lines = content.rpartition(f"\n{heading}\n")[0].split("\n")  # the last: a file may have this name
        found = [match for line in lines if (match := _SHOWN.match(line)) is not None]
        is_unchanged = [match["sign"].endswith(" ") for match in found]
        code = [squash(match["code"]) for match in found]
        pairs = list(zip(code, is_unchanged, strict=True))
        return cls(tuple(line for line, same in pairs if not same), tuple(line for line, same in pairs if same))

    def holds(self, quote: str) -> bool:
        """Whether the quoted line is shown."""
        return _is_among(quote, (*self.changed, *self.unchanged))

    def holds_outside(self, quote: str) -> bool:
        """Whether the quoted line is one that the change leaves alone, and names something that a changed line does.

        That is what a caller's line looks like.
        """
        names = {name for line in self.changed for name in _NAME.findall(line)}
        named = {name for name in _NAME.findall(quote) if name.lower() not in _KEYWORDS}
        return bool(names & named) and _is_among(quote, self.unchanged)


def _is_among(quote: str, lines: Iterable[str]) -> bool:
    first = squash(next((line for line in quote.split("\n") if line.strip()), ""))
    wanted = {text for text in (first, _SIGNS.sub("", first)) if re.search(r"\w", text)}
    parts = {text for text in wanted if len(text) >= _LEAST_PART}
    return any(line in wanted or any(part in line for part in parts) for line in lines)
