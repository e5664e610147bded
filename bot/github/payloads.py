"""The parts of GitHub's answers that Forge reads, validated, and how they become the domain's words."""

from typing import Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from bot.github.errors import bad_answer
from domain.github.checks import CheckRunRef
from domain.github.deliveries import DeliveryAttempt
from domain.github.dependencies import DependencyChange, Vulnerability
from domain.github.issues import Issue, IssueComment, digest_wording
from domain.github.merging import MergeMethod, ReportedCheck, RequiredCheck
from domain.github.pull_requests import Branch, PullRequest
from domain.text.redaction import redact_outgoing

Shape = TypeVar("Shape", bound=BaseModel)

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
"""From the least to the most."""

GHOST_ID = 10137  # GitHub's account that stands for deleted ones
GHOST_LOGIN = "ghost"


def parse(shape: type[Shape], data: object, purpose: str) -> Shape:
    """``data`` as the shape GitHub documents.

    :raises Unavailable: it is not; the message names the fields, never their values.
    """
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        raise bad_answer(purpose, _describe_place(error)) from None


def parse_all(shape: type[Shape], items: list[object], purpose: str) -> list[Shape]:
    """Each item as ``shape``; one surprising item spoils the list, so that nothing is ever left out in silence."""
    return [parse(shape, item, purpose) for item in items]


def _describe_place(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return ", ".join(f"{'.'.join(map(str, one['loc'])) or 'the answer'}: {one['type']}" for one in problems[:3])


class Account(BaseModel):
    id: int
    login: str
    type: str = "User"


class Repository(BaseModel):
    id: int
    default_branch: str = ""


class RepositoryHome(Repository):
    """A repository as it is asked for by itself, under the name and owner it has now."""

    url: str
    owner: Account
    default_branch: str = Field(min_length=1)

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]


class BranchTip(BaseModel):
    """A branch, where only what it points to matters."""

    class _Commit(BaseModel):
        sha: str

    name: str
    commit: _Commit

    def to_domain(self) -> Branch:
        return Branch(name=self.name, head_sha=self.commit.sha)


class _Head(BaseModel):
    sha: str
    ref: str
    repo: Repository | None


class _Base(BaseModel):
    sha: str
    ref: str
    repo: Repository


class ListedPull(BaseModel):
    """A pull request as lists show it: without the number of its files."""

    number: int
    state: Literal["open", "closed"]
    head: _Head

    def comes_from(self, repository_id: int, branch: str) -> bool:
        return self.head.repo is not None and (self.head.repo.id, self.head.ref) == (repository_id, branch)


class Pull(BaseModel):
    number: int
    node_id: str = ""
    title: str
    state: Literal["open", "closed"]
    draft: bool = False
    head: _Head
    base: _Base
    user: Account | None
    author_association: str = "NONE"
    changed_files: int
    merged: bool = False
    merge_commit_sha: str | None = None  # of an open pull request: GitHub's trial merge
    updated_at: AwareDatetime | None = None

    def to_domain(self) -> PullRequest:
        author = self.user or Account(id=GHOST_ID, login=GHOST_LOGIN)
        return PullRequest(
            number=self.number,
            title=redact_outgoing(self.title),
            is_open=self.state == "open",
            is_draft=self.draft,
            head_sha=self.head.sha,
            head_ref=self.head.ref,
            head_repository_id=self.head.repo.id if self.head.repo else None,
            base_sha=self.base.sha,
            base_ref=self.base.ref,
            author_id=author.id,
            author_login=author.login,
            author_is_bot=author.type == "Bot",
            author_association=self.author_association,
            changed_files=self.changed_files,
            is_merged=self.merged,
            default_branch=self.base.repo.default_branch,
            updated_at=self.updated_at,
        )


class _LabelShown(BaseModel):
    name: str | None


class _AuthoredText(BaseModel):
    """What a person or an App wrote, over REST; ``user`` is missing where the account was deleted."""

    user: Account | None
    author_association: str = "NONE"
    body: str | None = None

    @property
    def author_id(self) -> int | None:
        return None if self.user is None or self.user.id == GHOST_ID else self.user.id

    @property
    def author_login(self) -> str:
        return self.user.login if self.user else GHOST_LOGIN


class IssueShown(_AuthoredText):
    """An issue; labels may be names alone."""

    url: str
    number: int
    title: str
    state: Literal["open", "closed"]
    labels: tuple[str | _LabelShown, ...]
    pull_request: dict[str, object] | None = None
    updated_at: AwareDatetime | None = None

    def to_domain(self) -> Issue:
        names = (one if isinstance(one, str) else one.name for one in self.labels)
        return Issue(
            number=self.number,
            title=redact_outgoing(self.title),
            body=redact_outgoing(self.body or ""),
            is_open=self.state == "open",
            author_id=self.author_id,
            author_login=self.author_login,
            author_association=self.author_association,
            labels=tuple(name for name in names if name),
            is_pull_request=self.pull_request is not None,
            updated_at=self.updated_at,
            wording=digest_wording(self.title, self.body),
        )


