"""Chooses the conventions that a model is shown for some files, the nearest first, and writes them down for it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from agents.llm.tokens import estimate
from agents.prompts.conventions.texts import ConventionText
from domain.review.changes import SkippedFile
from domain.review.conventions import ConventionFile, Conventions
from domain.text.escaping import strip_invisible

_EACH, _TOGETHER = 2_000, 4_000  # tokens, as `agents.llm.tokens.estimate` counts them
_NAMED = 20  # paths of conventions for other files that are named
_NO_ROOM = "no room beside nearer ones"
_SAME = "it says the same as {}"


@dataclass(frozen=True)
class WrittenConventions:
    """The files of conventions of a repository.

    :param texts: the nearest first.
    :param elsewhere: paths of more, which are about other folders.
    :param left_out: those that cannot be read, and why.
    :param problem: why none can be read, if so.
    """

    texts: tuple[ConventionText, ...] = ()
    elsewhere: tuple[str, ...] = ()
    left_out: tuple[SkippedFile, ...] = ()
    problem: str = ""


NOTHING_WRITTEN = WrittenConventions()


def choose(written: WrittenConventions, paths: Collection[str]) -> Conventions:
    """The conventions for some files, as far as there is room.

    :param paths: the files; none: only what is about the whole repository.
    """
    near = [each for each in written.texts if each.is_general or any(map(each.covers, paths))]
    files: list[ConventionFile] = []
    skipped: list[SkippedFile] = []
    said: dict[tuple[str, ...], str] = {}
    room = _TOGETHER
    for each in near:
        words = tuple(text for _, text in each.lines)
        if words in said:
            skipped.append(SkippedFile(path=each.path, reason=_SAME.format(said[words])))
            continue
        said[words] = each.path
        shown = _cut(each, min(room, _EACH))
        room -= sum(_weigh(line) for line in shown.lines)
        if shown.lines:
            files.append(shown)
        elif shown.cut:
            skipped.append(SkippedFile(path=each.path, reason=_NO_ROOM))
    others = tuple(each.path for each in written.texts if each not in near)
    return Conventions(
        files=tuple(files), elsewhere=(*others, *written.elsewhere), left_out=(*written.left_out, *skipped)
    )


def render_conventions(conventions: Conventions) -> Iterator[str]:
    """The conventions as a part of what a model is shown, to be framed as data.

    Each line begins with its number, so that none looks like a heading.
    """
    for file in conventions.files:
        yield f"== {_name(file.path)} (conventions of the repository)"
        yield from (f"{number} {text}" for number, text in file.lines)
        if file.cut:
            yield f"… {file.cut:,} more lines are left out"


def render_elsewhere(conventions: Conventions) -> Iterator[str]:
    """The names of conventions that are about other files, for whoever can read them."""
    if conventions.elsewhere:
        yield "== more conventions, each about files of its own"
        yield from (f"- {_name(path)}" for path in conventions.elsewhere[:_NAMED])
        if len(conventions.elsewhere) > _NAMED:
            yield f"… and {len(conventions.elsewhere) - _NAMED:,} more"


def _cut(text: ConventionText, most: int) -> ConventionFile:
    """The first lines of a file that fit."""
    lines: list[tuple[int, str]] = []
    for line in text.lines:
        most -= _weigh(line)
        if most < 0:
            break
        lines.append(line)
    return ConventionFile(path=text.path, lines=tuple(lines), cut=len(text.lines) - len(lines))


def _weigh(line: tuple[int, str]) -> int:
    return estimate(line[1]) + 2  # its number


def _name(path: str) -> str:
    return " ".join(strip_invisible(path).split())[:300]
