"""Who may do what on a page: one table, asked before a button is drawn and again when it is pressed."""

from __future__ import annotations

from simulator.state import Account, Issue, PullRequest, Repository, Role, World

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
