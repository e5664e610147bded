"""One request of a browser: who is acting, on what, with which fields, and what they may do.

That is one table, asked before a button is drawn and again when it is pressed.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote

from simulator.diff import DiffLine, parse_hunks
from simulator.errors import not_found
from simulator.state import Account, CheckRun, Issue, PullRequest, Repository, ReviewComment, Role, Thread, World
from simulator.user import User


@dataclass(frozen=True)
class Html:
    """Markup that is safe to send. Not a string, so that it cannot be mixed up with text."""

    text: str


Content: TypeAlias = "Html | str | int | Sequence[Content] | None"
_VOID = ("br", "col", "hr", "input", "link", "meta")


def link(target: str, *children: Content, class_: str | None = None) -> Html:
    return element("a", *children, href=target, class_=class_)


def form(action: str, *children: Content, class_: str | None = None) -> Html:
    return element("form", *children, method="post", action=action, class_=class_)


_ICONS = {
    "success": ("✓", "good"),
    "failure": ("✗", "bad"),
    "timed_out": ("✗", "bad"),
    "action_required": ("!", "warn"),
    "stale": ("!", "warn"),
    "neutral": ("■", "quiet"),
    "skipped": ("⊘", "quiet"),
    "cancelled": ("⊘", "quiet"),
    "in_progress": ("◐", "warn"),
    "error": ("✗", "bad"),
    "inactive": ("⊘", "quiet"),
}
_KINDS = {"+": "added", "-": "removed"}
LineContent = Callable[[DiffLine], Content]


COOKIE = "acting_as"


@dataclass(frozen=True)
class Visit:
    world: World
    here: str  # the address asked for
    params: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    login: str | None  # from the cookie

    @property
    def viewer(self) -> Account | None:
        """The person chosen; at first the one who came first."""
        known = people(self.world)
        chosen = (who for who in known if who.login == self.login)
        return next(chosen, known[0] if known else None)

    @property
    def user(self) -> User:
        if self.viewer is None:
            raise PermissionError("Choose first who you are.")
        return User(self.world, self.viewer)

    def sees(self, repository: Repository) -> bool:
        if repository.deleted:
            return False
        return not repository.private or (self.viewer is not None and repository.allows(self.viewer, "read"))

    def repository(self) -> Repository:
        found = self.world.repository(f"{self.params['owner']}/{self.params['repo']}")
        if found is None or not self.sees(found):
            raise not_found()
        return found

    def issue(self) -> Issue:
        found = self.repository().issues.get(int(self.params["number"]))
        if found is None:
            raise not_found()
        return found

    def pull(self) -> PullRequest:
        found = self.issue()
        if not isinstance(found, PullRequest):
            raise not_found()
        return found

    def number(self, name: str) -> int:
        """A number of the form, 0 if there is none."""
        text = self.form.get(name, "")
        return int(text) if text.isdecimal() else 0

    def check_run(self, repository: Repository, identifier: int) -> CheckRun:
        found = self.world.check_runs.get(identifier)
        if found is None or found.repository is not repository:
            raise not_found()
        return found

    def review_comment(self, pull: PullRequest) -> ReviewComment:
        found = self.world.review_comments.get(self.number("comment"))
        if found is None or found.pull is not pull:
            raise not_found()
        return found

    def thread(self, pull: PullRequest) -> Thread:
        found = next((thread for thread in pull.threads if thread.id == self.number("thread")), None)
        if found is None:
            raise not_found()
        return found


def address(subject: Repository | Issue, *more: str | int) -> str:
    """Where the subject's page is."""
    if isinstance(subject, Repository):
        return path(*subject.full_name.split("/"), *more)
    kind = "pull" if isinstance(subject, PullRequest) else "issues"
    return address(subject.repository, kind, subject.number, *more)


_WORDS: dict[Role, str] = {
    "none": "no access",
    "read": "reader",
    "triage": "triager",
    "write": "collaborator",
    "maintain": "maintainer",
    "admin": "admin",
}
# What a verb needs, and whether being the author of the issue or pull request does as well.
_NEEDS: dict[str, tuple[Role, bool]] = {
    "comment": ("read", False),
    "react": ("read", False),
    "review": ("read", False),
    "line": ("read", False),
    "reply": ("read", False),
    "press": ("read", False),  # the App must ask for the role itself
    "rerun": ("read", False),
    "labels": ("triage", False),
    "state": ("triage", True),
    "ready": ("write", True),
    "resolve": ("write", True),
    "apply": ("write", False),
    "merge": ("write", False),
}


def people(world: World) -> list[Account]:
    """Everybody one may act as, oldest first; the accounts that GitHub itself needs are no people."""
    ours = ("app-owner", "ghost", "github")
    return [who for who in world.accounts.values() if who.type == "User" and who.login not in ours]


def describe_role(who: Account, repository: Repository, issue: Issue | None = None) -> str:
    """The person's part here in words: ``author · collaborator (write)``."""
    role = repository.role_of(who)
    known = who.id in repository.roles or who.id in repository.owner.members
    word = "stranger" if role == "read" and not known else _WORDS[role]
    parts = ["author"] if issue is not None and issue.user is who else []
    custom = repository.custom_roles.get(who.id)
    return " · ".join([*parts, f"{word} ({custom or role})"])


