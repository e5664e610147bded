"""Every text of `/forge update` and `/forge address`: what came in, which threads are done, what people decide."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.money import format_usd
from domain.runs.run import ReasonCode, Run
from domain.text.escaping import code_block, cut_words, escape, inline_code, inline_path, join_paragraphs, name_count
from messages.automation import RUN_TRAILER
from messages.commands import describe_state
from messages.pull_request import WORKFLOWS
from safety.conflicts import LONGEST_WHY, BesideEdit, ConflictHunk, JudgedHunk, Kept, Side, UnmergedFile

WORDS = (
    "Do what is asked for in this review thread. Where it asks for nothing that can be changed here, or leaves open "
    "what is wanted, say so in a question."
)
"""What the planner is told that somebody with the role write asks for."""


_LINES, _CHARACTERS, _HUNKS, _FILES = 40, 1_000, 12, 20  # shown: lines and characters of a hunk, hunks, files
_NAMED = 5  # workflows
_FINISH = ("git commit --no-edit", "git push")
LONGEST_PATCH = 20_000
"""Bytes of the patch of what is resolved: what became of each conflict stands beside it, and GitHub takes 65,536."""
_OTHER = {Side.branch: Side.base, Side.base: Side.branch}


def render_title(base: str, branch: str) -> str:
    """The first line of the merge, as git and GitHub write it."""
    return f"Merge branch '{base}' into {branch}"


def render_message(title: str, resolved: Sequence[str], run_id: str, trailer: str) -> str:
    """The message of the merge.

    :param resolved: files in which conflicts were resolved.
    """
    listed = "\n".join(["Conflicts resolved in:", *(f"- {path}" for path in resolved)])
    parts = [title, *([listed] if resolved else []), f"{RUN_TRAILER}: {run_id}\n{trailer}"]
    return "\n\n".join(parts) + "\n"


def summarise(base: str, sha: str, subjects: Sequence[str], most: int) -> str:
    """What came in, as the summary of a change.

    :param subjects: of commits, the newest first; at most ``most`` were counted.
    """
    count = f"{most} or more commits" if len(subjects) == most else name_count(len(subjects), "commit")
    named = "; ".join(cut_words(subject, 80) for subject in subjects[:3])
    return f"It takes {count} of {base} in, up to {sha[:10]}: {named}{'; …' if len(subjects) > 3 else ''}."


def render_resolved(judged: Sequence[JudgedHunk]) -> str:
    """How each conflict is resolved; nothing of a side goes without being named."""
    if not judged:
        return ""
    return "\n".join([f"{name_count(len(judged), 'conflict')} resolved:", "", *map(_render_judged, judged)])


def render_beside(edits: Sequence[BesideEdit], places: Mapping[str, str]) -> str:
    """What else of files with conflicts is changed, and why.

    :param places: path → its lines in the result.
    """
    rows = [
        f"- Also changed beside the conflict: {inline_path(f'{path}:{lines}')}. Changed because: "
        + " ".join(escape(each.reason, 600) for each in edits if each.path == path)
        for path, lines in places.items()
    ]
    return "\n".join(rows)


def report_up_to_date(base: str, sha: str) -> str:
    """Where the branch has the whole base."""
    return f"Nothing to take in: the branch has {inline_code(base)} up to {sha[:10]}."


def report_conflicts(
    hunks: Sequence[ConflictHunk], unmerged: Sequence[UnmergedFile], base: str, source: str, why: str, spent: int
) -> str:
    """Where nobody resolves the conflicts.

    :param source: the remote that has the base, as git takes it.
    :param why: no model does, as a sentence; empty where none could.
    """
    rows = [f"- {inline_path(each.where)}" for each in hunks[:_FILES]]
    more = [f"- and {len(hunks) - _FILES} more"] if len(hunks) > _FILES else []
    head = f"Nothing was changed: the branch conflicts with {inline_code(base)}. {escape(why)}".strip()
    return join_paragraphs(
        [head, "\n".join([*rows, *more, *_list_unmerged(unmerged)]), _advise_by_hand(base, source), _footer(spent)]
    )


def report_open(
    judged: Sequence[JudgedHunk],
    unmerged: Sequence[UnmergedFile],
    base: str,
    source: str,
    branch: str,
    patch: str,
    spent: int,
) -> str:
    """Where people have to decide about some conflicts, so that nothing is committed.

    :param source: the remote that has the base, as git takes it.
    :param patch: of the files that are resolved.
    """
    asked = [each for each in judged if each.question]
    sure = [each for each in judged if not each.question]
    shown = [_render_question(number, each, base, branch) for number, each in enumerate(asked[:_HUNKS], 1)]
    more = [f"{name_count(len(asked) - _HUNKS, 'more conflict')} not shown."] if len(asked) > _HUNKS else []
    head = f"Nothing was changed: the branch conflicts with {inline_code(base)}, and people have to decide."
    parts = [
        head,
        *shown,
        *more,
        "\n".join(_list_unmerged(unmerged)),
        render_resolved(sure),
        patch,
        f"Write `/forge update` again with the answers behind it. {_advise_by_hand(base, source)}",
    ]
    return join_paragraphs([*parts, _footer(spent)])


def render_patch(
    patch: str | None,
    paths: Sequence[str],
    base: str,
    source: str,
    *,
    is_linear: bool = False,
    is_all: bool = True,
) -> str:
    """The files in which conflicts are resolved, for whoever merges by hand; without any, how to merge.

    :param patch: of these files, against the branch; None is too long.
    :param source: the remote that has the base, as git takes it.
    :param is_linear: the branch takes no merges, so that it has to be rebased.
    :param is_all: nothing else conflicts.
    """
    if is_linear:
        return _explain_rebase(patch, base, source)
    merge = _render_merge(base, source)
    if not paths:
        return f"{inline_code(merge)} takes it in without a conflict; so does *Update branch* on GitHub."
    if patch is None:
        return f"The patch is too long to show. {inline_code(merge)} shows the conflicts."
    rest = [] if is_all else ["# resolve what is left, and `git add` it"]
    apply = [f"git checkout HEAD -- {shlex.join(paths)}", "git apply --index ../resolved.patch"]
    steps = "\n".join([merge, *apply, *rest, *_FINISH])
    told = "Save it as `resolved.patch` beside the working tree, and merge with"
    return f"{code_block(patch.rstrip(), 'diff')}\n\n{told}\n\n{code_block(steps, 'sh')}"


def report_workflows(
    changed: Sequence[str], conflicts: Sequence[str], base: str, source: str, branch: str, spent: int
) -> str:
    """Where the App may not push what comes in, so that nothing is resolved or tested for it.

    :param changed: workflows that come in; ``conflicts`` the files that conflict.
    :param source: the remote that has the base, as git takes it.
    """
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    named = ", ".join(map(inline_path, changed[:_NAMED]))
    head = (
        f"Nothing was changed: what comes in of {inline_code(base)} changes workflows ({named}{more}), and GitHub "
        f"takes none from this App, which has no permission `workflows`. {WORKFLOWS} Then write `/forge update` again."
    )
    conflict = ["# resolve the conflicts, and `git add` the files", _FINISH[0]] if conflicts else []
    steps = "\n".join([f"git switch {shlex.quote(branch)}", _render_merge(base, source), *conflict, _FINISH[1]])
    button = "" if conflicts else " (nothing conflicts, so *Update branch* on GitHub does the same)"
    return join_paragraphs([head, f"By hand{button}:\n\n{code_block(steps, 'sh')}", _footer(spent)])


def explain_missing_model(reason: str) -> str:
    """Why no model resolves conflicts."""
    return f"No model resolves that: {reason}"


CODE_KEPT = "No model resolves that: `review.model: never` in `.github/forge.yml` keeps code from models."
"""Where the configuration keeps code from models."""
REWRITTEN = "the branch was rewritten meanwhile; write `/forge update` again"
"""Why it is not on the branch: that has another history now."""
TAKEN_IN = "somebody took the base in meanwhile"
"""Why it is not on the branch: somebody else did it."""


def refuse_undo(before: str) -> str:
    """For a roll-back of a merge of the base."""
    return (
        "Nothing was done: a commit that takes a merge of the base back would have this pull request undo what came "
        f"in, once it is merged. As long as nothing was pushed on top, `git reset --hard {before[:10]}` and a forced "
        "push take it back."
    )


def offer(base: str) -> str:
    """The line of the check where GitHub says that the branch conflicts."""
    return f"The branch conflicts with {inline_code(base)}: `/forge update` takes it in and resolves what is clear."


def _render_judged(judged: JudgedHunk) -> str:
    why = f" {escape(judged.why, 600)}" if judged.why else ""
    return f"- {inline_path(judged.hunk.where)}: {_tell_kept(judged)}.{why}"


def _tell_kept(judged: JudgedHunk) -> str:
    match judged.kept:
        case Kept.both:
            return "the lines of both"
        case Kept.mixed:
            return f"**merged from both**, with lines of {' and '.join(judged.lost)} written anew: check this one"
        case side:
            kept = Side.branch if side is Kept.branch else Side.base
            more = f"nothing else of {_OTHER[kept]}" if judged.lost else f"which has all of {_OTHER[kept]}"
            return f"**exactly as on {kept}**, {more}"


def _render_question(number: int, judged: JudgedHunk, base: str, branch: str) -> str:
    hunk = judged.hunk
    parts = (f"<<<<<<< {branch}", hunk.branch, "||||||| before", hunk.before, "=======", hunk.base, f">>>>>>> {base}")
    lines = "\n".join(part.removesuffix("\n") for part in parts if part).split("\n")
    cut = [*lines[:_LINES], f"… {len(lines) - _LINES} more lines"] if len(lines) > _LINES else lines
    text = "\n".join(cut)
    text = text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}\n… {len(text) - _CHARACTERS:,} more characters"
    return f"{number}. {inline_path(hunk.where)}: {escape(judged.question, LONGEST_WHY)}\n\n{code_block(text)}"


def _list_unmerged(unmerged: Sequence[UnmergedFile]) -> list[str]:
    rows = [f"- {inline_path(each.path)} is left to you: {escape(each.why)}." for each in unmerged[:_FILES]]
    return rows + ([f"- and {len(unmerged) - _FILES} more files"] if len(unmerged) > _FILES else [])


def _explain_rebase(patch: str | None, base: str, source: str) -> str:
    """How the base is taken in where no merge may be, and what the files with conflicts come to."""
    command = f"git fetch {shlex.quote(source)} {shlex.quote(base)} && git rebase FETCH_HEAD"
    told = f"Without a merge, {inline_code(command)} takes it in, and a forced push."
    return join_paragraphs(
        [told, f"What conflicts comes to this:\n\n{code_block(patch.rstrip(), 'diff')}" if patch else ""]
    )


def _advise_by_hand(base: str, source: str) -> str:
    return f"By hand: {inline_code(_render_merge(base, source))}."


def _render_merge(base: str, source: str) -> str:
    return f"git fetch {shlex.quote(source)} {shlex.quote(base)} && git merge FETCH_HEAD"


def _footer(spent: int) -> str:
    return f"<sub>Cost: {format_usd(spent)}.</sub>" if spent else ""


def report_begun(places: Sequence[str], answered: int, left: int) -> str:
    """Which threads are worked off.

    :param places: of the threads, in their order.
    :param answered: how many other open threads end with an answer of Forge or of another App.
    :param left: how many are too many for once.
    """
    if not places:
        parts = ["Nothing to do: people have no open thread here that waits for an answer."]
    else:
        listed = "\n".join(f"{number}. {inline_path(where)}" for number, where in enumerate(places, 1))
        head = f"{_count(len(places))} worked off in this order, and answered there with the commit or with why not:"
        parts = [
            f"{head}\n\n{listed}",
            "People resolve them. `/forge status` shows how far it is, `/forge cancel` stops it.",
        ]
    if answered:
        parts.append(f"{_count(answered)} left out that Forge or another App answered last: reply there to ask again.")
    if left:
        parts.append(f"{_count(left)} left for another `/forge address`.")
    return "\n\n".join(parts)


@dataclass(frozen=True)
class AddressedThread:
    """A thread that was worked off.

    :param where: ``path:line``; ``address`` of the thread on GitHub.
    :param run: of its instruction.
    :param commit: that it put on the branch; empty for none.
    """

    where: str
    address: str
    run: Run
    commit: str


def report_end(threads: Sequence[AddressedThread]) -> str:
    """What became of each thread, once the last one is worked off."""
    done = sum(bool(each.commit) for each in threads)
    rows = [f"- [{inline_path(each.where)}]({each.address}): {_tell_outcome(each)}" for each in threads]
    return f"{done} of {len(threads)} threads done:\n\n" + "\n".join(rows)


_OUTCOMES = {
    ReasonCode.questions: "**Forge asks something there**",
    ReasonCode.unchanged: "nothing was changed; the thread says why",
    ReasonCode.proposed: "a pull request proposes it; the thread links it",
}


def _tell_outcome(thread: AddressedThread) -> str:
    if thread.commit:
        return f"done in {thread.commit}"
    if not thread.run.state.is_final:  # it is about to end, as only a failure is told before
        return "it failed; the thread says why"
    return _OUTCOMES.get(thread.run.reason) or describe_state(thread.run)


def _count(number: int) -> str:
    return f"{number} thread{' is' if number == 1 else 's are'}"
