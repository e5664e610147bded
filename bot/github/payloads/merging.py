"""Results of merges, allowed merge methods and required checks, as GitHub shows them."""

from pydantic import BaseModel, Field

from bot.github.payloads.accounts import RepositoryShown
from domain.github.merging import MergeMethod, ReportedCheck, RequiredCheck


class MergeAnswer(BaseModel):
    sha: str
    merged: bool


class QueuedPull(BaseModel):
    """A pull request, and whether its base has a merge queue, by a ruleset or by branch protection."""

    id: str
    is_enabled: bool = Field(alias="isMergeQueueEnabled")
    is_queued: bool = Field(alias="isInMergeQueue")


class QueueShown(BaseModel):
    class _Repository(BaseModel):
        pull: QueuedPull

    repository: _Repository


class QueueAnswer(BaseModel):
    """The answer of GraphQL to a pull request that was put into a merge queue."""

    class _Payload(BaseModel):
        class _Entry(BaseModel):
            id: str

        entry: _Entry | None = Field(alias="mergeQueueEntry")

    enqueued: _Payload = Field(alias="enqueuePullRequest")


class MergeSettings(RepositoryShown):
    """How a repository merges; GitHub leaves the settings out for tokens with few permissions."""

    allow_merge_commit: bool | None = None
    allow_squash_merge: bool | None = None
    allow_rebase_merge: bool | None = None

    def allows(self, way: MergeMethod) -> bool:
        """Whether the method is not known to be off."""
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
    enabled: bool | None = None
    required_status_checks: _RequiredStatusChecks | None = None


class ProtectedBranch(BaseModel):
    """A branch. If only rulesets protect it, it is ``protected``, but its ``protection`` is not enabled."""

    protected: bool
    protection: _Protection | None = None

    def list_checks(self) -> list[RequiredCheck] | None:
        """The checks that classic branch protection requires; None if it is on and does not list them."""
        if not self.protected or (self.protection is not None and self.protection.enabled is False):
            return []
        if self.protection is None or self.protection.required_status_checks is None:
            return None
        return self.protection.required_status_checks.to_domain()


class NamedBranch(BaseModel):
    """A branch in a list of branches."""

    name: str


class _RuleParameters(BaseModel):
    required_status_checks: tuple[_StatusCheck, ...] | None = None
    allowed_merge_methods: tuple[str, ...] | None = None


class RuleShown(BaseModel):
    """An active rule of a ruleset, with what concerns checks and merge methods."""

    type: str
    ruleset_id: int | None = None
    parameters: _RuleParameters | None = None

    def list_checks(self) -> list[RequiredCheck] | None:
        """The checks this rule requires; None if it requires some without naming them."""
        if self.type == "workflows":  # only the workflows name their jobs
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
    """An entry of the combined status: the newest of its context."""

    context: str
    state: str

    def to_domain(self) -> ReportedCheck:
        return ReportedCheck(name=self.context, app_id=None, conclusion=self.state)
