"""What the local GitHub knows: accounts, repositories, pull requests, reviews, checks, installations."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol

from simulator.gitstore import GitStore

Json = dict[str, Any]
Role = Literal["none", "read", "triage", "write", "maintain", "admin"]
Side = Literal["LEFT", "RIGHT"]
ROLES: tuple[Role, ...] = ("none", "read", "triage", "write", "maintain", "admin")
STALE_AFTER = timedelta(days=14)


def timestamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def copy(found: object, names: str) -> Json:
    """What the state and GitHub's JSON call by the same name; times as GitHub writes them.

    :param names: separated by blanks.
    """
    values = {name: getattr(found, name) for name in names.split()}
    return {name: timestamp(value) if isinstance(value, datetime) else value for name, value in values.items()}


@dataclass(eq=False)
class Account:
    id: int
    login: str
    type: Literal["User", "Organization", "Bot"] = "User"
    members: set[int] = field(default_factory=set[int])  # of an organisation: account ids
    owners: set[int] = field(default_factory=set[int])

    @property
    def email(self) -> str:
        return f"{self.id}+{self.login}@users.noreply.github.com"

    @property
    def signature(self) -> str:
        return f"{self.login} <{self.email}>"


@dataclass(eq=False)
class App:
    id: int
    slug: str
    name: str
    owner: Account
    bot: Account
    private_key_pem: str = ""
    public_key_pem: str = ""
    client_id: str = ""
    client_secret: str = ""
    permissions: dict[str, str] = field(default_factory=dict[str, str])
    events: list[str] = field(default_factory=list[str])
    setup_url: str = ""  # where people are sent after they installed it
    callback_urls: list[str] = field(default_factory=list[str])  # of signing in; any if there is none


@dataclass(frozen=True)
class Manifest:
    """A manifest that was registered and not yet converted."""

    content: Json
    registered_at: datetime


@dataclass(eq=False)
class Installation:
    id: int
    app: App
    account: Account
    created_at: datetime
    permissions: dict[str, str]
    repositories: dict[int, Repository] = field(default_factory=dict[int, "Repository"])
    has_all: bool = False  # of the account's repositories, and those made later, too
    suspended_at: datetime | None = None
    rate_limit: int = 5000

    def covers(self, repository: Repository) -> bool:
        return repository.id in self.repositories and not repository.deleted


@dataclass(eq=False)
class Token:
    """An installation's token; with `user` set a person's own, with `app` set that of a job of GitHub Actions.

    A person's token without permissions is a classic one, which may do what they may; one with some is fine-grained.
    """

    value: str
    expires_at: datetime
    installation: Installation | None = None
    user: Account | None = None
    app: App | None = None  # that a person signed in through, or whose job it is
    permissions: dict[str, str] = field(default_factory=dict[str, str])
    repository_ids: set[int] | None = None


@dataclass(frozen=True)
class SignInCode:
    """What a browser brings back from a sign-in; with a challenge, only who knows its verifier can use it."""

    account: Account
    redirect_uri: str
    challenge: str
    expires_at: datetime


@dataclass(eq=False)
class Label:
    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(eq=False)
class Reaction:
    id: int
    user: Account
    content: str
    created_at: datetime


@dataclass(frozen=True, eq=False)
class Edit:
    """Somebody changed a text."""

    id: int
    by: Account
    at: datetime


@dataclass(eq=False)
class IssueComment:
    id: int
    issue: Issue
    user: Account
    body: str
    created_at: datetime
    updated_at: datetime
    app: App | None = None
    minimized: str | None = None
    reactions: list[Reaction] = field(default_factory=list[Reaction])
    edits: list[Edit] = field(default_factory=list[Edit])

    @property
    def repository(self) -> Repository:
        return self.issue.repository


@dataclass(eq=False)
class Issue:
    id: int
    number: int
    repository: Repository
    user: Account
    title: str
    body: str | None
    created_at: datetime
    updated_at: datetime
    state: Literal["open", "closed"] = "open"
    closed_at: datetime | None = None
    app: App | None = None
    labels: list[Label] = field(default_factory=list[Label])
    comments: list[IssueComment] = field(default_factory=list[IssueComment])
    reactions: list[Reaction] = field(default_factory=list[Reaction])
    assignees: list[Account] = field(default_factory=list[Account])
    locked: bool = False
    edits: list[Edit] = field(default_factory=list[Edit])  # of the body
    renames: list[Edit] = field(default_factory=list[Edit])  # of the title


@dataclass(eq=False, kw_only=True)
class PullRequest(Issue):
    base_ref: str
    base_sha: str  # of the base branch when this was opened or retargeted: it stays behind the branch
    head_repository: Repository | None  # None once the fork is deleted
    head_owner: Account
    head_ref: str
    head_sha: str
    draft: bool = False
    merged_at: datetime | None = None
    merged_by: Account | None = None
    merge_commit_sha: str | None = None
    queued_head: str | None = None  # the trial merge, while it is in a merge queue
    merged_onto: str | None = None  # the base branch right before the merge
    mergeability: tuple[str, str] | None = None  # the (base, head) for which it was asked
    head_history: list[str] = field(default_factory=list[str])
    reviews: list[Review] = field(default_factory=list["Review"])
    threads: list[Thread] = field(default_factory=list["Thread"])
    reviewers: list[Account] = field(default_factory=list[Account])

    @property
    def from_fork(self) -> bool:
        return self.head_repository is not self.repository

    @property
    def base_tip(self) -> str:
        """What the head is compared with: the base branch as it is now, or was before the merge."""
        return self.merged_onto or self.repository.git.branch(self.base_ref) or self.base_sha

    def review_comments(self) -> list[ReviewComment]:
        found = [comment for thread in self.threads for comment in thread.comments]
        return sorted(found, key=lambda comment: comment.id)


ReviewState = Literal["PENDING", "COMMENTED", "APPROVED", "CHANGES_REQUESTED", "DISMISSED"]


@dataclass(eq=False)
class Review:
    id: int
    pull: PullRequest
    user: Account
    body: str
    state: ReviewState
    commit_id: str
    submitted_at: datetime | None
    app: App | None = None
    minimized: str | None = None
    reactions: list[Reaction] = field(default_factory=list["Reaction"])
    edits: list[Edit] = field(default_factory=list["Edit"])


@dataclass(eq=False)
class ReviewComment:
    id: int
    pull: PullRequest
    review: Review
    thread: Thread
    user: Account
    body: str
    path: str
    created_at: datetime
    updated_at: datetime
    commit_id: str
    original_commit_id: str
    diff_hunk: str
    line: int | None
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None
    original_line: int | None = None
    original_start_line: int | None = None
    position: int | None = None
    original_position: int | None = None
    subject_type: Literal["line", "file"] = "line"
    in_reply_to: int | None = None
    app: App | None = None
    minimized: str | None = None
    reactions: list[Reaction] = field(default_factory=list[Reaction])
    edits: list[Edit] = field(default_factory=list[Edit])

    @property
    def repository(self) -> Repository:
        return self.pull.repository


@dataclass(eq=False)
class Thread:
    id: int
    pull: PullRequest
    comments: list[ReviewComment] = field(default_factory=list[ReviewComment])
    resolved_by: Account | None = None
    outdated: bool = False

    @property
    def node_id(self) -> str:
        return f"PRRT_{self.id}"

    @property
    def resolved(self) -> bool:
        return self.resolved_by is not None


@dataclass(eq=False)
class CheckSuite:
    id: int
    repository: Repository
    app: App
    head_sha: str
    head_branch: str | None
    before: str | None
    created_at: datetime
    updated_at: datetime
    runs: list[CheckRun] = field(default_factory=list["CheckRun"])
    announced: bool = False  # completed was sent for the present set of runs


@dataclass(eq=False)
class CheckRun:
    id: int
    repository: Repository
    suite: CheckSuite
    name: str
    head_sha: str
    status: str
    conclusion: str | None
    external_id: str
    details_url: str | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[Json] = field(default_factory=list[Json])
    actions: list[Json] = field(default_factory=list[Json])

    @property
    def app(self) -> App:
        return self.suite.app


@dataclass(eq=False)
class DeploymentStatus:
    id: int
    state: str
    creator: Account
    created_at: datetime
    description: str
    environment_url: str
    log_url: str


@dataclass(eq=False)
class Deployment:
    id: int
    repository: Repository
    sha: str
    ref: str
    task: str
    environment: str
    description: str | None
    payload: Any
    creator: Account
    created_at: datetime
    transient: bool = False
    production: bool = False
    statuses: list[DeploymentStatus] = field(default_factory=list[DeploymentStatus])

    @property
    def state(self) -> str:
        """The newest word, as GitHub's pages show it."""
        return self.statuses[-1].state if self.statuses else "pending"


