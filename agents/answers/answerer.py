"""Answers a person's question about the code of a pull request: an agent that can only read."""

from collections.abc import Sequence

from agents.loop.loop import Agent, list_found, list_read
from agents.loop.tools.files import make_file_tools
from agents.loop.turns import Assignment, CompletedTurn
from agents.prompts import load_prompt
from agents.review.model.file_selection import ReadingLimits, is_only_text, select_files
from agents.review.model.questions import flatten_markdown, frame_data
from domain import globs
from domain.review.changes import Change
from domain.text.redaction import Redact
from domain.value import Value
from workspace.snapshot import Snapshot

KEY = "asked question "
"""The prefix of these assignments' keys."""

MOST_TURNS = 8
_WORDS = 1_000  # characters of the question
_SIZE = ReadingLimits(question=6_000, questions=1, context=0, least_context=0)  # of the diff
_MOST_PLACES = 10
_LAST_LINE = 10_000_000


class Place(Value):
    """A line of a file."""

    path: str
    line: int


class CodeAnswer(Value):
    """The model's report."""

    answer: str
    places: list[Place] = []


def build_agent(snapshot: Snapshot, never_send: Sequence[str], redact: Redact) -> Agent[CodeAnswer]:
    """The agent, which can read the code of a snapshot.

    :param never_send: globs of files that a model must not see.
    :param redact: removes credentials from a text.
    """
    return Agent(CodeAnswer, make_file_tools(snapshot, never_send=never_send, redact=redact), _find_mistake)


def build_assignment(
    key: str, words: str, about: Sequence[str], change: Change | None, never_send: Sequence[str], redact: Redact
) -> Assignment:
    """The question, framed as data.

    :param key: names the question in its phase.
    :param words: the question, as untrusted Markdown.
    :param about: lines that say what it is about: see :mod:`agents.answers.reply_reader`.
    :param change: of the pull request; None in an issue.
    """
    parts = ["== question", f"> {flatten_markdown(words, _WORDS)}", *about]
    if change is not None:
        reading = select_files(
            change, {}, withheld={}, never_send=never_send, redact=redact, size=_SIZE, texts=is_only_text(change)
        )
        parts += ["== what the pull request changes"]
        parts += [shown.text for group in reading.groups for shown in group]
    content = frame_data(redact("\n".join(parts)))
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
