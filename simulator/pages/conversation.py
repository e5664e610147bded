"""The conversation of an issue or pull request: description, timeline, labels, comments and their forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from simulator import repository_json
from simulator.diff import parse_hunks
from simulator.gitstore import CommitInfo
from simulator.pages import checks, html, pulls
from simulator.pages.html import (
    Content,
    Html,
    Visit,
    address,
    button,
    div,
    element,
    fold,
    join,
    link,
    render_hidden,
    span,
    text_area,
)
from simulator.pages.layout import label_badge, moment, page, person, state_badge, verb_form
from simulator.pages.markdown import Scope, render
from simulator.state import Account, Issue, IssueComment, PullRequest, Reaction, Review, ReviewComment, Thread

Subject = Issue | IssueComment | Review | ReviewComment
_FACES: dict[str, str] = dict(
    zip(repository_json.REACTIONS, ("👍", "👎", "😄", "😕", "❤️", "🎉", "🚀", "👀"), strict=True)
)
_CONTEXT = 4


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
    content = [pulls.heading(visit, pull, ""), _talk(visit, pull), pulls.merge_box(visit, pull), checks.box(pull)]
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
        own = list_threads(pull, review.id)
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
    under = [show_in_conversation(visit, thread) for thread in list_threads(pull, review.id)]
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


def remark(
    visit: Visit, issue: Issue, who: Account, when: datetime | None, anchor: str, *body: Content, said: Content = None
) -> Html:
    """The box; `said` stands after the name, such as “approved these changes”."""
    parts = ["author"] if who is issue.user else []
    role = issue.repository.role_of(who)
    parts += [role] if who.type == "User" and role not in ("none", "read") else []
    badges = [span("badge", part) for part in parts]
    at = link(f"#{anchor}", moment(when), class_="quiet")
    head = div("remark-head", person(who), badges, " ", said, " ", at)
    return element("article", head, div("remark-body", *body), class_="remark", id=anchor)


def minimise(reason: str | None, content: Html) -> Html:
    if reason is None:
        return content
    return fold(f"This comment was hidden: {reason.lower()}", content, class_="minimised")


def anchor_of(subject: Subject) -> str:
    """The end of the address at which something stands, as on GitHub."""
    match subject:
        case Issue():
            return f"issue-{subject.id}"
        case IssueComment():
            return f"issuecomment-{subject.id}"
        case Review():
            return f"pullrequestreview-{subject.id}"
        case ReviewComment():
            return f"discussion_r{subject.id}"


def reactions(visit: Visit, issue: Issue, subject: Subject) -> Html:
    given = [_count(face, content, subject.reactions) for content, face in _FACES.items()]
    choice = [button(face, title=content, content=content) for content, face in _FACES.items()]
    picker = fold("☺ React", verb_form(visit, issue, "react", render_hidden(subject=anchor_of(subject)), choice))
    return div("reactions", given, picker)


def _count(face: str, content: str, given: Sequence[Reaction]) -> Html | None:
    who = [reaction.user.login for reaction in given if reaction.content == content]
    return element("span", f"{face} {len(who)}", class_="reaction", title=", ".join(who)) if who else None


def show_in_conversation(visit: Visit, thread: Thread) -> Html:
    """With the diff above it; collapsed once it is resolved or outdated, as on GitHub."""
    first = thread.comments[0]
    name = link(address(thread.pull, "files") + f"#{anchor_of(first)}", element("code", first.path))
    title = join(name, " ", _lines(first), _badges(thread))
    context = html.context(first.diff_hunk, max(_CONTEXT, _span(first))) if first.diff_hunk else None
    if thread.resolved or thread.outdated:
        return fold(title, context, comments(visit, thread), class_="thread")
    return div("thread", div("thread-title", title), context, comments(visit, thread))


def show_in_files(visit: Visit, thread: Thread) -> Html:
    if thread.resolved:
        return fold(join("Thread", _badges(thread)), comments(visit, thread), class_="thread")
    return div("thread", comments(visit, thread))


def comments(visit: Visit, thread: Thread) -> Html:
    return div("thread-body", [_comment(visit, comment) for comment in thread.comments], _answers(visit, thread))


def _comment(visit: Visit, comment: ReviewComment) -> Html:
    pull = comment.pull
    text = render(comment.body, Scope(pull.repository, _list_replaced(comment), _apply(visit, comment)))
    box = remark(
        visit,
        pull,
        comment.user,
        comment.created_at,
        anchor_of(comment),
        text,
        reactions(visit, pull, comment),
    )
    return minimise(comment.minimized, box)


def _answers(visit: Visit, thread: Thread) -> Html:
    pull, first = thread.pull, thread.comments[0]
    reply = fold(
        "Reply …",
        verb_form(visit, pull, "reply", tab(visit, comment=first.id), text_area("Reply"), button("Reply")),
    )
    word, value = ("Unresolve conversation", "no") if thread.resolved else ("Resolve conversation", "yes")
    resolve = verb_form(visit, pull, "resolve", tab(visit, thread=thread.id), button(word, resolved=value))
    return div("answers", reply, resolve)


def tab(visit: Visit, **fields: str | int) -> list[Content]:
    """The fields of a form that comes back to the tab it was on."""
    return render_hidden(tab="files" if visit.here.endswith("/files") else "", **fields)


def _apply(visit: Visit, comment: ReviewComment) -> Html | None:
    """Only where the lines still are what they were."""
    pull = comment.pull
    if comment.line is None or comment.side != "RIGHT" or pull.state != "open":
        return None
    return verb_form(visit, pull, "apply", tab(visit, comment=comment.id), button("Apply suggestion", class_="primary"))


def _list_replaced(comment: ReviewComment) -> list[str]:
    lines = [line.text[1:] for line in parse_hunks(comment.diff_hunk) if line.new is not None]
    return lines[-_span(comment) :] if comment.side == "RIGHT" else []


def _span(comment: ReviewComment) -> int:
    """How many lines the comment is about."""
    if comment.original_line is None:
        return 1
    return max(1, comment.original_line - (comment.original_start_line or comment.original_line) + 1)


def _lines(comment: ReviewComment) -> str:
    if comment.subject_type == "file":
        return "whole file"
    start, end = comment.start_line, comment.line
    if end is None:
        start, end = comment.original_start_line, comment.original_line
    return f"line {end}" if start is None else f"lines {start}–{end}"


def _badges(thread: Thread) -> list[Content]:
    outdated = span("badge warn", "Outdated") if thread.outdated else None
    resolved = span("badge good", "Resolved by ", person(thread.resolved_by)) if thread.resolved_by else None
    return [" ", outdated, resolved]


def list_threads(pull: PullRequest, review_id: int) -> list[Thread]:
    return [thread for thread in pull.threads if thread.comments[0].review.id == review_id]