@dataclass(eq=False)
class WorkflowRun:
    id: int
    repository: Repository
    name: str
    head_sha: str
    head_branch: str
    event: str
    status: str
    conclusion: str | None
    created_at: datetime
    updated_at: datetime
    run_attempt: int = 1
    path: str = ""
    title: str = ""  # of this run, where it is not the workflow's name
    suite: CheckSuite | None = None  # None: its jobs were not told
    jobs: list[WorkflowJob] = field(default_factory=list["WorkflowJob"])  # of every attempt


Play = Callable[[Mapping[str, str], str], Awaitable[str | None]]
"""What a dispatched workflow does: from its inputs and the commit to a conclusion; None: it goes on running."""


@dataclass(eq=False)
class Stage:
    """What the dispatched workflows of the test's repositories do."""

    plays: dict[tuple[int, str], Play] = field(default_factory=dict[tuple[int, str], Play])  # by repository and file
    playing: dict[int, asyncio.Task[None]] = field(default_factory=dict[int, "asyncio.Task[None]"])  # by run
    tells_run: bool = True  # False: as an older GitHub answers a dispatch


@dataclass(frozen=True)
class Link:
    """An address that shows a job's log to whoever holds it."""

    job: WorkflowJob
    until: datetime


@dataclass(eq=False)
class WorkflowJob:
    """A job is shown as a check run of the same id, in the suite of its workflow run."""

    check: CheckRun
    attempt: int
    log: str
    log_expired: bool = False


