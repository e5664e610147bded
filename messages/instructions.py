"""Every text that answers an instruction on a pull request: what was done, where it is, or why it was not."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from domain.money import format_usd
from domain.runs.output_lines import pick_telling_line
from domain.runs.plan import LONGEST_WORDS
from domain.runs.run import ReasonCode, Run
from domain.text.escaping import code_block, cut_words, escape, inline_code, inline_path, join_paragraphs
from domain.verbs import Verb, find_role
from messages.automation import RUN_TRAILER
from messages.changes import AgentTurn, describe_use
from messages.commands import describe_state

_LONGEST, _MOST_PATHS, _MOST_RED = 600, 5, 5
_NAMED, _MOST_OPEN = 60, 5  # characters of an instruction's words where it is only named; instructions in a status
_REVERTS, _REAPPLIES = 'Revert "', 'Reapply "'  # with the quotation mark that the subject ends with, as of git 2.43
LONGEST_PATCH = 40_000  # bytes; GitHub takes 65,536 characters for the whole comment

_ENDED = {
    ReasonCode.gate_rejected: "A person rejected it.",
    ReasonCode.gate_timeout: "Its question expired, as nobody answered in time.",
    ReasonCode.contract: "Another run changes the same contract, and did so for too long.",
}
_STOPPED = {
    ReasonCode.closed: "the pull request was closed",
    ReasonCode.aborted: "a person stopped it",
    ReasonCode.paused: "a person paused Forge in this repository",
    ReasonCode.access_lost: "Forge lost access to the repository",
}


def report_delivery(
    summary: str,
    left: str,
    tests: str,
    spent: int,
    *,
    branch: str,
    commit: str,
    number: int | None,
    patch: str,
    why: str,
    took_in: str,
    checkpoint: str,
    details: str = "",
    proof: str = "",
    new_author: str = "",
) -> str:
    """What was done, where it is, its tests and its cost.

    :param summary: of the agent; ``left`` what it did not do.
    :param commit: on the branch; else the number of a pull request, or the patch.
    :param why: it is not on the branch, as a clause.
    :param took_in: the head that others had pushed meanwhile.
    :param checkpoint: by which it is taken back; empty if it cannot be.
    :param details: of a merge: how its conflicts are resolved, in Markdown.
    :param proof: what new tests were shown to do, as sentences; empty where there are none.
    :param new_author: the login of who asked for a commit without having opened the pull request.
    """
    told, because = escape(summary, _LONGEST), escape(why, _LONGEST)
    if why and not (commit or number or patch):
        return join_paragraphs([f"Nothing was changed: {because}.", _footer(spent)])
    if commit:
        head = f"{commit} is on {inline_code(branch)}. {told}"
    elif number is not None:
        head = f"#{number} proposes it for {inline_code(branch)}, because {because}. {told}"
    else:
        head = f"It is only shown here, because {because}. {told}"
    parts = [
        head,
        f"Not done: {escape(left, _LONGEST)}" if left else "",
        _tell_tests(tests),
        proof,
    ]
    if took_in:
        parts.append(f"Somebody pushed {took_in} meanwhile; it stands on top of that.")
    undo = f"`/forge rollback {checkpoint}` takes it back." if checkpoint else ""
    owned = _tell_authorship(new_author) if commit and new_author else ""
    return join_paragraphs([" ".join(filter(None, parts)), details, patch, _footer(spent, f"{undo} {owned}".strip())])


def _tell_authorship(login: str) -> str:
    """What it means for a reviewer that Forge carried out their words."""
    return (
        f"{inline_code(login)} asked for it, and so counts as an author of the change: others decide at its gates and "
        "dismiss its findings, or two people together where all who may are its authors."
    )


def _tell_tests(title: str) -> str:
    """How the tests ended, in a sentence; what names them by itself needs no word before it."""
    named = "" if title.startswith(("Tests ", "Forge ")) else "Tests: "
    return f"{named}{escape(title)}." if title else ""


def render_red(checks: Iterable[tuple[str, str]], cause: str, attempt: int) -> str:
    """What is red with a change and not without it, and the line of it that says most.

    :param checks: name and output of each; untrusted.
    :param cause: what of the change makes them fail, in the model's words; empty if it did not say.
    :param attempt: counts from 1; later ones nobody asked for.
    """
    lines = [f"- {inline_code(name)}{_tell_line(said)}" for name, said in checks]
    more = [f"- and {len(lines) - _MOST_RED} more"] if len(lines) > _MOST_RED else []
    first = "Red here:" if attempt == 1 else "Still red, so Forge tries once more by itself:"
    listed = "\n".join([first, "", *lines[:_MOST_RED], *more])
    return join_paragraphs([listed, f"Why: {escape(cause, _LONGEST)}" if cause else ""])


def _tell_line(said: str) -> str:
    return f": {inline_code(pick_telling_line(said)[:300])}" if said.strip() else ", which says nothing"


def render_left(before: Sequence[str], again: Sequence[str], *, is_chance: bool = False) -> str:
    """What fails without the change, too, and which workflows run their failed jobs once more; empty for neither.

    :param is_chance: nothing else was found.
    """
    left = f"Left alone, as the base fails there, too: {_name_all(before)}." if before else ""
    runs = f"The failed jobs of {_name_all(again)} run once more{', in case it was chance' if is_chance else ''}."
    return " ".join(filter(None, [left, runs if again else ""]))


def report_nothing_to_mend(before: Sequence[str]) -> str:
    """Where no check of another App is red because of the change."""
    own = "no check is red here" + (" because of this change" if before else "")
    return " ".join(filter(None, [f"Nothing was done: {own}.", render_left(before, ())]))


def render_awaited(names: Sequence[str]) -> str:
    """Below an answer whose commit is to turn these checks green; empty for none."""
    run = "runs" if len(names) == 1 else "run"
    return f"{_name_all(names)} {run} now; this comment is edited when all checks ended." if names else ""


def render_outcome(names: Sequence[str], red: Sequence[str], ended: Mapping[str, str]) -> str:
    """The same once all checks ended.

    :param names: of the checks that were red before; empty where none was to turn green.
    :param red: what fails because of the change now.
    :param ended: name → conclusion, of all checks.
    """
    left = [name for name in names if name not in red]
    green = [name for name in left if ended.get(name) == "success"]
    other = [name for name in left if name in ended and name not in green]
    absent = [name for name in left if name not in ended]
    parts = [
        f"{_name_all(green)} {'passes' if len(green) == 1 else 'pass'} now." if green else "",
        f"Red now: {_name_all(red)}." if red else "" if names else "No check is red now.",
        *(f"{inline_code(name)} ended as {inline_code(ended[name])}." for name in other[:_MOST_RED]),
        f"{_name_all(absent)} did not run again." if absent else "",
    ]
    return " ".join(filter(None, parts))


def report_still_red(names: Sequence[str]) -> str:
    """After the last attempt that Forge makes by itself."""
    return f"Still red: {_name_all(names)}. Forge tried twice and stops here. `/forge mend` begins anew."


def _name_all(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_RED} more" if len(names) > _MOST_RED else ""
    return ", ".join(inline_code(name) for name in names[:_MOST_RED]) + more


def report_questions(asked: Sequence[str], how: str, spent: int) -> str:
    """Where the instruction leaves open what is wanted, or asks for what no change can do.

    :param how: to answer; see :func:`explain_answering`.
    """
    listed = "\n".join(f"{number}. {escape(question, LONGEST_WORDS)}" for number, question in enumerate(asked, 1))
    return join_paragraphs(["Nothing was changed yet:", listed, how, _footer(spent)])


def tell_command(named: str) -> str:
    """Which command Forge took words for."""
    return f"Taken as {inline_code(f'/forge {named}')}."


def explain_answering(verb: Verb, *, is_in_thread: bool) -> str:
    """How people answer a question, in one line."""
    how = "reply in this thread" if is_in_thread else "mention Forge in a comment, or quote this"
    return f"To answer, {how}{', or write `/forge mend ANSWER`' if verb is Verb.mend else ''}."


def report_unchanged(summary: str, left: str, spent: int, details: str = "", *, is_told: bool = False) -> str:
    """Where the agent found nothing to change.

    :param details: what became of each finding that was to be fixed, in Markdown.
    :param is_told: the summary says what there was to do.
    """
    head = escape(summary, _LONGEST) if is_told else f"Nothing was changed: {escape(summary, _LONGEST)}"
    more = f" Not done: {escape(left, _LONGEST)}" if left else ""
    return join_paragraphs([f"{head}{more}", details, _footer(spent)])


def report_end(reason: ReasonCode, why: str, spent: int) -> str:
    """Where it came to no change.

    :param why: in a sentence; empty where the reason says it.
    """
    return join_paragraphs(
        [
            f"Nothing was changed. {explain_end(reason, why)}".strip(),
            "Give the instruction again to try anew.",
            _footer(spent),
        ]
    )


def explain_end(reason: ReasonCode, why: str) -> str:
    """Why it came to no change, in a sentence; empty if nothing says it.

    :param why: the same where it is known; untrusted.
    """
    return escape(why, _LONGEST) if why else _ENDED.get(reason, "")


def refuse_no_model(why: str) -> str:
    """Where no model can be asked, so that the same instruction would end the same.

    :param why: in a sentence.
    """
    return f"Nothing was changed: a model carries such instructions out. {escape(why, _LONGEST)}"


def report_failure(why: str, spent: int) -> str:
    """For an instruction that could not be finished."""
    return join_paragraphs(
        [f"Nothing was done: {escape(why, _LONGEST)}", "Give the instruction again to try anew.", _footer(spent)]
    )


def report_stopped(reason: ReasonCode, *, is_pushed: bool) -> str:
    """For an instruction that something else put an end to.

    :param is_pushed: its commit was pushed before.
    """
    why = _STOPPED.get(reason, "it was stopped")
    return f"Its commit was pushed; then {why}." if is_pushed else f"Nothing was done: {why}."


def name_instruction(command: str, words: str) -> str:
    """An instruction in a few words, as plain text."""
    return f"{command} {cut_words(' '.join(words.split()), _NAMED)}".rstrip()


@dataclass(frozen=True)
class OpenInstruction:
    """An instruction that is not done.

    :param named: its command and first words; ``login`` asks.
    :param began: when its work began, or it was asked for.
    :param newest: what the agent did last; None before its first turn.
    :param done: of the threads of its `address`, how many are done, and of how many; None for any other.
    """

    run: Run
    named: str
    login: str
    began: datetime
    newest: AgentTurn | None = None
    done: tuple[int, int] | None = None


def render_open(waiting: Sequence[OpenInstruction], now: datetime) -> str:
    """What `/forge status` says of instructions that are not done, in their order; empty if there are none."""
    shown = [_render_open(each, now) for each in waiting[:_MOST_OPEN]]
    more = [f"{len(waiting) - _MOST_OPEN} more wait behind them."] if len(waiting) > _MOST_OPEN else []
    return "\n".join(f"- {each}" for each in (*shown, *more))


def _render_open(asked: OpenInstruction, now: datetime) -> str:
    state = f"{describe_state(asked.run)}, since {_count_time(asked.began, now)}"
    if asked.done is not None:
        state += f"; {asked.done[0]} of {asked.done[1]} threads done"
    if asked.newest is not None:
        did = "; ".join(describe_use(*use) for use in asked.newest.used[:1]) or "the model answered"
        state += f"; last step {_count_time(asked.newest.at, now)} ago: {escape(did, 120)}"
    return f"{inline_code(asked.named)} of {inline_code(asked.login)}: {state}."


def _count_time(at: datetime, now: datetime) -> str:
    seconds = max(0, int((now - at).total_seconds()))
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


CODE_KEPT = "Nothing was done: `review.model: never` in `.github/forge.yml` keeps code from models."
"""Where the configuration keeps code from models."""
PERMISSION_LOST = (
    f"Nothing was done: that takes the role {find_role(Verb.do)}, which whoever asked does not have any more."
)
"""For whoever lost the role while they waited."""
STILL_AT_WORK = (
    "Nothing was done: Forge still works on this pull request, which it opened for an issue. Request changes in a "
    "review, and it takes them in; or ask again when it is done."
)
"""For a pull request on which the run that opened it still works."""
UNPROVEN = "tests.unproven"
"""The rule that a new test breaks which shows nothing of the change."""


def join_outcomes(title: str, passing: Sequence[str], still: Sequence[str]) -> str:
    """How tests ended, in a few words.

    :param title: of the repository's; :param passing: the findings whose tests pass now, ``still`` those whose fail.
    """
    told = [(each, "passes") for each in passing] + [(each, "still fails") for each in still]
    return "; ".join([title, *(f"the test that shows {name} {ends}" for name, ends in told)])


NO_CHANGELOG = (
    "Nothing was done: this repository has no changelog that Forge knows: no `CHANGELOG.md` or its like, no folder "
    "of fragments, no `.changeset/`."
)
"""For a repository without a changelog."""
UNPROVABLE = (
    "Nothing was done: each test is run with the change and without it before it is handed in, and "
    "`testing.runner: actions` lets Forge run none here."
)
"""Where nothing may run that would prove a test."""


def refuse_foreign_path(path: str) -> str:
    """For a file that is not part of the pull request."""
    return f"Nothing was done: this pull request does not change {inline_path(path)}."


NO_SOURCE = "Nothing was done: this changes no code of the program that a test could show."
"""Where there is nothing that a test could show."""


def report_all_tested(covered: int, total: int) -> str:
    """Where there is nothing left to test."""
    return (
        f"Nothing was done: tests run every line that this adds there ({covered:,} of {total:,} in the whole change)."
    )


def explain_failing(why: str) -> str:
    """To an agent whose new test does not pass."""
    return f"A new test of this file does not pass with the change: {why}"[:1_500]


def explain_idle(name: str) -> str:
    """To an agent whose new test shows nothing."""
    advice = "Let it demand what the change brings, or take it out."
    return f"{name} passes without the change of the pull request, too, or demands nothing. {advice}"


UNKNOWN_TESTS = (
    "No runner of this repository takes this file: put the tests where those of its language are, or take it out."
)
"""To an agent whose new file of tests nothing runs."""


def describe_coverage(before: int, now: int, total: int) -> str:
    """How many of the lines that a pull request adds its tests run.

    :param before: without the new tests; :param now: with them, of ``total``.
    """
    return f"Of the {total:,} lines that this pull request adds, tests ran {before:,} before, and run {now:,} now."


def describe_proof(proven: Sequence[str], unloaded: Collection[str], coverage: str, left_out: Mapping[str, str]) -> str:
    """What the new tests were shown to do.

    :param proven: their files.
    :param unloaded: those of them that cannot be loaded without the change, so that each test of them fails there.
    :param left_out: name of what is not handed in → why, as a clause.
    """
    said = f"{'Each' if len(proven) > 1 else 'The'} file passes with the change and fails without it."
    if unloaded:
        all_of_them = "It" if len(proven) == 1 else "All"
        which = ", ".join(map(inline_path, unloaded)) if len(unloaded) < len(proven) else all_of_them
        fails = "fails" if len(unloaded) == 1 else "fail"
        said += f" {which} {fails} there at the import already, which shows less: not that each test sees the change."
    return " ".join(filter(None, [said, coverage, _name_left_out(left_out)]))


def report_unproven(left_out: Mapping[str, str], not_run: str, spent: int) -> str:
    """Where no new test proved anything.

    :param left_out: name of what is not handed in → why, as a clause.
    :param not_run: why they could not be run; empty if they ran.
    """
    why = "none passes with the change and fails without it." if left_out else "no file of tests was written."
    if not_run:
        why = f"nothing shows that they pass with the change and fail without it. {escape(not_run, _LONGEST)}"
    return join_paragraphs([f"No test was handed in: {why}", _name_left_out(left_out), _footer(spent)])


IDLE = "passes without the change, too, or demands nothing"
UNKNOWN = "was not run: no runner of this repository that Forge knows takes this file (docs/testing.md names them)"


def explain_failed(why: str) -> str:
    """Why a file of new tests is left out of which one fails where the change is there, as a clause."""
    return f"fails with the change: {inline_code(why, 200)}"


def _name_left_out(left_out: Mapping[str, str]) -> str:
    more = f"; and {len(left_out) - _MOST_PATHS} more" if len(left_out) > _MOST_PATHS else ""
    named = islice(left_out.items(), _MOST_PATHS)
    shown = "; ".join(f"{inline_path(name)} {why}" for name, why in named)
    return f"Left out: {shown}{more}." if left_out else ""


def refuse_stranger(login: str) -> str:
    """For a mention by somebody who may not ask; told once."""
    return f"{inline_code(login)}, only people with the role {find_role(Verb.ask)} may ask Forge for something here."


ISSUE_ANSWER = "`/forge run` goes on with what you said, and `/forge plan` only plans. To end it here, close the issue."
"""For words on an issue whose run ended with questions."""
LEFT_TO_WORKFLOWS = "the repository's own workflows run them"
"""In place of the outcome of tests that the repository's own workflows run."""


