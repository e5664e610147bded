"""Commits, as far as they are made here."""

from pydantic import BaseModel, ConfigDict


class Signature(BaseModel):
    """Who makes a commit."""

    model_config = ConfigDict(frozen=True)

    name: str
    email: str
