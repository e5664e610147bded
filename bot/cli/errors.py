"""Errors of the command line."""

from domain.errors import ForgeError


class UnknownName(ForgeError):
    """The database has nothing with the given name."""
