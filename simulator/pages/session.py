"""One request of a browser: who is acting, on what, with which fields, and what they may do.

That is one table, asked before a button is drawn and again when it is pressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.errors import not_found
from simulator.pages.html import path
from simulator.state import Account, CheckRun, Issue, PullRequest, Repository, ReviewComment, Role, Thread, World
from simulator.user import User

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
