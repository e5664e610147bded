"""Writes the page of a pull request as one text: what an author reads there, in GitHub's order."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from simulator import Simulator
from simulator.state import CheckRun, IssueComment, PullRequest, Reaction, Review, Thread
from tests.world.replies import mask

_MASKS = (
    (re.compile(r"\b\d+(?:\.\d+)? s\b"), "N s"),
    (re.compile(r"Tools ran in .*"), "Tools ran in PLACE."),
    (re.compile(r"\b[\d,]+ tokens\b"), "N tokens"),
)
_SIGNS = {"eyes": "👀", "+1": "👍", "confused": "😕"}


class _Entry(NamedTuple):
    when: datetime
    number: int  # what was made later has the higher one
    text: str


def show_page(github: Simulator, pull: PullRequest) -> str:
    """The title, the description and the conversation of a pull request, then the checks of its head.

    What is folded stands there unfolded. What differs from run to run is masked.
    """
    head = f"# {pull.title} · #{pull.number} · {pull.user.login} · {'draft' if pull.draft else pull.state}"
    talk = [entry.text for entry in sorted(_list_entries(pull))]
    checks = map(_show_check, sorted(github.check_runs(pull.repository, pull.head_sha), key=lambda run: run.id))
    text = "\n\n".join(filter(None, (head, pull.body, *talk, *checks)))
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in re.sub(r"\n{3,}", "\n\n", mask(text)).splitlines())


def _list_entries(pull: PullRequest) -> Iterator[_Entry]:
    for comment in pull.comments:
        yield _Entry(comment.created_at, comment.id, _show_comment(comment))
    for review in pull.reviews:
        threads = [thread for thread in pull.threads if thread.comments[0].review is review]
        if review.submitted_at is not None and (review.body or threads):
            yield _Entry(review.submitted_at, review.id, _show_review(review, threads))


def _show_comment(comment: IssueComment) -> str:
    folded = f" · folded: {comment.minimized}" if comment.minimized else ""
    return _show_post(f"{comment.user.login} commented{folded}", comment.body, comment.reactions)


def _show_review(review: Review, threads: list[Thread]) -> str:
    head = _show_post(f"{review.user.login} reviewed · {review.state.lower()}", review.body, review.reactions)
    return "\n\n".join([head, *map(_show_thread, threads)])


def _show_thread(thread: Thread) -> str:
    first = thread.comments[0]
    state = [name for name, holds in (("resolved", thread.resolved), ("outdated", thread.outdated)) if holds]
    where = f"{first.path}:{first.line or first.original_line}"
    posts = [
        _show_post(" · ".join([where, each.user.login, *state]), each.body, each.reactions) for each in thread.comments
    ]
    return "\n\n".join(posts)


def _show_post(head: str, body: str, reactions: list[Reaction]) -> str:
    signs = " ".join(_SIGNS[each.content] for each in reactions)
    return f"----- {head}{f' · {signs}' if signs else ''} -----\n{body}"


def _show_check(run: CheckRun) -> str:
    buttons = "".join(f" [{action['label']}]" for action in run.actions)
    head = f"===== {run.name}: {run.conclusion or run.status} · {run.title}{buttons} ====="
    return "\n".join(filter(None, [head, run.summary, run.text]))