@dataclass(frozen=True)
class Activity:
    """A move of a branch, as the list of a repository's activities has it."""

    id: int
    ref: str
    before: str
    after: str
    kind: str
    actor: Account
    at: datetime


@dataclass(eq=False)
class CommitStatus:
    id: int
    sha: str
    context: str
    state: str
    creator: Account
    created_at: datetime
    description: str | None = None
    target_url: str | None = None


@dataclass(eq=False)
class BranchRules:
    """What one branch protection, or one ruleset, asks for."""

    id: int
    ruleset: bool
    checks: dict[str, int | None] = field(default_factory=dict[str, "int | None"])  # name: the only App that counts
    approvals: int = 0
    methods: set[str] = field(default_factory=set[str])  # ways of merging; empty: all
    dismisses_stale: bool = False  # approvals are dismissed when something is pushed
    signed: bool = False  # only verified commits may be pushed; here only those are that Apps make over REST
    linear: bool = False  # no merge may be pushed; alone, nothing else is refused
    bypassed: bool = False  # by Apps
    queue: bool = False  # what is merged goes through a merge queue

    @property
    def binds_signatures(self) -> bool:
        """Whether Apps, too, may push only signed commits."""
        return self.signed and not self.bypassed


@dataclass(eq=False)
class Repository:
    id: int
    owner: Account
    name: str
    private: bool
    default_branch: str
    git: GitStore
    created_at: datetime
    parent: Repository | None = None
    deleted: bool = False
    roles: dict[int, Role] = field(default_factory=dict[int, Role])
    custom_roles: dict[int, str] = field(default_factory=dict[int, str])
    labels: dict[str, Label] = field(default_factory=dict[str, Label])
    issues: dict[int, Issue] = field(default_factory=dict[int, Issue])
    suites: list[CheckSuite] = field(default_factory=list[CheckSuite])
    deployments: list[Deployment] = field(default_factory=list[Deployment])
    workflow_runs: list[WorkflowRun] = field(default_factory=list[WorkflowRun])
    sarif_uploads: list[Json] = field(default_factory=list[Json])
    statuses: list[CommitStatus] = field(default_factory=list[CommitStatus])
    activities: list[Activity] = field(default_factory=list[Activity])
    lists_activities: bool = True  # old Enterprise Servers have no such list
    rules: dict[str, list[BranchRules]] = field(default_factory=dict[str, list[BranchRules]])  # by pattern of branches
    merge_methods: set[str] = field(default_factory=lambda: {"merge", "squash"})
    drafts: bool = True  # private repositories without a paid plan have none
    dependency_graph: bool = True
    archived: bool = False
    has_issues: bool = True
    dependency_changes: list[Json] = field(default_factory=list[Json])

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    def pulls(self) -> list[PullRequest]:
        return [issue for issue in self.issues.values() if isinstance(issue, PullRequest)]

    def open_pulls_from(self, head: Repository, branch: str) -> list[PullRequest]:
        return [
            pull
            for pull in self.pulls()
            if pull.state == "open" and pull.head_repository is head and pull.head_ref == branch
        ]

    def role_of(self, account: Account) -> Role:
        """The account's live role: owners are admins, everybody may read what is public."""
        if account is self.owner or account.id in self.owner.owners:
            return "admin"
        granted = self.roles.get(account.id, "none")
        member = account.id in self.owner.members
        floor: Role = "read" if member or not self.private else "none"
        return ROLES[max(ROLES.index(granted), ROLES.index(floor))]

    def allows(self, account: Account, role: Role) -> bool:
        return ROLES.index(self.role_of(account)) >= ROLES.index(role)

    def collaborators(self, world: World) -> list[Account]:
        """Everybody who was given access. Who may only read what is public is none of them, nor is an organisation."""
        given = {who for who, role in self.roles.items() if role != "none"}
        given |= self.owner.members | self.owner.owners | {self.owner.id}
        return [who for who in world.accounts.values() if who.id in given and who.type != "Organization"]


