"""The words of the deliveries table, how each ended, and those with which Forge introduces itself or is halted."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from domain.errors import ForgeError
from domain.github.installations import RepositoryOverview
from domain.runs.run import REVIEW_CHECK, NotStarted, RunStart
from domain.text.escaping import escape, flatten_text, inline_code, inline_path, name_some
from domain.verbs import VERBS, Verb
from messages.review import CheckText
from safety.allowed_actions import NAMES

TITLE = "Forge works here now"
OFF = "ignored: the operator welcomes nobody"


UNKNOWN = "unknown delivery"
OTHER_VERSION = "failed: it was stored by another version of Forge; ask again with a comment"
TOO_OLD = "ignored: the comment is older than any delivery that GitHub repeats"
MISTAKE = "failed: Forge made a mistake of its own; its log has the details."
RESTARTED = "failed: Forge was updated while it waited, and cannot go on where it was"

NO_DRAFT = "nothing is under way that a draft ends"
CLOSED_PULL_REQUEST = "the pull request is closed"
REVIEWED = "this head was reviewed before"
PAUSED = "Forge is paused here, and the verdict on this head stays"
IN_REVIEW = "this head is being reviewed"
AT_GATE = "this head was reviewed and waits for a person's decision"
NO_PULL_REQUEST = "no open pull request has this head"

CLOSED_ISSUE = "it is closed"
IN_PROGRESS = "it is being worked on"
NO_COMMIT = "the repository has no commit to begin from"
EDITED = "somebody edited it since this was asked for; read it again, and ask again if that is what you want"
NOTHING_TO_RETRY = "no run of this issue ended before it was through"
NOT_TESTED_YET = (
    "the draft of its run waits for its tests; write `/forge test` there, and it becomes ready once they pass"
)
STILL_RUNNING = "its run goes on"

OTHER_LABEL = "ignored: another label"
ISSUES_OFF = "ignored: issues.run is off here"
NO_DEPLOYMENT = "There is no such deployment here."
BUTTON_REFUSED = "refused: the sender lacks the role"
NO_GATE = "ignored: there is no such gate"
GATE_SHOWN = "shown"
NOT_COVERED = "ignored: this installation does not cover the repository any more"

NOT_PROPOSED = "no run of Forge's proposed it"
IGNORED_PAUSED = "ignored: Forge is paused"
HEAD_MOVED = "the head moved meanwhile"
BRANCH_OF_PERSON = "the branch is a person's"
OTHER_RUN = "another run took over"
UNKNOWN_HEAD = "no run knows this head"

REOPENED_PULL_REQUEST = "the pull request is open again"
REOPENED_ISSUE = "the issue is open again"
MERGED = "its pull request was merged"
OUT_OF_QUEUE = "the merge queue took it out"
NOT_QUEUED_BY_FORGE = "Forge did not put it into the merge queue"
COVERED_AGAIN = "it is covered again"
INSTALLED = "it is installed, GitHub says"


def describe_start(start: RunStart) -> str:
    """For a delivery that asked for a run."""
    return start.why if isinstance(start, NotStarted) else f"run {start.run_id}"


def describe_starts(starts: Sequence[RunStart]) -> str:
    """For a button on a check, which may belong to several pull requests."""
    return name_some(map(describe_start, starts)) or NO_PULL_REQUEST


def describe_refusal(needed: str, held: str) -> str:
    """For a sender without the role."""
    return f"refused: it needs the role {needed}, the sender has {held}"


def describe_ignored(why: str) -> str:
    return f"ignored: {why}"


def describe_failure(why: str) -> str:
    return f"failed: {why}"


def describe_answers(count: int, unanswered: str | None) -> str:
    """For a comment with commands.

    :param unanswered: why GitHub took no answer; None if it did.
    """
    return f"{count} obeyed, unanswered: {unanswered}" if unanswered else f"{count} answered"


def describe_turned_away(why: str) -> str:
    return f"turned away: {why}"


def describe_address(changed: int) -> str:
    return f"{changed} addresses changed"


def describe_report(conclusion: str) -> str:
    """For the check on the head of a merge queue."""
    return f"reported {conclusion}"


def describe_resumed_owner(run_id: str) -> str:
    """For a review of a pull request that Forge opened."""
    return f"run {run_id} looks at it"


def describe_woken(numbers: Sequence[int]) -> str:
    """For a workflow of the repository that ended."""
    return f"told of pull request {name_some(map(str, numbers))}" if numbers else UNKNOWN_HEAD


def describe_rewritten(numbers: Sequence[int]) -> str:
    """For a forced push to a branch."""
    return f"compared anew: {name_some(map(str, numbers))}" if numbers else "nothing goes into this branch"


def describe_ended(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'} ended"


def describe_purge(ended: str, purged: int) -> str:
    """:param purged: how many repositories."""
    return f"{ended}, {purged} purged"


def describe_unclosed(count: int) -> str:
    return f"{count} checks to close"


def render_trouble(error: ForgeError, *, is_repeated: bool = False) -> CheckText:
    """For an event that Forge cannot handle. This is never an approval.

    :param is_repeated: Forge goes on trying.
    """
    advice = escape(error.advice) or (
        "Nothing yet: Forge tries again for two days. If it takes long, ask the operator of Forge, whose log has this."
        if is_repeated
        else "Write `/forge review`; if it happens again, ask the operator of Forge, whose log has this."
    )
    return CheckText(
        "Forge cannot begin its review",
        f"**Forge cannot work here.** {escape(error.message)}\n\n**What to do:** {advice}\n\n"
        "Forge did not approve this head.",
    )


TROUBLE_OVER = CheckText("Forge could begin after all", "Another check of this head has the verdict.")


def describe_halt(since: datetime, why: str) -> str:
    """One line that says since when Forge is halted, and why.

    :param why: what the operator wrote; may be empty.
    """
    told = flatten_text(why)
    return f"Forge has been halted since {since:%Y-%m-%d %H:%M:%S} UTC{f': {told}' if told else ''}."


_GREETING = (
    "Somebody installed Forge for this repository. This is the only time it introduces itself; close this issue "
    "whenever you like."
)
_FIRST = (
    Verb.help,
    Verb.review,
    Verb.dismiss,
    Verb.do,
    Verb.update,
    Verb.mend,
    Verb.plan,
    Verb.run,
    Verb.pause,
)
"""The commands to begin with."""
_OF_MODELS = frozenset({Verb.do, Verb.mend, Verb.plan, Verb.run})
"""Those of them that do nothing where no model is asked."""
_ENDS = (
    "`/forge pause` by an admin stops it until `/forge unpause`. In `.github/forge.yml` on the default branch, "
    "`review: {on_pull_request: false}` leaves reviews to those who ask. An owner removes this repository, or "
    "uninstalls the App, in GitHub's settings; Forge then deletes what it keeps of the code."
)


def render_issue(overview: RepositoryOverview, marker: str) -> str:
    """The body of the issue, one screen long."""
    return "\n\n".join([_GREETING, *_list_parts(overview, "###"), marker])


def render_part(overview: RepositoryOverview) -> str:
    """The part of the first review's check."""
    told = "\n\n".join(_list_parts(overview, "####"))
    head = "<details><summary><b>Forge is new here:</b> what it does, and how to steer it</summary>"
    return f"{head}\n\n{told}\n\n</details>"


