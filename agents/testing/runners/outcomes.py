"""How one test ended, as a report says it, before anything of it is believed."""

from dataclasses import dataclass

from domain.runs.testing import CaseOutcome


@dataclass(frozen=True)
class Ended:
    """One test of a report.

    :param path: of its file, absolute or relative; empty if unknown.
    :param names: of its groups and its own, from the outside in; none if it stands for the whole file.
    """

    path: str
    names: tuple[str, ...]
    outcome: CaseOutcome
    line: int | None = None
    message: str = ""
    details: str = ""