class Hooks(Protocol):
    """Where events go: the signed deliveries of `simulator.webhooks`."""

    def send(
        self, event: str, payload: Json, installation: Installation | None, repository: Repository | None
    ) -> None: ...


class PublishedSchema(Protocol):
    """What GitHub publishes of its GraphQL, to hold questions and answers to."""

    def find_mistakes(self, query: str, variables: Json) -> Sequence[str]:
        """Why GitHub would refuse an operation; nothing where it would not."""
        ...

    def find_differences(self, query: str, variables: Json, data: Json) -> Sequence[str]:
        """Where an answer is not of the types that were asked for."""
        ...


@dataclass(eq=False)
class World:
    data_dir: Path
    now: Callable[[], datetime]
    app: App
    hooks: Hooks
    ids: itertools.count[int]
    small_ids: itertools.count[int]  # of accounts and repositories
    url: str = ""
    accounts: dict[str, Account] = field(default_factory=dict[str, Account])  # by lower-case login
    apps: dict[str, App] = field(default_factory=dict[str, App])
    repositories: dict[int, Repository] = field(default_factory=dict[int, Repository])
    old_names: dict[str, int] = field(default_factory=dict[str, int])
    installations: dict[int, Installation] = field(default_factory=dict[int, Installation])
    tokens: dict[str, Token] = field(default_factory=dict[str, Token])
    check_runs: dict[int, CheckRun] = field(default_factory=dict[int, CheckRun])
    comments: dict[int, IssueComment] = field(default_factory=dict[int, IssueComment])
    review_comments: dict[int, ReviewComment] = field(default_factory=dict[int, ReviewComment])
    manifests: dict[str, Manifest] = field(default_factory=dict[str, "Manifest"])  # by code
    sign_ins: dict[str, SignInCode] = field(default_factory=dict[str, "SignInCode"])  # by OAuth code
    links: dict[str, Link] = field(default_factory=dict[str, "Link"])  # to logs, by the key in their address
    stage: Stage = field(default_factory=Stage)
    graphql_schema: PublishedSchema | None = None
    signs_commits: bool = True  # what Apps make over REST; an Enterprise Server does only if its admin wants it
    unpublished: list[str] = field(default_factory=list[str])  # where an answer was not as the schema says

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/v3"

    def next_id(self) -> int:
        return next(self.ids)

    def account(self, login: str, kind: Literal["User", "Organization", "Bot"] = "User") -> Account:
        """The account of that login, made on first use."""
        key = login.lower()
        if key not in self.accounts:
            self.accounts[key] = Account(next(self.small_ids), login, kind)
        return self.accounts[key]

    def repository(self, full_name: str) -> Repository | None:
        wanted = full_name.lower()
        living = (repository for repository in self.repositories.values() if not repository.deleted)
        return next((repository for repository in living if repository.full_name.lower() == wanted), None)

    def installation_of(self, repository: Repository) -> Installation | None:
        found = self.installations.values()
        return next((installation for installation in found if installation.covers(repository)), None)

    def other_app(self, slug: str) -> App:
        """An App that is not ours, such as github-actions."""
        if slug not in self.apps:
            bot = self.account(f"{slug}[bot]", "Bot")
            self.apps[slug] = App(self.next_id(), slug, slug.replace("-", " ").title(), self.account("github"), bot)
        return self.apps[slug]

    def all_pulls(self) -> list[PullRequest]:
        return [pull for repository in self.repositories.values() for pull in repository.pulls()]

    def new_token(self, prefix: str, lifetime: timedelta) -> Token:
        value = prefix + secrets.token_urlsafe(60).replace("-", "A").replace("_", "B")
        token = Token(value, self.now() + lifetime)
        self.tokens[token.value] = token
        return token
