"""Issues and their comments, as GitHub shows them."""

from typing import Literal

from pydantic import AwareDatetime

from bot.github.payloads.parsing import GHOST_ID, GHOST_LOGIN, AccountShown
from domain.github.conversation import Issue, IssueComment, digest_wording
from domain.text.redaction import redact_outgoing
from domain.value import Value


class _LabelShown(Value):
    name: str | None = None


class _AuthoredText(Value):
    """What a person or an App wrote, over REST; ``user`` is missing if the account was deleted."""

    user: AccountShown | None
    author_association: str = "NONE"
    body: str | None = None
    performed_via_github_app: dict[str, object] | None = None

    @property
    def author_id(self) -> int | None:
        return None if self.user is None or self.user.id == GHOST_ID else self.user.id

    @property
    def author_login(self) -> str:
        return self.user.login if self.user else GHOST_LOGIN

    @property
    def is_app(self) -> bool:
        is_bot = self.user is not None and self.user.type == "Bot"
        return is_bot or self.performed_via_github_app is not None


class IssueShown(_AuthoredText):
    """An issue; a label may be just a name."""

    url: str
    node_id: str
    number: int
    title: str
    state: Literal["open", "closed"]
    labels: tuple[str | _LabelShown, ...]
    pull_request: dict[str, object] | None = None
    updated_at: AwareDatetime | None = None
    closed_at: AwareDatetime | None = None

    def to_domain(self) -> Issue:
        names = (one if isinstance(one, str) else one.name for one in self.labels)
        return Issue(
            number=self.number,
            node_id=self.node_id,
            title=redact_outgoing(self.title),
            body=redact_outgoing(self.body or ""),
            is_open=self.state == "open",
            author_id=self.author_id,
            author_login=self.author_login,
            is_app=self.is_app,
            author_association=self.author_association,
            labels=tuple(name for name in names if name),
            is_pull_request=self.pull_request is not None,
            updated_at=self.updated_at,
            closed_at=self.closed_at,
            wording=digest_wording(self.title, self.body),
        )


class OpenedIssue(Value):
    """An issue in a list, or one that was just opened."""

    number: int
    user: AccountShown | None = None
    body: str | None = None
    pull_request: dict[str, object] | None = None


class IssueCommentShown(_AuthoredText):
    id: int
    node_id: str
    issue_url: str
    created_at: AwareDatetime
    updated_at: AwareDatetime

    def to_domain(self) -> IssueComment:
        return IssueComment(
            id=self.id,
            node_id=self.node_id,
            author_id=self.author_id,
            author_login=self.author_login,
            is_app=self.is_app,
            author_association=self.author_association,
            body=self.body or "",
            created_at=self.created_at,
            is_edited=self.updated_at != self.created_at,
        )
