"""The account under which untrusted work runs."""

import os
import pwd
from dataclasses import dataclass

from domain.errors import ToolError


@dataclass(frozen=True)
class UnixAccount:
    """The unprivileged account that untrusted work runs under when Forge itself is root."""

    uid: int
    gid: int


def find_account(user: str) -> UnixAccount | None:
    """The account to drop to; None if Forge is not root and keeps its own.

    :param user: name of the account, e.g. ``nobody`` (setting ``FORGE_SANDBOX_USER``).
    :raises ToolError: there is no such account, or it is root.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise ToolError(
            f"The account {user!r} does not exist here.", "Set FORGE_SANDBOX_USER to one that does."
        ) from None
    if entry.pw_uid == 0:
        raise ToolError("FORGE_SANDBOX_USER must not be root.", "Name an unprivileged account, e.g. nobody.")
    return UnixAccount(entry.pw_uid, entry.pw_gid)
