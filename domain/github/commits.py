"""Commits that Forge makes."""

from pydantic import BaseModel, ConfigDict


class Signature(BaseModel):
    """The author of a commit."""

    model_config = ConfigDict(frozen=True)

    name: str
    email: str
