"""The words of the deliveries table: how each delivery ended; and of trouble and halts."""

from collections.abc import Sequence
from datetime import datetime

from domain.errors import ForgeError
from domain.runs.run import NotStarted, RunStart
from domain.text.escaping import escape, flatten_text, name_some
from messages.review import CheckText

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
