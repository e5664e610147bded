"""The App, its webhook, deliveries and installations, and the permissions of accounts, as GitHub shows them."""

from typing import Literal

from pydantic import AwareDatetime, Field

from domain.github.installations import DeliveryAttempt
from domain.value import Value
from github.payloads.parsing import AccountShown


class AppShown(Value):
    html_url: str = ""
    slug: str | None = None
    permissions: dict[str, Literal["none", "read", "write", "admin"]] = {}

    @property
    def name(self) -> str:
        """Its slug, which GitHub may leave out; its page ends with it."""
        return self.slug or self.html_url.rstrip("/").rpartition("/")[2]


class HookShown(Value):
    """The App's webhook settings; of a secret, GitHub shows only that there is one."""

    url: str | None = None
    secret: str | None = None
    insecure_ssl: str | int = "0"


class InstallationAccount(Value):
    login: str


class InstallationShown(Value):
    """A place where the App is installed."""

    id: int | None = None
    permissions: dict[str, str] = {}
    account: InstallationAccount | None = None
    suspended_at: str | None = None


class AttemptShown(Value):
    """An entry of the delivery log."""

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


ROLES = ("none", "read", "triage", "write", "maintain", "admin")
"""From the least to the most."""


class _Permissions(Value):
    admin: bool = False
    maintain: bool = False
    push: bool = False
    triage: bool = False
    pull: bool = False


class _Collaborator(Value):
    id: int
    permissions: _Permissions | None = None


class CollaboratorShown(AccountShown):
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


class PermissionShown(Value):
    """Answer of the collaborator endpoint. ``role_name`` may be a custom role; ``permission`` has only four values."""

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
    """The name of a built-in role. A custom role counts as ``none``, because its name does not say what it allows."""
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
