"""Decides which command lines an agent may run."""

import shlex
from dataclasses import dataclass
from fnmatch import fnmatchcase


def split_line(line: str) -> tuple[str, ...]:
    """The words of a command line, as a shell splits it; no shell takes part, so nothing else of it means anything.

    :raises ValueError: it names no program, or a quotation mark is not closed.
    """
    words = tuple(shlex.split(line))
    if not words or not words[0]:
        raise ValueError("names no program")
    return words


@dataclass(frozen=True)
class AllowedCommands:
    """The command lines that are allowed.

    :param globs: of lines whose words are quoted as ``shlex.join`` does; ``*`` matches anything.
    :param lines: further ones, each by itself.
    """

    globs: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.globs or self.lines)

    def permits(self, words: tuple[str, ...]) -> bool:
        """Whether these words may be run as a command."""
        if words in map(split_line, self.lines):
            return True
        line = shlex.join(words)
        return any(fnmatchcase(line, glob) for glob in self.globs)

    def __str__(self) -> str:
        return ", ".join(f"`{each}`" for each in (*self.globs, *self.lines))


def narrow_globs(began: tuple[str, ...], now: tuple[str, ...]) -> tuple[str, ...]:
    """The globs of command lines that are still allowed: those that are named now, or fall under one that is."""
    return tuple(each for each in began if any(each == wider or fnmatchcase(each, wider) for wider in now))
