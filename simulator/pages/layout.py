"""The frame of every page: where you are, who you are acting as, and the small pieces pages share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from simulator.pages import html
from simulator.pages.html import (
    Content,
    Html,
    Visit,
    address,
    button,
    div,
    element,
    fold,
    form,
    join,
    link,
    path,
    render_hidden,
    span,
)
from simulator.state import Account, Issue, PullRequest, Repository

_STYLE = Html(Path(__file__).with_name("style.css").read_text(encoding="utf-8"))


def page(
    visit: Visit,
    title: str,
    *content: Content,
    repository: Repository | None = None,
    issue: Issue | None = None,
    refresh: int | None = None,
) -> Html:
    """A whole document; with `refresh` it loads again every so many seconds."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="refresh", content=refresh) if refresh else None,
        element("title", f"{title} · simulated GitHub"),
        element("style", _STYLE),
    )
    body = element("body", _header(visit, repository, issue), element("main", *content))
    return join(Html("<!doctype html>"), element("html", head, body, lang="en"))


def _header(visit: Visit, repository: Repository | None, issue: Issue | None) -> Html:
    crumbs: list[Content] = [link("/", "Simulated GitHub", class_="home")]
    if repository is not None:
        crumbs += [link(path(repository.owner.login), repository.owner.login), " / "]
        crumbs += [link(address(repository), repository.name), " private" if repository.private else None]
    return element("header", element("nav", *crumbs), _person_switch(visit, repository, issue))


def _person_switch(visit: Visit, repository: Repository | None, issue: Issue | None) -> Html:
    """The switch between people, which the real GitHub does not have."""
    viewer = visit.viewer

    def person(who: Account) -> Html:
        role = span("quiet", html.describe_role(who, repository, issue)) if repository else None
        name = element("b", who.login, " ✓" if who is viewer else None)
        return element("button", name, role, type="submit", name="login", value=who.login)

    other = element("input", name="other", placeholder="Somebody new: a login", aria_label="A new login", maxlength=39)
    known = form("/acting", render_hidden(back=visit.here), [person(who) for who in html.people(visit.world)])
    new = form("/acting", render_hidden(back=visit.here), other, button("Act as"), class_="row")
    now = ["Acting as ", element("b", viewer.login) if viewer else "nobody"]
    part = span("quiet", html.describe_role(viewer, repository, issue)) if viewer and repository else None
    note = element("p", "A feature of the simulation: choose who you are. The real GitHub asks you to sign in.")
    return fold([now, " ", part], div("menu", note, known, new), class_="acting")


def person(who: Account) -> Html:
    return join(link(path(who.login), who.login, class_="person"), span("badge", "bot") if who.type == "Bot" else None)


def moment(when: datetime | None) -> Html | None:
    if when is None:
        return None
    when = when.astimezone(UTC)
    return element("time", f"{when:%Y-%m-%d %H:%M} UTC", datetime=f"{when:%Y-%m-%dT%H:%M:%SZ}")


def state_badge(issue: Issue) -> Html:
    state = state_of(issue)
    return span(f"state {state}", state.capitalize())


def state_of(issue: Issue) -> str:
    if not isinstance(issue, PullRequest):
        return issue.state
    if issue.merged_at is not None:
        return "merged"
    return "draft" if issue.draft and issue.state == "open" else issue.state


def label_badge(name: str, color: str) -> Html:
    """The colour comes from the App, so only a plain one is taken."""
    plain = color if len(color) == 6 and all(letter in "0123456789abcdefABCDEF" for letter in color) else "888888"
    return element("span", name, class_="label", style=f"border-color:#{plain}")


def verb_form(visit: Visit, issue: Issue, verb: str, *content: Content, class_: str | None = None) -> Html:
    """A form that does something to an issue or pull request; what the viewer may not do is dimmed and says why."""
    refused = html.refusal(visit.viewer, issue, verb)
    classes = " ".join(part for part in (class_, "denied" if refused else None) if part)
    why = span("why", refused) if refused else None
    return form(address(issue, verb), *content, why, class_=classes or None)


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
