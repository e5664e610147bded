"""The kinds of values in ``.github/forge.yml``: durations, globs, commands, names and numbers, each with its bounds."""

import re
import shlex
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from domain import globs
from domain.value import Value

LONGEST_WAIT = timedelta(days=30)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def parse_duration(text: str) -> timedelta:
    """Parses a duration such as ``30m``, ``24h`` or ``7d``."""
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
        words: list[object] = value  # pyright: ignore[reportUnknownVariableType]
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
