"""Decides whether a person may do what they ask, from the live role GitHub gave a moment ago."""

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
"""The roles of a repository, each including the ones before (SPEC W5)."""


def refusal(role: str, minimum: str) -> str | None:
    """Why someone with this role may not do what needs the minimum; None if they may.

    A role this list does not know counts as none.
    """
    if role in ROLES and ROLES.index(role) >= ROLES.index(minimum):
        return None
    return f"refused: it needs the role {minimum}, the sender has {role}"