def explain_refusal(said: str) -> str:
    """Why it is not on the branch: GitHub refused the push."""
    return f"GitHub did not take it on the branch: {said.rstrip('. ')}"


def explain_default_branch(branch: str) -> str:
    """Why it is not on the branch: that one is nobody's working branch."""
    return f"{branch} is a branch that others build on"


def explain_protected(paths: Sequence[str]) -> str:
    """Why it is not on the branch: people see such files before they are there."""
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    return f"it changes protected files ({', '.join(paths[:_MOST_PATHS])}{more})"


def explain_conflict(head: str) -> str:
    """Why it is not on the branch: others changed the same lines."""
    return f"{head[:7]}, which somebody pushed meanwhile, changes the same lines"


def explain_conflicting_tests(head: str) -> str:
    """Why it is not on the branch: it does not go together with what others pushed."""
    return f"tests fail with it on top of {head[:7]}, which somebody pushed meanwhile"


BUSY_BRANCH = "the branch moved again and again"
"""Why it is not on the branch: it moved again and again."""


def render_pull_request(number: int, summary: str, login: str, why: str, *, merges: bool) -> str:
    """The description of a pull request into the branch.

    :param merges: it takes the base in.
    """
    who = f"{inline_code(login)} asked for it in #{number}."
    where = f"It is not on that branch yet, because {escape(why, _LONGEST)}."
    how = "Merge it with a merge commit: squashed or rebased, git would not know that the base is in the branch."
    return join_paragraphs([escape(summary, _LONGEST), f"{who} {where}", how if merges else ""])