def describe_outcome(opened: int, noted: int) -> str:
    """For the deliveries table.

    :param opened: issues.
    :param noted: repositories whose first review says it.
    """
    return f"{opened} issue{'' if opened == 1 else 's'} opened, {noted} told in their first review"


def _list_parts(overview: RepositoryOverview, heading: str) -> Iterator[str]:
    yield _tell_purpose(overview)
    yield f"{heading} What leaves this repository\n\n{_tell_privacy(overview)}"
    lines = [*_list_sights(overview), *_list_advice(overview)]
    sights = "\n".join(f"- {line}" for line in lines)
    yield f"{heading} What Forge sees here\n\n{sights}"
    first = [verb for verb in _FIRST if overview.model or verb not in _OF_MODELS]
    rows = "\n".join(f"| `/forge {VERBS[verb].usage}` | {VERBS[verb].meaning} |" for verb in first)
    yield f"{heading} First commands\n\n| in a comment | |\n| --- | --- |\n{rows}"
    yield f"{heading} How to switch it off\n\n{_ENDS}"


def _tell_purpose(overview: RepositoryOverview) -> str:
    return (
        f"Forge reviews each pull request: one check, `{REVIEW_CHECK}`, and comments on the lines, only about what the "
        "change introduces. From issues it makes plans and pull requests, when somebody asks. People decide: it asks "
        f"before anything it may not do alone. Automation is at level {overview.level} "
        f"({NAMES[overview.level]}); `/forge level` says what that allows."
    )


def _tell_privacy(overview: RepositoryOverview) -> str:
    if not overview.model:
        why = "`review.model: never` says so" if overview.keeps_code else "none is set up"
        return f"Nothing goes to a model: {why}. Checks run on the server of Forge."
    return (
        f"Changed files, and what explains them, go to {inline_code(overview.model)} when a review needs it. In "
        "`.github/forge.yml`, `review: {never_send: [PATTERNS]}` keeps files from it, and `review: {model: never}` "
        "everything. Forge masks credentials it recognises."
    )


def _list_sights(overview: RepositoryOverview) -> Iterator[str]:
    languages = ", ".join(escape(name, 40) for name in overview.languages)
    yield f"**Languages:** {languages or 'no source yet'}."
    linters = ", ".join(inline_code(name, 60) for name in overview.linters)
    yield f"**Checked by:** {f'{linters}, and ' if linters else ''}a search for credentials and dangerous code."
    if overview.tests:
        is_set = "`commands.test`" in overview.tests
        yield f"**Tests:** {escape(overview.tests)}{'' if is_set else ' Set `commands.test` if that is wrong.'}"


def _list_advice(overview: RepositoryOverview) -> Iterator[str]:
    for name, path in overview.idle_linters.items():
        yield (
            f"**Not run:** {escape(name, 60)}, although there is {inline_path(path)}. Name it in `review.linters` to "
            "have Forge run it."
        )
    if overview.missing:
        missing = ", ".join(inline_code(each, 60) for each in overview.missing)
        yield f"**Missing permissions:** {missing}. An owner grants them in the settings of the installation."
    if overview.is_required is False:
        yield (
            f"**Nothing waits for Forge:** {inline_code(overview.branch)} does not require the check "
            f"`{REVIEW_CHECK}`. To require it, choose this App as its source, so that nothing else can report it."
        )
