"""Refuses a database that several processes cannot share, where a command is of use only beside others."""

from domain.errors import ConfigurationError


def require_shared_database(url: str, what: str) -> None:
    """:param url: of the database.
    :param what: is of use with several processes only.
    :raises ConfigurationError: the database is a file, which has no fair order among the writers of several processes.
    """
    if url.startswith("sqlite"):
        raise ConfigurationError(
            f"FORGE_DATABASE_URL is SQLite, and {what} needs PostgreSQL: several processes write, and with SQLite a "
            "webhook could wait for another process's writes longer than GitHub waits for the answer.",
            "Set FORGE_DATABASE_URL to postgresql://…, or start one `forge serve` alone.",
        )
