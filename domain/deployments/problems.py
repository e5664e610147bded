"""A problem in production: what monitoring tells of it, what Forge knows, and what it does about the next report."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, StringConstraints, ValidationError

from domain.config.deploy import Address, EnvironmentName
from domain.deployments.stack import Frame, StackTrace, parse_stack
from domain.review.changes import Change
from domain.text.redaction import redact_outgoing
from domain.value import Value

LONGEST_STACK = 20_000  # characters
LONGEST_SUMMARY = 1_000  # characters
MOST_LABELS = 20
LONGEST_LABEL = 100  # characters of a name or a value


def _refuse_credential(text: str) -> str:
    if redact_outgoing(text) != text:
        raise ValueError("looks like a credential")
    return text


def _mask_stack(text: str) -> str:
    """Without credentials, and without NUL, which PostgreSQL cannot store."""
    return redact_outgoing(text.replace("\0", ""))


_Plain = AfterValidator(_refuse_credential)
_Environment = Annotated[EnvironmentName, _Plain]
_Metric = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.:/-]{0,99}$"), _Plain]
_Figure = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
_Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{7,40}$")]
_DeploymentId = Annotated[str, StringConstraints(pattern=r"^(?:D-[0-9A-HJKMNP-TV-Z]{6}|[0-9A-HJKMNP-TV-Z]{26})$")]
_Label = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,100}$"), _Plain]
_Labels = Annotated[Mapping[_Label, _Label], Field(max_length=MOST_LABELS)]
_Summary = Annotated[str, StringConstraints(max_length=LONGEST_SUMMARY), AfterValidator(_mask_stack)]
_Group = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,100}$"), _Plain]
_Release = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]{0,100}$"), _Plain]


class _Report(Value):
    """The parts of every report. Nothing else may be sent, so that a mistyped field is noticed.

    :param commit: what the service runs, as far as the sender knows: 7 to 40 hexadecimal digits.
    """

    model_config = ConfigDict(extra="forbid")

    environment: _Environment
    commit: _Commit | None = None


class AnomalyReport(_Report):
    """A figure of production that is not as usual.

    :param labels: what tells it from others of the same metric.
    :param baseline: the usual figure, as far as the sender knows.
    :param summary: what the sender says about it.
    :param deployment: Forge's id of it: ``D-`` and six characters, or the whole id of its run.
    :param url: where the sender shows it to people.
    """

    MOMENT: ClassVar[str] = "at"

    metric: _Metric
    labels: _Labels = {}
    baseline: _Figure | None = None
    current: _Figure | None = None
    summary: _Summary | None = None
    deployment: _DeploymentId | None = None
    at: AwareDatetime
    url: Annotated[Address, _Plain] | None = None

    @property
    def moment(self) -> datetime:
        """When it was so, as the sender says."""
        return self.at


class ErrorReport(_Report):
    """An error that happened in production.

    :param stack: credentials in it are masked before it is stored.
    :param frequency: how often it happened since the last report about it.
    :param affected_users: how many different people it happened to, as far as the sender knows.
    :param group: the sender's own name for all errors of this kind; without one Forge goes by the stack.
    """

    MOMENT: ClassVar[str] = "first_seen"

    stack: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_STACK), AfterValidator(_mask_stack)]
    frequency: _Count
    first_seen: AwareDatetime
    affected_users: Annotated[int, Field(ge=0, le=10_000_000_000)] | None = None
    release: _Release | None = None
    group: _Group | None = None

    @property
    def moment(self) -> datetime:
        """When it happened first, as the sender says."""
        return self.first_seen


AnyReport = AnomalyReport | ErrorReport


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
        # The one path that a frame means; None if there is none, or it is not clear.
        fits = sorted(((_count_common(frame.path, path), path) for path in paths), reverse=True)
        best = [path for count, path in fits if count and count == fits[0][0]]
        path = best[0] if len(best) == 1 else None
        if path is None or any((each.path, each.line) == (path, frame.line) for each in found):
            continue
        is_changed = frame.line is not None and frame.line in changed[path]
        found.append(Suspect(path=path, line=frame.line, function=frame.function[:200], is_changed=is_changed))
    return found[:MOST_SUSPECTS]


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


class ProblemKind(StrEnum):
    """What a report is about."""

    anomaly = "anomaly"
    error = "error"


class FieldMistake(Value):
    """What is wrong with a report; never with what was sent in it.

    :param field: empty if it is about the whole.
    """

    field: str
    why: str


COUNTED_FRAMES = 5
"""So many frames next to the error make its fingerprint; those before them differ by how it was called."""
AHEAD = timedelta(minutes=10)
"""How far a sender's clock may be ahead."""
_KEPT_PARTS = 2  # of a path, from its end: what comes before differs from machine to machine
_FIELD = re.compile(r"[A-Za-z_]{1,40}")  # what may be repeated to the sender: a mistyped name
_QUOTED = re.compile(r"\"[^\"]{0,500}\"|'[^']{0,500}'|`[^`]{0,500}`")
_ID = re.compile(r"0x[0-9a-fA-F]+|(?<![A-Za-z])[0-9a-fA-F-]{8,}(?![A-Za-z])|\d+")