class IssueCommentShown(_AuthoredText):
    id: int
    issue_url: str
    created_at: AwareDatetime
    updated_at: AwareDatetime
    performed_via_github_app: dict[str, object] | None = None

    def to_domain(self) -> IssueComment:
        is_bot = self.user is not None and self.user.type == "Bot"
        return IssueComment(
            id=self.id,
            author_id=self.author_id,
            author_login=self.author_login,
            is_app=is_bot or self.performed_via_github_app is not None,
            author_association=self.author_association,
            body=self.body or "",
            created_at=self.created_at,
            is_edited=self.updated_at != self.created_at,
        )


class File(BaseModel):
    """An entry of the contents endpoint; files above 1 MB come with encoding ``none`` and must be read as a blob."""

    type: str
    sha: str
    size: int
    encoding: str | None = None
    content: str | None = None


class Blob(BaseModel):
    encoding: Literal["base64"]
    content: str
    size: int


class _Advisory(BaseModel):
    severity: Literal["low", "moderate", "high", "critical"]
    advisory_ghsa_id: str
    advisory_summary: str
    advisory_url: str


class Dependency(BaseModel):
    change_type: Literal["added", "removed"]
    manifest: str
    ecosystem: str
    name: str
    version: str
    license: str | None = None
    vulnerabilities: tuple[_Advisory, ...] = ()

    def to_domain(self) -> DependencyChange:
        return DependencyChange(
            added=self.change_type == "added",
            manifest=self.manifest,
            ecosystem=self.ecosystem,
            name=self.name,
            version=self.version,
            licence=self.license,
            vulnerabilities=tuple(
                Vulnerability(
                    severity=one.severity,
                    advisory=one.advisory_ghsa_id,
                    summary=one.advisory_summary,
                    url=one.advisory_url,
                )
                for one in self.vulnerabilities
            ),
        )


class App(BaseModel):
    slug: str
    permissions: dict[str, Literal["none", "read", "write", "admin"]] = {}


class Hook(BaseModel):
    """Where the App's webhooks go; GitHub shows of a secret that there is one."""

    url: str | None = None
    secret: str | None = None
    insecure_ssl: str | float = "0"


class InstallationAccount(BaseModel):
    login: str


class InstallationShown(BaseModel):
    """A place where the App is installed."""

    account: InstallationAccount | None = None
    suspended_at: str | None = None


class AttemptShown(BaseModel):
    """A line of the log of deliveries."""

    id: int
    guid: str = Field(min_length=1, max_length=200)
    event: str
    delivered_at: AwareDatetime
    status_code: int | None = None

    def to_domain(self) -> DeliveryAttempt:
        return DeliveryAttempt(
            id=self.id,
            guid=self.guid,
            event=self.event[:100],
            at=self.delivered_at,
            status_code=self.status_code or 0,
        )


class CheckRunShown(BaseModel):
    id: int
    external_id: str | None = None
    head_sha: str
    status: str
    conclusion: str | None = None

    def to_domain(self) -> CheckRunRef:
        return CheckRunRef(
            id=self.id,
            external_id=self.external_id or "",
            head_sha=self.head_sha,
            is_completed=self.status == "completed",
            conclusion=self.conclusion,
        )


class _OutputShown(BaseModel):
    annotations_count: int


class AnnotatedShown(BaseModel):
    """A check run where only the number of its annotations matters."""

    output: _OutputShown


class AnnotationShown(BaseModel):
    path: str
    start_line: int
    end_line: int
    annotation_level: str | None
    title: str | None = None
    message: str | None


class ReviewShown(BaseModel):
    id: int
    user: Account | None
    body: str | None
    state: str = ""
    commit_id: str | None = None


class LineShown(BaseModel):
    """An inline comment of a review. That endpoint may leave the newer fields out."""

    path: str
    body: str | None
    line: int | None = None
    original_line: int | None = None


class Created(BaseModel):
    id: int


class MergeAnswer(BaseModel):
    sha: str
    merged: bool


class MergeSettings(Repository):
    """How a repository merges; GitHub leaves the settings out for tokens with few permissions."""

    allow_merge_commit: bool | None = None
    allow_squash_merge: bool | None = None
    allow_rebase_merge: bool | None = None

    def allows(self, way: MergeMethod) -> bool:
        """Whether it is not known to be closed."""
        settings = {
            MergeMethod.merge: self.allow_merge_commit,
            MergeMethod.squash: self.allow_squash_merge,
            MergeMethod.rebase: self.allow_rebase_merge,
        }
        return settings[way] is not False


