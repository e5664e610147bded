"""Checks of other Apps, and commit statuses, that fail on a commit."""

from pydantic import BaseModel, ConfigDict

from domain.github.pushes import AN_APP

RED = frozenset({"failure", "timed_out", "startup_failure", "error"})
"""Conclusions of check runs, and states of statuses, that mean a failure."""


class FailingCheck(BaseModel):
    """A check that fails, by its newest result.

    :param id: of the check run; None for a commit status. That of a job is the job's.
    :param app: the slug of its App; empty for a commit status.
    :param said: its title and summary, or the status's description; untrusted, and may be long.
    :param annotated: how many annotations it has.
    :param by: who reported it; :data:`domain.github.pushes.AN_APP` if an App did.
    """

    model_config = ConfigDict(frozen=True)

    id: int | None
    name: str
    app: str = ""
    said: str = ""
    annotated: int = 0
    by: int = AN_APP
