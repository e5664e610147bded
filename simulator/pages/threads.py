"""A review thread: the lines it is about, its comments, and what can be done with it."""

from __future__ import annotations

from simulator.diff import parse_hunks
from simulator.pages import tables
from simulator.pages.comments import anchor_of, minimise, reactions, remark
from simulator.pages.html import Content, Html, button, div, element, fold, join, link, render_hidden, span, text_area
from simulator.pages.layout import person, verb_form
from simulator.pages.markdown import Scope, render
from simulator.pages.session import Visit, address
from simulator.state import PullRequest, ReviewComment, Thread

_CONTEXT = 4


def show_in_conversation(visit: Visit, thread: Thread) -> Html:
    """With the diff above it; collapsed once it is resolved or outdated, as on GitHub."""
    first = thread.comments[0]
    name = link(address(thread.pull, "files") + f"#{anchor_of(first)}", element("code", first.path))
    title = join(name, " ", _lines(first), _badges(thread))
    context = tables.context(first.diff_hunk, max(_CONTEXT, _span(first))) if first.diff_hunk else None
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
