"""Permissions of accounts in a repository, as GitHub shows them."""

from pydantic import BaseModel

from bot.github.payloads.accounts import AccountShown

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
"""From the least to the most."""


class _Permissions(BaseModel):
    admin: bool = False
    maintain: bool = False
    push: bool = False
    triage: bool = False
    pull: bool = False


class _Collaborator(BaseModel):
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


class PermissionShown(BaseModel):
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
