"""The conventions of a repository: reads them from one commit, and writes down those that concern some files."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agents.llm.prices import estimate
from domain.config.sections import ReviewSettings
from domain.globs import find_mistake, matches
from domain.paths import clean_name
from domain.review.changes import SkippedFile
from domain.review.reading import ConventionFile, Conventions
from domain.text.credential_shapes import find_key_lines
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from workspace.git import TooLarge
from workspace.objects import Objects

_LONGEST_LINE = 1_000  # characters
_OF_THEIR_FOLDER = frozenset({"agents.md", "claude.md"})
_OF_SOME_FILES = (".mdc", ".instructions.md")  # they say at their top of which
_FRONT = re.compile(r"---[ \t]*\n(?P<keys>.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY = re.compile(r"^(?P<key>applyTo|globs|alwaysApply)[ \t]*:(?P<value>.*(?:\n[ \t]*-.*)*)", re.MULTILINE)
_PATTERN = re.compile(r"(?:[^,\s\"'\[\]{}]|\{[^{}]*\})+")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_EVERY = ("**",)


@dataclass(frozen=True)
class ConventionText:
    """A file of conventions.

    :param home: the folder that it is about, with a slash at its end; empty: the whole repository.
    :param globs: of the files below ``home`` that it is about.
    :param lines: the number and the text of each line that is not empty.
    """

    path: str
    home: str
    globs: tuple[str, ...]
    lines: tuple[tuple[int, str], ...]

    @property
    def is_general(self) -> bool:
        """Whether it is about every file of the repository."""
        return not self.home and self.globs == _EVERY

    def covers(self, path: str) -> bool:
        """Whether it is about a file."""
        below = path.removeprefix(self.home)
        return path.startswith(self.home) and (matches(below, self.globs) or matches(path, self.globs))


def find_home(path: str) -> str:
    """The folder that a file of conventions is about: its own for AGENTS.md, that of its hidden folder, else the root.

    :returns: with a slash at its end; empty for the root.
    """
    *folders, name = path.split("/")
    hidden = next((index for index, folder in enumerate(folders) if folder.startswith(".")), None)
    if hidden is None:
        hidden = len(folders) if name.lower() in _OF_THEIR_FOLDER else 0
    return "".join(f"{folder}/" for folder in folders[:hidden])


def parse(path: str, content: bytes) -> ConventionText | None:
    """Reads a file of conventions; None if it is not in UTF-8.

    What a page would not show, such as comments, is left out, and so are credentials.
    """
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    globs = _EVERY
    if path.endswith(_OF_SOME_FILES):
        front = _FRONT.match(text)
        globs = () if front is None else tuple(_list_globs(front["keys"]))
        text = text if front is None else _blank(front) + text[front.end() :]
    lines = _COMMENT.sub(_blank, text).split("\n")
    keys = find_key_lines(lines)
    shown = ((number, _clean(line)) for number, line in enumerate(lines, 1) if number not in keys)
    return ConventionText(path, find_home(path), globs, tuple((number, line) for number, line in shown if line))


def _list_globs(front: str) -> Iterator[str]:
    """The patterns that the top of a file names; a name without a folder counts in every folder."""
    for found in _KEY.finditer(front):
        if found["key"] == "alwaysApply":
            yield from _EVERY if found["value"].strip() == "true" else ()
            continue
        value = re.sub(r"^\s*-", " ", found["value"], flags=re.MULTILINE)
        for pattern in _PATTERN.findall(value):
            wanted = pattern if "/" in pattern or pattern == "**" else f"**/{pattern}"
            yield from () if find_mistake(wanted) else (wanted,)


def _blank(found: re.Match[str]) -> str:
    """As many line breaks as what is left out has, so that numbers stay."""
    return "\n" * found[0].count("\n")


def _clean(line: str) -> str:
    return redact_outgoing(strip_invisible(line).replace("\n", " ").rstrip())[:_LONGEST_LINE]


_EACH, _TOGETHER = 2_000, 4_000  # tokens, as `agents.llm.prices.estimate` counts them
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
        yield f"== {clean_name(file.path)} (conventions of the repository)"
        yield from (f"{number} {text}" for number, text in file.lines)
        if file.cut:
            yield f"… {file.cut:,} more lines are left out"


def render_elsewhere(conventions: Conventions) -> Iterator[str]:
    """The names of conventions that are about other files, for whoever can read them."""
    if conventions.elsewhere:
        yield "== more conventions, each about files of its own"
        yield from (f"- {clean_name(path)}" for path in conventions.elsewhere[:_NAMED])
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


_MOST_FILES = 100
_NOT_SENT = "not sent to a model (review.never_send)"
_NOT_TEXT = "it is not in UTF-8"
_TOO_LARGE = "it has a megabyte or more"
_TOO_MANY = f"there are {_MOST_FILES} nearer ones, which is the most that is read"


async def read_conventions(
    code: Objects, commit: str, paths: Collection[str], review: ReviewSettings
) -> WrittenConventions:
    """The conventions that a commit holds, as far as `review.instructions` names them.

    :param commit: of the default branch, so that a change of them counts once it is merged.
    :param paths: files that they may be about, beside the whole repository.
    :raises CodeAccessError: the commit cannot be read.
    """
    if not review.instructions:
        return NOTHING_WRITTEN
    try:
        named = [path for path in await code.list_files(commit) if matches(path, review.instructions)]
        near = _sort([path for path in named if _may_cover(path, paths)], review)
        sendable = [path for path in near if not matches(path, review.never_send)]
        contents = await code.read(commit, sendable[:_MOST_FILES])
    except TooLarge:
        return WrittenConventions(problem="The repository has too many files to look for conventions.")
    parsed = {path: parse(path, content) for path, content in contents.items()}
    texts = {path: text for path, text in parsed.items() if text is not None}
    reasons = dict.fromkeys(near, _NOT_SENT)
    reasons |= dict.fromkeys(sendable, _TOO_MANY) | dict.fromkeys(sendable[:_MOST_FILES], _TOO_LARGE)
    reasons |= dict.fromkeys(parsed, _NOT_TEXT)
    return WrittenConventions(
        texts=tuple(texts[path] for path in near if path in texts),
        elsewhere=tuple(sorted(set(named).difference(near))),
        left_out=tuple(SkippedFile(path=path, reason=reasons[path]) for path in near if path not in texts),
    )


def _may_cover(path: str, paths: Collection[str]) -> bool:
    """Whether a file of conventions is about a folder with one of these paths, or about all folders."""
    home = find_home(path)
    return not home or any(each.startswith(home) for each in paths)


def _sort(paths: Sequence[str], review: ReviewSettings) -> list[str]:
    """The nearest first: those about the deepest folders; then in the order in which the configuration names them."""

    def rank(path: str) -> tuple[int, int, str]:
        order = next(index for index, glob in enumerate(review.instructions) if matches(path, (glob,)))
        return -find_home(path).count("/"), order, path

    return sorted(paths, key=rank)
