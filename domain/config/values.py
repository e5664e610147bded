"""The kinds of values in ``.github/forge.yml``, each with its bounds, and mistakes in it with their places."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from domain import globs
from domain.text.escaping import escape
from domain.value import Value

MAX_MISTAKES = 20
"""The most mistakes reported for one file."""


LONGEST_WAIT = timedelta(days=30)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def parse_duration(text: str) -> timedelta:
    """Parses a duration such as ``30m``, ``24h`` or ``7d``; people may type ``2w``, too."""
    return timedelta(**{_UNITS[text[-1]]: int(text[:-1])})


def _check_duration(text: str) -> str:
    if parse_duration(text) > LONGEST_WAIT:
        raise ValueError(f"is longer than {LONGEST_WAIT.days} days")
    return text


def _check_glob(pattern: str) -> str:
    wrong = globs.find_mistake(pattern)
    if wrong is not None:
        raise ValueError(wrong)
    return pattern


def _join_words(value: object) -> object:
    """A command as one line; quotes a list of words so that splitting gives them back."""
    if isinstance(value, list):
        words: list[object] = value
        if not words or not all(isinstance(word, str) for word in words):
            raise ValueError("is not a list of words")
        if any(map(str.isspace, str(words[0]))):
            raise ValueError(
                "is a list of the words of one command, and the first has a space in it; write the command as one "
                "text, or each word as an entry, and several commands as `sh -c 'one && two'`"
            )
        return shlex.join(map(str, words))
    return value


def _check_command(line: str) -> str:
    if _CONTROL.search(line):
        raise ValueError("contains a line break or another control character; write one command on one line")
    try:
        words = shlex.split(line)
    except ValueError:
        raise ValueError("has a quotation mark that is not closed") from None
    if not words or not words[0]:
        raise ValueError("names no program")
    return line


Glob = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    AfterValidator(_check_glob),
    Field(examples=["src/**", "**/*.lock"]),
]
Globs = Annotated[tuple[Glob, ...], Field(max_length=200)]
CommandLine = Annotated[
    str,
    StringConstraints(min_length=1, max_length=500),
    AfterValidator(_check_command),
    BeforeValidator(_join_words),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": 500},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        }
    ),
]
CommandGlobs = Annotated[
    tuple[
        Annotated[
            str,
            StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$"),
            Field(examples=["python *", "npm run generate"]),
        ],
        ...,
    ],
    Field(max_length=100),
]
Duration = Annotated[
    str,
    StringConstraints(pattern=r"^[1-9][0-9]{0,4}[mhd]$"),
    AfterValidator(_check_duration),
    Field(examples=["30m", "24h"]),
]
BotName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}(\[bot\])?$"),
    Field(examples=["dependabot", "renovate"]),
]
AccountName = Annotated[
    str,
    StringConstraints(pattern=r"^@?[A-Za-z0-9][A-Za-z0-9-]{0,38}(/[A-Za-z0-9._-]{1,100})?$"),
    Field(examples=["octocat", "acme/architects"]),
]
LinterName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,29}$"), Field(examples=["eslint"])]
GateName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$"), Field(examples=["large_change"])]
Label = Annotated[str, StringConstraints(min_length=1, max_length=50, pattern=r"^[^\x00-\x1f,]+$")]
Dollars = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]
Calls = Annotated[int, Field(ge=1, le=200)]
Minutes = Annotated[int, Field(ge=1, le=1440)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Level = Annotated[int, Field(ge=0, le=4)]


class Section(Value):
    """A part of the configuration; unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, order=True)
class Mistake:
    """A mistake at a place in the file.

    :param line: 1-based, as GitHub counts them.
    :param column: 1-based, in characters.
    :param path: the keys that lead there, such as ``review.linters[0].run``; empty for the file itself.
    :param what: completes a sentence after the path, without full stop: ``is not a key here``.
    :param allowed: what is allowed there, in a few words; may be empty.
    :param nearest: the closest valid key or value.
    """

    line: int
    column: int
    path: str
    what: str
    allowed: str = ""
    nearest: str = ""

    @property
    def brief(self) -> str:
        """The mistake and a suggestion, as Markdown."""
        subject = f"`{_flat(self.path)}`" if self.path else "The file"
        guess = f" Did you mean `{self.nearest}`?" if self.nearest else ""
        return f"{subject} {self.what}.{guess}"

    @property
    def sentence(self) -> str:
        """The whole sentence, as Markdown."""
        return self.brief + (f" Allowed: {self.allowed}." if self.allowed else "")


class Contradiction(NamedTuple):
    """A mistake that no single value shows, or a key without effect; its place in the file is not known yet.

    :param path: the keys that lead to the place, list positions included.
    :param nearest: the closest valid key or value.
    """

    path: tuple[str | int, ...]
    what: str
    allowed: str
    nearest: str = ""


def count_in_words(mistakes: Sequence[Mistake]) -> str:
    """How many there are, in words."""
    count = len(mistakes)
    return f"{count} or more mistakes" if count >= MAX_MISTAKES else "1 mistake" if count == 1 else f"{count} mistakes"


def render_table(mistakes: Sequence[Mistake]) -> str:
    """Each with its line, as Markdown."""
    rows = [f"| {mistake.line} | {escape(mistake.sentence)} |" for mistake in mistakes]
    return "\n".join(["| line | what is wrong |", "| --- | --- |", *rows])


def to_dotted_path(place: tuple[str | int, ...]) -> str:
    """A place as people write it: ``review.linters[0].run``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")


def _flat(text: str) -> str:
    """Text that stays within its inline code."""
    return " ".join(text.split()).replace("`", "'")
