"""GraphQL's documents and errors. Errors come with status 200 and become errors of ``domain.errors``.

RATE_LIMITED                     a rate limit, for the caller to wait out
NOT_FOUND                        NotFound
FORBIDDEN INSUFFICIENT_SCOPES    Forbidden
no type, and "went wrong"        Unavailable    GitHub's words for its own failure
everything else                  Unprocessable
"""

import re
from dataclasses import dataclass
from typing import Literal

from bot.github.errors import bad_answer, quote
from bot.github.limits import Limit
from bot.github.payloads.parsing import parse
from domain.errors import CodeHostError, Forbidden, NotFound, Unavailable, Unprocessable
from domain.value import Value

_KINDS: dict[str, type[CodeHostError]] = {
    "NOT_FOUND": NotFound,
    "FORBIDDEN": Forbidden,
    "INSUFFICIENT_SCOPES": Forbidden,
}
_ADVICE: dict[type[CodeHostError], str] = {
    NotFound: "It was deleted, or the App has no access to it.",
    Forbidden: "Check the App's permissions and whether the owner accepted them.",
}
_OWN_FAILURE = re.compile(r"went wrong|timed? ?out|timeout|try again", re.IGNORECASE)


@dataclass(frozen=True)
class Document:
    """One GraphQL operation; values are passed as variables, never written into it."""

    kind: Literal["query", "mutation"]
    body: str

    @property
    def text(self) -> str:
        return f"{self.kind} {self.body}"

    @property
    def is_mutation(self) -> bool:
        return self.kind == "mutation"


class _Error(Value):
    message: str = ""
    type: str = ""


class _Answer(Value):
    errors: tuple[_Error, ...] = ()


def address(api_url: str) -> str:
    """The address of GraphQL: ``https://api.github.com/graphql``; on Enterprise Server, ``https://HOST/api/graphql``."""
    return f"{api_url.removesuffix('/v3')}/graphql"


def to_error(answer: object, purpose: str) -> CodeHostError | Limit:
    """The error or the rate limit that an answer reports."""
    try:
        errors = parse(_Answer, answer, purpose).errors
    except Unavailable as error:
        return error
    for error in errors:
        if error.type == "RATE_LIMITED":
            return Limit(quote(error.message), None)
    return _to_error(errors[0], purpose) if errors else bad_answer(purpose, "neither data nor errors")


def _to_error(error: _Error, purpose: str) -> CodeHostError:
    kind = _KINDS.get(error.type, Unprocessable)
    if not error.type and _OWN_FAILURE.search(error.message):
        kind = Unavailable
    said = quote(error.message) or error.type or "no reason given"
    return kind(f"Could not {purpose}: GitHub answered {said}.", _ADVICE.get(kind, ""))