def parse_report(kind: type[AnyReport], body: bytes, now: datetime) -> AnyReport | Sequence[FieldMistake]:
    """A report, or what is wrong with it.

    :param body: JSON.
    """
    try:
        report = kind.model_validate_json(body, strict=True)
    except ValidationError as error:
        return [_explain(kind, each["type"], each["loc"], each["msg"]) for each in error.errors(include_input=False)]
    is_ahead = report.moment > now + AHEAD
    return [FieldMistake(field=report.MOMENT, why="lies in the future")] if is_ahead else report


def _explain(kind: type[AnyReport], code: str, place: Sequence[int | str], why: str) -> FieldMistake:
    if code == "extra_forbidden":
        named = str(place[0]) if _FIELD.fullmatch(str(place[0])) else ""
        return FieldMistake(field=named, why=f"a field is not known; known are {', '.join(kind.model_fields)}")
    if code == "json_invalid" or not place:
        return FieldMistake(field="", why="is not a JSON object")
    field = str(place[0])
    return FieldMistake(field=field if field in kind.model_fields else "", why=why.removeprefix("Value error, "))


def make_fingerprint(report: AnyReport) -> str:
    """By which a problem is found again: 16 hexadecimal digits.

    Of an anomaly it is the environment, the metric and the labels; of an error its group, else its type and the frames
    next to it, whatever the environment, without lines, addresses, ids and texts.
    """
    if isinstance(report, AnomalyReport):
        labels = (f"{name}={value}" for name, value in sorted(report.labels.items()))
        return _digest(ProblemKind.anomaly, report.environment, report.metric, *labels)
    if report.group is not None:
        return _digest(ProblemKind.error, "group", report.group)
    return fingerprint_stack(report.stack)


def fingerprint_stack(text: str) -> str:
    """The fingerprint of an error with this stack; without a frame that Forge can read, of its first lines."""
    stack = parse_stack(text)
    if stack.frames:
        return _digest(ProblemKind.error, stack.exception, *_describe_frames(stack))
    said = [_normalise(line) for line in text.splitlines() if line.strip()]
    return _digest(ProblemKind.error, *said[:COUNTED_FRAMES])


def _describe_frames(stack: StackTrace) -> list[str]:
    return [f"{_shorten_path(each)} {_normalise(each.function)}" for each in stack.frames[:COUNTED_FRAMES]]


def _shorten_path(frame: Frame) -> str:
    parts = [part for part in frame.path.split("/") if part]
    return "/".join(_normalise(part) for part in parts[-_KEPT_PARTS:])


def _normalise(text: str) -> str:
    """A text without what differs from one time to the next: quotes, addresses, ids and numbers."""
    return " ".join(_ID.sub("#", _QUOTED.sub('""', text[:1_000])).split())


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]
