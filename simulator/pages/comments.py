"""Comments and threads as boxes: who said it and when, the lines it is about, the text, the reactions to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from simulator.diff import parse_hunks
from simulator.json import repositories as repository_json
from simulator.pages import html
from simulator.pages.html import Content, Html, button, div, element, fold, join, link, render_hidden, span, text_area
from simulator.pages.layout import moment, person, verb_form
from simulator.pages.markdown import Scope, render
from simulator.pages.session import Visit, address
from simulator.state import Account, Issue, IssueComment, PullRequest, Reaction, Review, ReviewComment, Thread

Subject = Issue | IssueComment | Review | ReviewComment
_FACES: dict[str, str] = dict(
    zip(repository_json.REACTIONS, ("👍", "👎", "😄", "😕", "❤️", "🎉", "🚀", "👀"), strict=True)
)


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


_CONTEXT = 4


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
