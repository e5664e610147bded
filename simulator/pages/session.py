"""One request of a browser: who is acting, on what, with which fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.errors import not_found
from simulator.pages import roles
from simulator.pages.html import path
from simulator.state import Account, CheckRun, Issue, PullRequest, Repository, ReviewComment, Thread, World
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
        people = roles.people(self.world)
        chosen = (who for who in people if who.login == self.login)
        return next(chosen, people[0] if people else None)

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
