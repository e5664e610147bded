"""The outcomes of asking for a run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Started:
    """A new run was admitted and queued."""

    run_id: str


@dataclass(frozen=True)
class Resumed:
    """A run that waited or had ended was queued again."""

    run_id: str


@dataclass(frozen=True)
class NotStarted:
    """No run was started.

    :param why: for people, as a clause.
    :param is_at_level_0: the automation level forbids it; the person who asked does not expect that.
    """

    why: str
    is_at_level_0: bool = False


RunStart = Started | Resumed | NotStarted
