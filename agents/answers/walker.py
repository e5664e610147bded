"""Asks a model to explain a pull request in the order to read it, and keeps only what is in the change."""

from collections.abc import Iterator, Mapping, Sequence

from agents.llm.ask import Question
from agents.prompts import load_prompt
from agents.review.model.file_selection import FileSelection, ReadingLimits, is_only_text, select_files
from agents.review.model.questions import flatten_markdown, frame_data
from domain.review.changes import Change, FileVersions
from domain.review.reading import Outline
from domain.text.redaction import Redact
from domain.value import Value
from messages.descriptions import ExplainedFile, ExplainedPart

_SIZE = ReadingLimits(question=8_000, questions=6)  # of a seam, and how many are read
_TITLE = 300  # characters
_MOST_PARTS, _MOST_FILES = 10, 12  # of a walk; of a part of it


class WalkedFile(Value):
    """A file as the model names it; lines of 0 stand for all of them."""

    path: str
    first_line: int = 0
    last_line: int = 0
    why: str = ""


class WalkedPart(Value):
    """One part of the model's walk."""

    title: str
    what: str
    files: list[WalkedFile] = []
    hardest: str = ""


class DraftedWalk(Value):
    """The model's walk through a change."""

    parts: list[WalkedPart]


def select_seams(
    change: Change,
    versions: Mapping[str, FileVersions],
    outlines: Mapping[str, Outline],
    never_send: Sequence[str],
    redact: Redact,
) -> FileSelection:
    """What is read of a change, cut where it hangs together.

    :param versions: path at head → both versions of the changed files.
    :param outlines: path → what surrounds its changed lines.
    :param never_send: globs of files that a model must not see.
    :param redact: removes credentials from a text.
    """
    only_text = is_only_text(change)
    return select_files(
        change,
        versions,
        withheld={},
        never_send=never_send,
        redact=redact,
        size=_SIZE,
        outlines=outlines,
        texts=only_text,
    )


def build_question(key: str, title: str, reading: FileSelection, redact: Redact) -> Question:
    """Asks for the walk.

    :param title: of the pull request, untrusted.
    """
    parts = ["== title", f"> {flatten_markdown(title, _TITLE)}"]
    for number, group in enumerate(reading.groups, 1):
        parts += [f"== seam {number}", *(shown.text for shown in group)]
    content = frame_data(redact("\n".join(parts)))
    return Question(key=key, instructions=load_prompt("walkthrough"), content=content, max_output_tokens=4_000)


def list_parts(walk: DraftedWalk, reading: FileSelection) -> list[ExplainedPart]:
    """The parts with the files that the model was shown; what it invented is dropped, and each file stands once."""
    lines: dict[str, list[int]] = {}
    for shown in (shown for group in reading.groups for shown in group):
        lines.setdefault(shown.path, []).extend(shown.lines)
    named: set[tuple[str, int, int]] = set()
    parts: list[ExplainedPart] = []
    for part in walk.parts[:_MOST_PARTS]:
        files = [each for each in _list_files(part, lines) if each.key not in named]
        named |= {each.key for each in files}
        if files:
            parts.append(ExplainedPart(part.title, part.what, tuple(files), part.hardest))
    return parts


def _list_files(part: WalkedPart, lines: Mapping[str, Sequence[int]]) -> Iterator[ExplainedFile]:
    """The files of a part, with the lines that the model named where the change has any of them."""
    for file in part.files[:_MOST_FILES]:
        if file.path not in lines:
            continue
        within = [line for line in lines[file.path] if file.first_line <= line <= file.last_line]
        shown = within or lines[file.path]
        first, last = (min(shown), max(shown)) if shown else (0, 0)
        yield ExplainedFile(file.path, first, last, file.why)
