"""A comment as a box: who said it and when, the text, and the reactions to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from simulator.json import repositories as repository_json
from simulator.pages.html import Content, Html, button, div, element, fold, link, render_hidden, span
from simulator.pages.layout import moment, person, verb_form
from simulator.pages.session import Visit
from simulator.state import Account, Issue, IssueComment, Reaction, Review, ReviewComment

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