class _StatusCheck(BaseModel):
    """A required check as branch protection (``app_id``) and rulesets (``integration_id``) name it."""

    context: str
    app_id: int | None = None
    integration_id: int | None = None

    def to_domain(self) -> RequiredCheck:
        source = self.app_id if self.app_id is not None else self.integration_id
        return RequiredCheck(name=self.context, app_id=source if source and source > 0 else None)  # -1: any App


class _RequiredStatusChecks(BaseModel):
    enforcement_level: str = "everyone"
    contexts: tuple[str, ...]
    checks: tuple[_StatusCheck, ...] = ()

    def to_domain(self) -> list[RequiredCheck]:
        if self.enforcement_level == "off":
            return []
        named = {check.context for check in self.checks}
        bare = [RequiredCheck(name=context) for context in self.contexts if context not in named]
        return bare + [check.to_domain() for check in self.checks]


class _Protection(BaseModel):
    enabled: bool
    required_status_checks: _RequiredStatusChecks | None = None


class ProtectedBranch(BaseModel):
    """A branch; one that only rulesets protect is ``protected`` with a protection that is not enabled."""

    protected: bool
    protection: _Protection | None = None

    def list_checks(self) -> list[RequiredCheck] | None:
        """The checks that classic branch protection requires; None if it is on and does not tell."""
        if not self.protected or (self.protection is not None and not self.protection.enabled):
            return []
        if self.protection is None or self.protection.required_status_checks is None:
            return None
        return self.protection.required_status_checks.to_domain()


class _RuleParameters(BaseModel):
    required_status_checks: tuple[_StatusCheck, ...] | None = None
    allowed_merge_methods: tuple[str, ...] | None = None


class Rule(BaseModel):
    """An active rule of a ruleset, as far as it bears on checks and ways of merging."""

    type: str
    parameters: _RuleParameters | None = None

    def list_checks(self) -> list[RequiredCheck] | None:
        """The checks this rule requires; None if it requires some without naming them."""
        if self.type == "workflows":  # their jobs' names stand in the workflows
            return None
        if self.type != "required_status_checks":
            return []
        if self.parameters is None or self.parameters.required_status_checks is None:
            return None
        return [check.to_domain() for check in self.parameters.required_status_checks]

    def allows(self, way: MergeMethod) -> bool:
        if self.type == "required_linear_history":
            return way is not MergeMethod.merge
        allowed = self.parameters.allowed_merge_methods if self.parameters else None
        return allowed is None or way.value in allowed


class RunResult(BaseModel):
    """A check run of any App."""

    class _App(BaseModel):
        id: int

    name: str
    status: str
    conclusion: str | None
    app: _App | None

    def to_domain(self) -> ReportedCheck:
        conclusion = self.conclusion if self.status == "completed" else None
        return ReportedCheck(
            name=self.name, app_id=self.app.id if self.app else None, conclusion=conclusion or "pending"
        )


class StatusResult(BaseModel):
    """A line of the combined status: the newest of its context."""

    context: str
    state: str

    def to_domain(self) -> ReportedCheck:
        return ReportedCheck(name=self.context, app_id=None, conclusion=self.state)


class _Permissions(BaseModel):
    admin: bool = False
    maintain: bool = False
    push: bool = False
    triage: bool = False
    pull: bool = False


class _Collaborator(BaseModel):
    id: int
    permissions: _Permissions | None = None


class Collaborator(Account):
    """A line of the list of collaborators. ``role_name`` may be a custom role."""

    permissions: _Permissions | None = None
    role_name: str = ""

    @property
    def is_person(self) -> bool:
        return self.type == "User"

    def has(self, role: str) -> bool:
        """Whether the account's rights amount to at least this built-in role."""
        held = _role(self.permissions) if self.permissions is not None else _to_role(self.role_name)
        return ROLES.index(held) >= ROLES.index(role)


class Permission(BaseModel):
    """Answer of the collaborator endpoint. ``role_name`` may be a custom role, ``permission`` knows four only."""

    permission: str
    role_name: str = ""
    user: _Collaborator | None

    def role(self, account_id: int) -> str:
        """The built-in role an account's rights amount to; ``none`` if the login belongs to somebody else now."""
        if self.user is None or self.user.id != account_id or self.permission == "none":
            return "none"
        if self.user.permissions is not None:
            return _role(self.user.permissions)
        named = _to_role(self.role_name)
        return named if named != "none" else _to_role(self.permission)


def _to_role(name: str) -> str:
    """A role's name where it is one of GitHub's own; what another one allows cannot be told from its name."""
    return name if name in ROLES else "none"


def _role(granted: _Permissions) -> str:
    rights = {
        "admin": granted.admin,
        "maintain": granted.maintain,
        "write": granted.push,
        "triage": granted.triage,
        "read": granted.pull,
    }
    return next((role for role, has in rights.items() if has), "none")
