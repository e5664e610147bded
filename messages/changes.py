"""Shows what agents did: the commits of Forge's own for `/forge diff`, and what was tried in a run, turn by turn."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from domain.review.changes import Change, FileChange, Hunk
from domain.text.escaping import code_block, escape, inline_code, inline_path

MOST = 20
"""Turns that are shown, the newest ones."""


MOST_COMMITS = 20
LONGEST_DIFF = 16_000  # characters; GitHub takes 65,536 for the whole comment
_MOST_FILES = 20  # of one commit
_LONGEST_LINE = 500


@dataclass(frozen=True)
class OwnCommit:
    """A commit that Forge pushed, and what it changed in its parent."""

    sha: str
    subject: str
    change: Change


@dataclass(frozen=True)
class OwnChanges:
    """What Forge changed in a pull request.

    :param commits: oldest first, at most ``MOST_COMMITS``.
    :param more: commits of Forge's that are not among them.
    :param unknown: commits that bear Forge's name and that it did not push.
    """

    commits: Sequence[OwnCommit]
    more: int = 0
    unknown: int = 0


def render_changes(head_sha: str, changes: OwnChanges) -> str:
    """Answers ``diff``. A full SHA is a link on GitHub."""
    notes = _list_notes(changes)
    if not changes.commits:
        return "\n\n".join([f"Forge changed nothing in this pull request, up to {inline_code(head_sha[:7])}.", *notes])
    count = len(changes.commits) + changes.more
    head = f"Forge made {count} commit{'' if count == 1 else 's'} here, up to {inline_code(head_sha[:7])}:"
    listed = "\n".join(line for commit in changes.commits for line in _list_commit(commit))
    return "\n\n".join([head, listed, *notes, _fold_diff(changes.commits)])


def report_changes_elsewhere(number: int) -> str:
    """For an issue whose run opened a pull request."""
    return f"Forge changed #{number} for this issue. `/forge diff` there shows what."


NO_CHANGES = "Forge opened no pull request for this issue, so it changed nothing."
"""For an issue without a pull request of Forge's."""


def _list_notes(changes: OwnChanges) -> list[str]:
    notes = [f"{changes.more} more of its commits are not shown."] if changes.more else []
    if changes.unknown:
        notes.append(
            f"Left out: {changes.unknown} that bear{'s' if changes.unknown == 1 else ''} Forge's name. Forge has no "
            "record of pushing that: it was rewritten or made by someone else, or is too old."
        )
    return notes


def _list_commit(commit: OwnCommit) -> Iterator[str]:
    change = commit.change
    yield f"- {commit.sha} {escape(commit.subject, 100)}"
    for file in change.files[:_MOST_FILES]:
        yield f"  - {inline_path(file.path)} +{file.additions} −{file.deletions}"
    others = change.total_files - len(change.files[:_MOST_FILES])
    if others > 0:
        yield f"  - {others} more file{'' if others == 1 else 's'}"


def _fold_diff(commits: Sequence[OwnCommit]) -> str:
    block, rest = render_diff([file for commit in commits for file in commit.change.files])
    more = f"\n\n{rest} more lines: see the commits {', '.join(each.sha for each in commits)}." if rest else ""
    return f"<details><summary>The diff</summary>\n\n{block}{more}\n\n</details>"


def render_diff(files: Sequence[FileChange]) -> tuple[str, int]:
    """A unified diff of files as far as it fits into a comment, and how many lines are left out."""
    lines = [line for file in files for line in _render_file(file)]
    shown, left = list[str](), LONGEST_DIFF
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        shown.append(line)
    return code_block("\n".join(shown), "diff"), len(lines) - len(shown)


def _render_file(file: FileChange) -> Iterator[str]:
    """The lines of one file; long ones are cut."""
    yield f"--- {file.old_path or file.path}"
    yield f"+++ {file.path}"
    for hunk in file.hunks:
        yield _head_of(hunk)
        yield from (line[:_LONGEST_LINE] for line in hunk.lines)


def _head_of(hunk: Hunk) -> str:
    return f"@@ -{hunk.old_start},{hunk.old_length} +{hunk.new_start},{hunk.new_length} @@"


@dataclass(frozen=True)
class AgentTurn:
    """One turn of an agent, or one question to a model.

    :param key: of its step, which begins with its task.
    :param at: UTC.
    :param said: in the model's words, if it said something.
    :param used: the tools, each with the JSON of its arguments.
    :param wrong: what was refused: tool and reason of each.
    """

    key: str
    at: datetime
    said: str = ""
    used: Sequence[tuple[str, str]] = ()
    wrong: Sequence[str] = ()


def render_turns(run_id: str, tried: Sequence[AgentTurn], count: int) -> str:
    """What a run tried, folded.

    :param tried: the newest turns, in order.
    :param count: of all its turns.
    """
    if not tried:
        return ""
    left = f", the last {len(tried)} of them" if count > len(tried) else ""
    summary = f"What run {inline_code(run_id)} tried: {count} turn{'' if count == 1 else 's'}{left}"
    first = count - len(tried) + 1
    rows = [_row(number, each) for number, each in enumerate(tried, first)]
    table = ["| turn | at (UTC) | step | did | was refused |", "| --- | --- | --- | --- | --- |", *rows]
    plain = summary.replace("`", "")  # in HTML, Markdown is none
    return "\n".join(["<details>", f"<summary>{plain}</summary>", "", *table, "", "</details>"])


_CELL = 160  # characters of what is said in one cell
_USES = 5  # of tools in one turn that are named
_TELLING = ("path", "pattern", "glob")  # arguments that say what a tool was used on; others may hold whole files


def _row(number: int, tried: AgentTurn) -> str:
    did = "; ".join(_use(*each) for each in tried.used[:_USES]) or _render_words(tried)
    more = len(tried.used) - _USES
    refused = "; ".join(escape(each, _CELL) for each in tried.wrong[:_USES])
    at = tried.at.astimezone(UTC).strftime("%H:%M:%S")
    rest = f" and {more} more" if more > 0 else ""
    return f"| {number} | {at} | {inline_code(tried.key, 60)} | {did}{rest} | {refused} |"


def _render_words(tried: AgentTurn) -> str:
    return f"said: {escape(tried.said, _CELL)}" if tried.said.strip() else "answered"


def _use(tool: str, arguments: str) -> str:
    on = _on(arguments)
    return f"{inline_code(tool, 40)} {inline_code(on, 100)}" if on else inline_code(tool, 40)


def describe_use(tool: str, arguments: str) -> str:
    """The use of a tool as plain text.

    :param arguments: their JSON.
    """
    return f"{tool} {_on(arguments)[:_CELL]}".rstrip()


def _on(arguments: str) -> str:
    """What a tool was used on, where its arguments say so in short."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    if not isinstance(given, dict):
        return ""
    named: list[object] = [given[key] for key in _TELLING if key in given]
    return " in ".join(" ".join(str(each).split()) for each in named)
