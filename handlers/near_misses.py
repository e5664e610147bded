"""Says what a line that nearly begins with a command would command; such a line never acts (T-P6).

Its letters are those of a command but for one in ``/forge``. Between them and around them stand other marks, as of
emphasis or of a list, or none at all. What a person wrote so was meant, and silence helps nobody.
"""

import re
import unicodedata
from collections.abc import Iterator

from domain.text.escaping import strip_invisible
from domain.text.hidden_characters import fold_alike
from domain.verbs import VERBS

PREFIX = "/forge"
_LETTER = r"[^\W\d_]"


def _spell_nearly(word: str) -> Iterator[str]:
    """Patterns of the word itself and of each that one letter makes: missing, more, another or swapped."""
    for at, letter in enumerate(word):
        before, after = word[:at], word[at + 1 :]
        yield before + letter + after
        yield before + after
        yield before + _LETTER + after
        yield before + _LETTER + letter + after
        yield before + after[:1] + letter + after[1:]
    yield word + _LETTER


_SPELLINGS = "|".join(dict.fromkeys(_spell_nearly(PREFIX[1:])))
_NAMED = re.compile(f"/(?:{_SPELLINGS})", re.IGNORECASE)
_NEAR = re.compile(
    rf"\s*+(?:[-+*]\s|\d{{1,9}}[.)]\s)?+[\s*_]*+/(?:{_SPELLINGS})[\W_]*(?P<rest>(?:{'|'.join(VERBS)})(?:[\s*_].*)?)",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_SCRIPT = re.compile(rf"\s*{PREFIX}(?P<rest>[^\x00-\x7f]{{1,20}})", re.IGNORECASE)


def names_nearly(text: str) -> bool:
    """Whether ``/forge``, or what is nearly that, stands anywhere in a text."""
    return _NAMED.search(unify(text)) is not None


def complete(line: str) -> str | None:
    """The line with ``/forge`` and a blank in place of what nearly is that; None if it is a line like any other."""
    seen = unify(line)
    found = _NEAR.fullmatch(seen) or _OTHER_SCRIPT.fullmatch(seen)
    return None if found is None else f"{PREFIX} {found['rest'].rstrip(' *_')}"


def unify(text: str) -> str:
    """The text as it looks to people: plain blanks, slashes and letters, and nothing that cannot be seen."""
    return text if text.isascii() else fold_alike(unicodedata.normalize("NFKC", strip_invisible(text)))