def refusal(who: Account | None, issue: Issue, verb: str) -> str | None:
    """Why the person may not do that, None if they may."""
    if who is None:
        return "Choose first who you are."
    needed, author_may = _NEEDS[verb]
    repository = _target_repository(issue, verb)
    if repository is None:
        return "The repository of the head branch is gone."
    if repository.allows(who, needed) or (author_may and who is issue.user and repository.allows(who, "read")):
        return None
    authors = f" or the author of #{issue.number}" if author_may else ""
    held = repository.role_of(who)
    return f"Only people with the role {needed}{authors} may do this. {who.login} has {held} on {repository.full_name}."


def _target_repository(issue: Issue, verb: str) -> Repository | None:
    """A suggestion is committed to the head branch, which may be in a fork."""
    return issue.head_repository if verb == "apply" and isinstance(issue, PullRequest) else issue.repository


def element(name: str, /, *children: Content, **attributes: str | int | bool | None) -> Html:
    """`element("a", "text", href="/x", class_="y")`; True is a bare attribute, False and None leave it out."""
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start if name in _VOID else f"{start}{join(*children).text}</{name}>")


def join(*children: Content) -> Html:
    return Html("".join(_markup(child) for child in children))


def _markup(child: Content) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child.text
    if isinstance(child, str | int):
        return html.escape(str(child))
    return "".join(_markup(item) for item in child)


def _attribute(key: str, value: str | int | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def div(class_: str, *children: Content) -> Html:
    return element("div", *children, class_=class_)


def span(class_: str, *children: Content) -> Html:
    return element("span", *children, class_=class_)


def path(*parts: str | int) -> str:
    """An address of this site, each part quoted; a slash within a part does not divide."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def render_hidden(**fields: str | int | None) -> list[Content]:
    return [element("input", type="hidden", name=key, value=value) for key, value in fields.items()]


def button(label: str, *, title: str | None = None, class_: str | None = None, **field: str) -> Html:
    """A submit button; at most one keyword more is the field it sends."""
    name, value = next(iter(field.items()), (None, None))
    return element("button", label, type="submit", name=name, value=value, title=title, class_=class_)


def text_area(label: str, *, name: str = "body", rows: int = 4, value: str = "") -> Html:
    # A browser drops the first line break, so one is put before it.
    content = Html(f"\n{html.escape(value)}")
    return element("textarea", content, name=name, rows=rows, placeholder=label, aria_label=label)


def fold(summary: Content, *children: Content, class_: str | None = None, is_open: bool = False) -> Html:
    return element("details", element("summary", summary), *children, class_=class_, open=is_open)


def state_of(run: CheckRun) -> str:
    return run.conclusion or run.status


def icon(run: CheckRun) -> Html:
    return icon_of(state_of(run))


def icon_of(state: str) -> Html:
    symbol, kind = _ICONS.get(state, ("○", "warn"))
    return span(f"icon {kind}", symbol)


def blocks(run: CheckRun) -> bool:
    """Whether a rule that requires this check would hold the merge."""
    return run.conclusion not in ("success", "neutral", "skipped")


def anchor_of(path: str) -> str:
    """Where a file's diff stands, as GitHub names it, so that links made for GitHub lead here too."""
    return f"diff-{hashlib.sha256(path.encode()).hexdigest()}"


def _row(old: Content, new: Content, text: str, identifier: str | None = None) -> Html:
    return element(
        "tr",
        element("td", old, class_="number"),
        element("td", new, class_="number"),
        element("td", text, class_="code"),
        class_=_KINDS.get(text[:1]),
        id=identifier,
    )


def across(*content: Content, class_: str) -> Html:
    """A row over the whole width of a diff."""
    return element("tr", element("td", *content, colspan=3), class_=class_)


def render_table(*rows: Content) -> Html:
    columns = [element("col", class_="number"), element("col", class_="number"), element("col")]
    return div("diff", element("table", element("colgroup", columns), *rows))


def render_change(old: Sequence[str], new: Sequence[str]) -> Html:
    rows = [_row("", "", f"-{line}") for line in old] + [_row("", "", f"+{line}") for line in new]
    return render_table(rows or across("Nothing: the lines are removed", class_="hunk"))


def context(hunk: str, lines: int) -> Html:
    """The last lines of a hunk, as they stand above a comment."""
    shown = parse_hunks(hunk)[-lines:]
    return render_table([_row(line.old, line.new, line.text) for line in shown])


def hunks(patch: str, lines: Sequence[DiffLine], anchor: str, below: LineContent, number: LineContent) -> Html:
    """A file's diff; `below` gives what stands under a line, `number` what stands beside its number."""
    headers = [text for text in patch.split("\n") if text.startswith("@@")]
    rows: list[Content] = []
    hunk = -1
    for line in lines:
        if line.hunk != hunk:
            hunk = line.hunk
            rows.append(across(headers[hunk], class_="hunk"))
        identifier = f"{anchor}R{line.new}" if line.new is not None else f"{anchor}L{line.old}"
        old = [line.old, number(line)] if line.new is None else line.old
        new = [line.new, number(line)] if line.new is not None else None
        rows += [_row(old, new, line.text, identifier), below(line)]
    return render_table(*rows)
