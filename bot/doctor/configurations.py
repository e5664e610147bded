"""Reads the configurations of repositories that the database keeps, for checks of what they need."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from bot.current_database import open_database
from bot.settings import Installation
from domain.errors import ForgeError
from memory.repositories import configurations


async def load_configurations(settings: Installation) -> Sequence[Mapping[str, JsonValue]]:
    """The last valid values of each file; none if the database cannot be read, which another check reports."""
    url = make_url(settings.database_url)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        return ()  # opening it would create it
    try:
        async with open_database(settings) as database:
            return await configurations.list_all(database)
    except (ForgeError, DBAPIError):
        return ()
