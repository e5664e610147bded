"""A place where a credential stands in text, and what is found there."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple


class Credential(NamedTuple):
    """A credential in a text.

    :param kind: its name for people.
    :param start: where it begins, as characters of the text.
    :param end: where it ends.
    :param value: the credential itself, decoded.
    :param drawn: whether it is hard to guess, as what a machine drew; a password of words is not.
    :param literal: whether it is no expression even in code: it has quotes, or its place is not one of code.
    """

    kind: str
    start: int
    end: int
    value: str
    drawn: bool
    literal: bool = True


@dataclass(frozen=True, slots=True)
class CredentialPlace:
    """A place where a credential stands.

    :param hints: lower-case texts, one of which is in every text with a match.
    :param needs: a lower-case text that is rarer, and in every match, too.
    :param starts: where a match may start, in a text in lower case. Much quicker than trying everywhere without case.
    :param read: the credential in a match, or nothing.
    """

    hints: tuple[str, ...]
    starts: re.Pattern[str]
    expression: re.Pattern[str]
    read: Callable[[re.Match[str]], Credential | None]
    needs: str = ""

    def find(self, text: str) -> Iterator[Credential]:
        """The credentials at this place, from the first on."""
        low = fold_case(text)
        if self.needs not in low:
            return
        ended = 0
        for start in self.starts.finditer(low):
            match = self.expression.match(text, start.start()) if start.start() >= ended else None
            if match and (found := self.read(match)):
                ended = found.end
                yield found


@lru_cache(maxsize=1)
def fold_case(text: str) -> str:
    """A text in lower case, of the same length; what an expression takes for a letter of ASCII becomes one."""
    return text.replace("İ", "i").replace("ı", "i").replace("ſ", "s").lower()