def render_patch(patch: str | None) -> str:
    """A change for whoever applies it by hand; None is too long."""
    if patch is None:
        return "The patch is too long to show. Ask for less at once."
    return f"{code_block(patch.rstrip(), 'diff')}\n\nCopy it, and apply it with `git apply`."


def refuse_protected(paths: Sequence[str]) -> str:
    """Where a thread asks for files that only somebody with the role may name."""
    named = ", ".join(map(inline_path, paths[:_MOST_PATHS]))
    return (
        f"Nothing was changed: this takes protected files ({named}). Whoever has the role {find_role(Verb.do)} asks "
        "for them by `/forge do` in this thread."
    )


def explain_undo(commit: str, title: str) -> str:
    """What a roll-back does, as the summary of its change.

    :param title: of its own commit, which names the one that it takes back.
    """
    return f"{title}, which was {commit}."


def report_no_undo(commit: str) -> str:
    """Where a commit cannot be taken back, since others build on its lines."""
    return (
        f"Nothing was done: later commits changed the same lines as {commit}, or took it back already. `git revert` "
        "shows where."
    )


PATHS_REFUSED = (
    "Nothing was done: what an instruction made is one commit, which is taken back as a whole. Name no files."
)
"""For a roll-back of single files of an instruction."""
UNCOMMITTED = "Nothing was done: that instruction put no commit on the branch. Close its pull request, if it has one."
"""For a roll-back of an instruction that put nothing on the branch."""


def render_undo_message(commit: str, subject: str, run_id: str, trailer: str) -> tuple[str, str]:
    """The title of a roll-back, and the message of its commit, as ``git revert`` writes them.

    :param subject: of the commit that is taken back.
    """
    again = subject.removeprefix(_REVERTS)
    is_again = again != subject and not again.startswith(_REVERTS)
    title = f"{_REAPPLIES}{again}" if is_again else f'{_REVERTS}{subject}"'
    return title, f"{title}\n\nThis reverts commit {commit}.\n\n{RUN_TRAILER}: {run_id}\n{trailer}\n"


def _footer(spent: int, more: str = "") -> str:
    told = " ".join(filter(None, [f"Cost: {format_usd(spent)}." if spent else "", more]))
    return f"<sub>{told}</sub>" if told else ""
