"""The resolver: it says what stands in place of each conflict of a merge."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from agents.loop.loop import Agent
from agents.loop.tools.files import make_file_tools
from agents.loop.turns import Assignment
from agents.prompts import frame_data, load_prompt, quote_lines
from domain.paths import clean_name
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from domain.value import Value
from safety.conflicts import ConflictHunk, Outside, ResolvedHunks, SideCommit, find_mistakes, list_paths
from workspace.snapshot import Snapshot

_MESSAGE = 800  # characters of a commit's message
_WORDS = 2_000


class ConflictTask(Value):
    """What the resolver knows about a merge.

    :param branch, base: commits of each side that touched files with conflicts, the newest first.
    :param words: what somebody wrote with the command, such as the answer to an earlier question.
    :param mistakes: what was wrong with the answer before; empty at first.
    """

    title: str
    hunks: tuple[ConflictHunk, ...]
    branch: tuple[SideCommit, ...] = ()
    base: tuple[SideCommit, ...] = ()
    words: str = ""
    mistakes: tuple[str, ...] = ()


def build_agent(
    merged: Snapshot, hunks: Sequence[ConflictHunk], outside: Mapping[str, Outside], never_send: Sequence[str]
) -> Agent[ResolvedHunks]:
    """The resolver, which can read the files as git merged them.

    :param outside: path → the text around the conflicts of each file with hunks.
    :param never_send: globs of files that a model must not see.
    """
    tools = make_file_tools(merged, never_send=never_send)
    return Agent(ResolvedHunks, tools, partial(find_mistakes, hunks, outside))


def build_assignment(key: str, task: ConflictTask) -> Assignment:
    """The resolver's assignment.

    :param key: names it in the journal.
    """
    content = frame_data(redact_outgoing("\n".join(_render(task))))
    return Assignment(key=key, instructions=load_prompt("resolve"), content=content, max_output_tokens=16_000)


def _render(task: ConflictTask) -> Iterator[str]:
    yield "== pull request"
    yield from quote_lines(" ".join(task.title.split())[:300])
    if task.words:
        yield "== what people say about it"
        yield from quote_lines(task.words[:_WORDS])
    yield from _render_commits("on the branch", task.branch)
    yield from _render_commits("on the base", task.base)
    for path in list_paths(task.hunks):
        yield f"== {clean_name(path)}"
        for hunk in (each for each in task.hunks if each.path == path):
            yield from _render_hunk(hunk)
    if task.mistakes:
        yield "== what was wrong with your answer before"
        yield from (f"- {' '.join(strip_invisible(each).split())[:500]}" for each in task.mistakes)


def _render_commits(side: str, commits: Sequence[SideCommit]) -> Iterator[str]:
    yield f"== commits {side} that touched these files"
    for each in commits:
        yield f"{each.sha[:12]} {', '.join(map(clean_name, each.paths))}"
        yield from quote_lines(each.message.strip()[:_MESSAGE])


def _render_hunk(hunk: ConflictHunk) -> Iterator[str]:
    yield f"-- conflict {hunk.number}, line {hunk.line} on the branch"
    parts = {
        "above": hunk.above,
        "before": hunk.before,
        "on the branch": hunk.branch,
        "on the base": hunk.base,
        "below": hunk.below,
    }
    for name, text in parts.items():
        yield f"{name}:{'' if text else ' nothing'}"
        yield from quote_lines(text.removesuffix("\n")) if text else ()
