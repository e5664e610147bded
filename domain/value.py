"""The base of everything that is validated: a value that nobody changes."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A value that nobody changes once it is made.

    What validates it is built when the first one is made: a server knows six hundred kinds and meets a part of them,
    and each that is built takes memory for as long as it runs.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)
