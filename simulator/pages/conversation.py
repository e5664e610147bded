"""The conversation of an issue or pull request: description, timeline, labels, comment box."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from simulator.gitstore import CommitInfo
from simulator.pages import comments, deployments, pulls
from simulator.pages.comments import anchor_of, minimise, reactions, remark
from simulator.pages.html import Content, Html, button, div, element, link, render_hidden, text_area
from simulator.pages.layout import label_badge, moment, page, person, state_badge, verb_form
from simulator.pages.markdown import Scope, render
from simulator.pages.session import Visit, address
from simulator.state import Issue, IssueComment, PullRequest, Review

_SAID = {
    "APPROVED": "approved these changes",
    "CHANGES_REQUESTED": "requested changes",
    "DISMISSED": "reviewed; the review was dismissed",
    "COMMENTED": "reviewed",
}


@dataclass(frozen=True)
class Entry:
    when: datetime
    shown: Html


def show_pull(visit: Visit) -> Html:
    pull = visit.pull()
    content = [pulls.heading(visit, pull, ""), _talk(visit, pull), pulls.merge_box(visit, pull), deployments.box(pull)]
    return page(visit, pull.title, *content, _comment_box(visit, pull), repository=pull.repository, issue=pull)


def show_issue(visit: Visit) -> Html:
    issue = visit.issue()
    title = element("h1", issue.title, " ", element("span", f"#{issue.number}", class_="quiet"))
    opened = div("subtitle", state_badge(issue), " opened by ", person(issue.user), " ", moment(issue.created_at))
    content = [title, opened, _talk(visit, issue), _comment_box(visit, issue)]
    return page(visit, issue.title, *content, repository=issue.repository, issue=issue)


def _talk(visit: Visit, issue: Issue) -> Html:
    entries = sorted(_entries(visit, issue), key=lambda entry: entry.when)
    return div("talk", _description(visit, issue), labels(visit, issue), [entry.shown for entry in entries])


def _description(visit: Visit, issue: Issue) -> Html:
    body = render(issue.body, Scope(issue.repository)) if issue.body else element("em", "No description provided.")
    anchor = anchor_of(issue)
    return remark(visit, issue, issue.user, issue.created_at, anchor, body, reactions(visit, issue, issue))


def _entries(visit: Visit, issue: Issue) -> Iterator[Entry]:
    for comment in issue.comments:
        yield Entry(comment.created_at, _issue_comment(visit, issue, comment))
    if isinstance(issue, PullRequest):
        yield from _pull_entries(visit, issue)
    if issue.closed_at is not None:
        yield Entry(issue.closed_at, _end_event(issue))


def _pull_entries(visit: Visit, pull: PullRequest) -> Iterator[Entry]:
    for commit in pulls.commits(pull):
        yield Entry(commit.committer_date, _commit(pull, commit))
    for review in pull.reviews:
        own = comments.list_threads(pull, review.id)
        # A reply is a review, too, but stands in its thread.
        if review.submitted_at is not None and (review.body or own or review.state != "COMMENTED"):
            yield Entry(review.submitted_at, _review(visit, review))


def _issue_comment(visit: Visit, issue: Issue, comment: IssueComment) -> Html:
    text = render(comment.body, Scope(issue.repository))
    content = [text, reactions(visit, issue, comment)]
    box = remark(visit, issue, comment.user, comment.created_at, anchor_of(comment), *content)
    return minimise(comment.minimized, box)


def _review(visit: Visit, review: Review) -> Html:
    pull = review.pull
    body = [render(review.body, Scope(pull.repository)), reactions(visit, pull, review)] if review.body else None
    anchor, said = anchor_of(review), _SAID[review.state]
    box = remark(visit, pull, review.user, review.submitted_at, anchor, body, said=said)
    under = [comments.show_in_conversation(visit, thread) for thread in comments.list_threads(pull, review.id)]
    return div(f"review {review.state.lower()}", minimise(review.minimized, box), under)


def _commit(pull: PullRequest, commit: CommitInfo) -> Html:
    title = commit.message.split("\n", 1)[0]
    sha = link(address(pull.repository, "commit", commit.sha), element("code", commit.sha[:7]))
    return div("event", commit.author_name, " committed ", sha, " ", title, " ", moment(commit.committer_date))


def _end_event(issue: Issue) -> Html:
    merged = isinstance(issue, PullRequest) and issue.merged_by
    what = ["Merged by ", person(merged)] if merged else "Closed"
    return div("event", what, " ", moment(issue.closed_at))


def labels(visit: Visit, issue: Issue) -> Html:
    """The labels, each with a button that removes it, and a field to add one."""
    shown: list[Content] = []
    for label in issue.labels:
        badge = label_badge(label.name, label.color)
        remove = button("×", title=f"Remove {label.name}", remove=label.name)
        shown.append(verb_form(visit, issue, "labels", badge, remove, class_="row"))
    field = element("input", name="add", placeholder="Label", aria_label="Label to add", size=12)
    add = verb_form(visit, issue, "labels", field, button("Add label"), class_="row")
    return div("labels", element("b", "Labels"), shown, add)


def _comment_box(visit: Visit, issue: Issue) -> Html:
    comment = verb_form(visit, issue, "comment", text_area("Leave a comment"), button("Comment", class_="primary"))
    return div("comment-box", comment, _state_buttons(visit, issue))


def _state_buttons(visit: Visit, issue: Issue) -> list[Content]:
    noun = "pull request" if isinstance(issue, PullRequest) else "issue"
    word, value = (f"Close {noun}", "closed") if issue.state == "open" else (f"Reopen {noun}", "open")
    merged = isinstance(issue, PullRequest) and issue.merged_at is not None
    shown: list[Content] = [
        None if merged else verb_form(visit, issue, "state", render_hidden(state=value), button(word))
    ]
    if isinstance(issue, PullRequest) and issue.state == "open" and not issue.draft:
        shown.append(verb_form(visit, issue, "ready", button("Convert to draft", ready="no")))
    return shown
