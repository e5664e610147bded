"""A problem in production that monitoring told of: what Forge knows of it, and what it does about the next report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from domain.deployments.feedback import AnomalyReport, AnyReport, ErrorReport
from domain.deployments.stack import Frame
from domain.review.changes import Change
from domain.value import Value

UPDATE_INTERVAL = timedelta(minutes=10)
"""The least time between two updates of what an issue shows."""
MOST_OPEN = 200
"""Problems of a repository that Forge knows at a time."""
MOST_ISSUES = 10
"""Issues that Forge opens in a repository within :data:`ISSUE_WINDOW`; what comes after is counted only."""
ISSUE_WINDOW = timedelta(days=1)
QUIET_AFTER_CLOSING = timedelta(days=1)
"""For so long after an issue was closed the same problem opens no other one, unless something was deployed since."""
MOST_SUSPECTS = 10


class Suspect(Value):
    """A place in a stack that is in a file which the deployment changed.

    :param is_changed: the deployment changed this very line.
    """

    path: str
    line: int | None
    function: str
    is_changed: bool


class Sightings(Value):
    """How often a problem was seen in one environment, and when last."""

    count: int
    last: datetime


class ProductionProblem(Value):
    """A problem as the database keeps it.

    :param occurrences: how often it happened: the frequencies of its errors, or the reports of its anomaly.
    :param first_seen: according to the sender.
    :param report: the newest one.
    :param deployment_id: run id of the deployment that Forge thinks it came with; None if it does not know.
    :param issue: the issue about it, open or closed; None if there is none.
    :param opened: how many issues were opened about it.
    :param shown_at: when the issue was last brought up to date.
    :param closed_at: when people closed the issue, as far as Forge noticed.
    :param resolved_at: when monitoring said that it is over; None if it is not.
    :param said: why nobody was told of it, for people; empty if they were.
    """

    id: str
    repository_id: int
    fingerprint: str
    report: AnyReport
    reports: int
    occurrences: int
    affected_users: int
    environments: Mapping[str, Sightings]
    first_seen: datetime
    last_seen: datetime
    deployment_id: str | None = None
    suspects: tuple[Suspect, ...] = ()
    issue: int | None = None
    opened: int = 0
    shown_at: datetime | None = None
    closed_at: datetime | None = None
    resolved_at: datetime | None = None
    said: str = ""

    @property
    def error(self) -> ErrorReport | None:
        return self.report if isinstance(self.report, ErrorReport) else None

    @property
    def anomaly(self) -> AnomalyReport | None:
        return self.report if isinstance(self.report, AnomalyReport) else None


class ReportStep(StrEnum):
    """What Forge does after a report."""

    open = "open"  # an issue
    update = "update"  # the issue that is open
    record = "record"  # nothing that anybody sees


@dataclass(frozen=True)
class IssueFacts:
    """What decides whether an issue is opened.

    :param is_open: whether the newest issue about the problem is open; None: there is none.
    :param closed_at: when it was closed.
    :param deployed_at: when what runs in the environment began to be deployed; None: Forge does not know.
    :param obstacle: why Forge may open none, for people; empty if it may.
    """

    is_open: bool | None = None
    closed_at: datetime | None = None
    deployed_at: datetime | None = None
    obstacle: str = ""


class StepChoice(Value):
    """What Forge does after a report, and why."""

    step: ReportStep
    why: str = ""


def choose_step(facts: IssueFacts, now: datetime) -> StepChoice:
    """Decide what follows from a report.

    A closed issue stays closed: its discussion and its run are over, and who closed it decided something. A problem
    that comes back gets another issue, which names the closed one. As long as the environment still runs what it ran
    when the issue was closed, the problem is expected to go on, and nothing is opened for a day.
    """
    if facts.is_open:
        return StepChoice(step=ReportStep.update)
    if facts.obstacle:
        return StepChoice(step=ReportStep.record, why=facts.obstacle)
    if facts.closed_at is not None and not _is_over(facts, facts.closed_at, now):
        return StepChoice(step=ReportStep.record, why="Its issue was closed, and nothing was deployed since.")
    return StepChoice(step=ReportStep.open)


def _is_over(facts: IssueFacts, closed_at: datetime, now: datetime) -> bool:
    """Whether the problem is a new one after its issue was closed."""
    if facts.deployed_at is not None and facts.deployed_at > closed_at:
        return True
    return now - closed_at >= QUIET_AFTER_CLOSING


def find_suspects(frames: Sequence[Frame], change: Change) -> Sequence[Suspect]:
    """Which frames of a stack are in files that a deployment changed, the nearest to the error first.

    Stacks name files as the machine does that ran them, so a file is recognised by the end of its path. If several
    changed files fit a frame equally well, it is left out.
    """
    paths = [each.path for each in change.files]
    changed = {each.path: each.added_lines for each in change.files}
    found: list[Suspect] = []
    for frame in frames:
        path = _recognise(frame.path, paths)
        if path is None or any((each.path, each.line) == (path, frame.line) for each in found):
            continue
        is_changed = frame.line is not None and frame.line in changed[path]
        found.append(Suspect(path=path, line=frame.line, function=frame.function[:200], is_changed=is_changed))
    return found[:MOST_SUSPECTS]


def _recognise(shown: str, paths: Sequence[str]) -> str | None:
    """The one path that a frame means; None if there is none, or it is not clear."""
    fits = sorted(((_count_common(shown, path), path) for path in paths), reverse=True)
    best = [path for count, path in fits if count and count == fits[0][0]]
    return best[0] if len(best) == 1 else None


def _count_common(shown: str, path: str) -> int:
    """So many parts at the end are the same; 0 unless one of the two ends there."""
    parts, others = [part for part in shown.split("/") if part not in {"", "."}], path.split("/")
    count = sum(1 for _ in _take_same(parts, others))
    return count if count in {len(parts), len(others)} else 0


def _take_same(parts: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    for one, other in zip(reversed(parts), reversed(others), strict=False):
        if one != other:
            return
        yield one
