"""Asks a model what a pull request does: its title and description, a walk through it, and answers about its code."""

from collections.abc import Iterator, Mapping, Sequence

from agents.llm.ask import Question
from agents.loop.loop import Agent, list_found, list_read
from agents.loop.tools.files import make_file_tools
from agents.loop.turns import Assignment, CompletedTurn
from agents.prompts import build_question, flatten_markdown, frame_data, load_prompt
from agents.review.model.file_selection import FileSelection, ReadingLimits, is_only_text, select_files
from domain import globs
from domain.globs import matches
from domain.paths import clean_name
from domain.review.changes import Change, FileVersions
from domain.review.reading import Outline
from domain.text.description import split_sections
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from domain.value import Value
from messages.descriptions import ExplainedFile, ExplainedPart
from workspace.snapshot import Snapshot

KEY = "asked question "
"""The prefix of these assignments' keys."""
MOST_TURNS = 8
_WORDS = 1_000  # characters of the question
_MOST_PLACES = 10
_LAST_LINE = 10_000_000

_SEAM = ReadingLimits(question=8_000, questions=6)  # of a seam, and how many are read
_TITLE = 300  # characters
_MOST_PARTS, _MOST_FILES_OF_PART = 10, 12  # of a walk; of a part of it

_BODY, _TEMPLATE, _ISSUE, _LINE = 8_000, 6_000, 3_000, 300  # characters
_MOST_FILES, _MOST_COMMITS = 100, 50


class DescribedChange(Value):
    """What a description is written from; all of it untrusted.

    :param title: as it is; :param body: the description as it is, without what Forge wrote in it.
    :param template: of the repository; empty if there is none.
    :param issue: the text of the issue that the pull request closes; empty if it closes none.
    :param commits: the first lines of its commits, oldest first.
    """

    title: str
    body: str
    template: str
    issue: str
    commits: tuple[str, ...]


class DraftedSection(Value):
    """A section of the model's description."""

    heading: str = ""
    text: str


class DraftedDescription(Value):
    """The model's title and description."""

    title: str
    sections: list[DraftedSection] = []


def build_description_question(key: str, about: DescribedChange, change: Change, never_send: Sequence[str]) -> Question:
    """Asks for the description of a change.

    :param never_send: globs of files that a model must not see.
    """
    sections = [section.name for section in split_sections(about.template) if section.name]
    parts = [
        "== title now",
        f"> {flatten_markdown(about.title, _LINE)}",
        *_quote("== description now, which stays", about.body, _BODY),
        *_quote("== template", about.template, _TEMPLATE),
        "== sections to write",
        *([f"- {name}" for name in sections] or ["- (one, without a heading)"]),
        *_quote("== the issue that it closes", about.issue, _ISSUE),
        "== commits",
        *(f"- {flatten_markdown(subject, _LINE)}" for subject in about.commits[-_MOST_COMMITS:]),
        "== files",
        *(f"- {clean_name(path)}" for path in change.paths[:_MOST_FILES] if not matches(path, never_send)),
        "== diff",
        *_render_diff(change, never_send, tokens=12_000),
    ]
    return build_question(key, "describe", parts, 2_500)


def _render_diff(change: Change, never_send: Sequence[str], *, tokens: int) -> list[str]:
    """As much of a change as fits into one question."""
    size, texts = ReadingLimits(question=tokens, questions=1, context=0, least_context=0), is_only_text(change)
    reading = select_files(change, {}, withheld={}, never_send=never_send, size=size, texts=texts)
    return [shown.text for group in reading.groups for shown in group]


def _quote(heading: str, text: str, most: int) -> list[str]:
    """A text of several lines, none of which looks like a heading of the question."""
    lines = strip_invisible(text)[:most].strip().split("\n")
    return [heading, *(f"> {line}" for line in lines)] if text.strip() else []


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
    change: Change, versions: Mapping[str, FileVersions], outlines: Mapping[str, Outline], never_send: Sequence[str]
) -> FileSelection:
    """What is read of a change, cut where it hangs together.

    :param versions: path at head → both versions of the changed files.
    :param outlines: path → what surrounds its changed lines.
    :param never_send: globs of files that a model must not see.
    """
    only_text = is_only_text(change)
    return select_files(
        change, versions, withheld={}, never_send=never_send, size=_SEAM, outlines=outlines, texts=only_text
    )


def build_walk_question(key: str, title: str, reading: FileSelection) -> Question:
    """Asks for the walk.

    :param title: of the pull request, untrusted.
    """
    parts = ["== title", f"> {flatten_markdown(title, _TITLE)}"]
    for number, group in enumerate(reading.groups, 1):
        parts += [f"== seam {number}", *(shown.text for shown in group)]
    return build_question(key, "walkthrough", parts, 4_000)


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
    for file in part.files[:_MOST_FILES_OF_PART]:
        if file.path not in lines:
            continue
        within = [line for line in lines[file.path] if file.first_line <= line <= file.last_line]
        shown = within or lines[file.path]
        first, last = (min(shown), max(shown)) if shown else (0, 0)
        yield ExplainedFile(file.path, first, last, file.why)


class Place(Value):
    """A line of a file."""

    path: str
    line: int


class CodeAnswer(Value):
    """The model's report."""

    answer: str
    places: list[Place] = []


def build_agent(snapshot: Snapshot, never_send: Sequence[str]) -> Agent[CodeAnswer]:
    """The agent, which can read the code of a snapshot.

    :param never_send: globs of files that a model must not see.
    """
    return Agent(CodeAnswer, make_file_tools(snapshot, never_send=never_send), _find_mistake)


def build_assignment(
    key: str, words: str, about: Sequence[str], change: Change | None, never_send: Sequence[str]
) -> Assignment:
    """The question, framed as data.

    :param key: names the question in its phase.
    :param words: the question, as untrusted Markdown.
    :param about: lines that say what it is about: see :mod:`agents.replies`.
    :param change: of the pull request; None in an issue.
    """
    parts = ["== question", f"> {flatten_markdown(words, _WORDS)}", *about]
    if change is not None:
        parts += ["== what the pull request changes", *_render_diff(change, never_send, tokens=6_000)]
    content = frame_data(redact_outgoing("\n".join(parts)))
    return Assignment(
        key=f"{KEY}{key}",
        instructions=load_prompt("ask"),
        content=content,
        max_output_tokens=2_000,
        window=40_000,
    )


def list_places(
    answer: CodeAnswer,
    past: Sequence[CompletedTurn],
    change: Change | None,
    snapshot: Snapshot,
    never_send: Sequence[str],
) -> list[Place]:
    """Where the answer says it shows, then the files that were read; only what it was shown and may be shown."""
    named = {path: Place(path=path, line=line) for path, line in reversed(list(list_read(past)))}
    shown = {*named, *list_found(past, "grep"), *(() if change is None else change.paths)} & set(snapshot.files)
    said = [place for place in answer.places if place.path in shown and 1 <= place.line <= _LAST_LINE]
    known = {place.path for place in said}
    read = [place for path, place in reversed(named.items()) if path in shown and path not in known]
    every = [place for place in (*said, *read) if not globs.matches(place.path, never_send)]
    return list({(place.path, place.line): place for place in every}.values())[:_MOST_PLACES]


def _find_mistake(answer: CodeAnswer) -> str | None:
    return None if answer.answer.strip() else "The answer is empty."
