"""Finds the lines of blobs that match a pattern, in a process of its own, which is ended where that takes too long.

    python -I -S -c BOOT PATHS SETTINGS < NAMES OF BLOBS

The engine is Rust's (https://docs.rs/regex), which comes with pydantic. It never backtracks, and refuses what it could
not match so (look-around, backreferences), and a pattern that needs more than 10 MB. So a foreign pattern can cost it
time, but not all of the memory, nor corrupt it.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import IO

from pydantic_core import SchemaError, SchemaValidator, core_schema

BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from workspace.line_search import main; main(**json.loads(sys.argv[2]))"
)
BINARY_WITHIN = 8_000
"""The bytes in which a NUL makes a file binary; git looks into as many."""


def main(git: str, pattern: str, each: int) -> None:
    """Write ``{"found": [[place, matching lines, numbers of the first ones], …]}``, or ``{"mistake": why}``.

    :param git: path of the program; the environment names the repository, and stdin the blobs.
    :param pattern: in Rust's syntax; ``^`` and ``$`` are the ends of a line.
    :param each: how many numbers to tell of a blob.
    """
    try:
        is_match = _compile(pattern)
    except SchemaError as error:
        json.dump({"mistake": str(error).rpartition("rror: ")[2].strip().rstrip(".")}, sys.stdout)
        return
    with subprocess.Popen([git, "cat-file", "--batch"], stdout=subprocess.PIPE) as reading:
        assert reading.stdout is not None
        matches = ((place, list_lines(blob, is_match)) for place, blob in enumerate(_read_blobs(reading.stdout)))
        found = [[place, len(numbers), numbers[:each]] for place, numbers in matches if numbers]
    json.dump({"found": found}, sys.stdout)


def _compile(pattern: str) -> Callable[[str], bool]:
    """Whether a text has a match, and in one with several lines, perhaps one that crosses them.

    :raises SchemaError: the engine does not take it.
    """
    return SchemaValidator(
        core_schema.str_schema(pattern=f"(?m){pattern}", regex_engine="rust-regex")
    ).isinstance_python


def _read_blobs(stream: IO[bytes]) -> Iterator[bytes]:
    """The contents that ``git cat-file --batch`` prints.

    :raises ValueError: one is missing.
    """
    while header := stream.readline():
        content = stream.read(int(header.split(b" ")[2]))
        stream.read(1)
        yield content


def list_lines(content: bytes, is_match: Callable[[str], bool]) -> list[int]:
    """The numbers of the lines that match; none of a binary file."""
    if not content or b"\0" in content[:BINARY_WITHIN]:
        return []
    text = content.decode("utf-8", "replace")
    if not is_match(text):
        return []
    return [number for number, line in enumerate(text.removesuffix("\n").split("\n"), 1) if is_match(line)]
