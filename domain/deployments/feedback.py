"""What monitoring tells of production, and by which fingerprint two reports are about the same problem."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, StringConstraints, ValidationError

from domain.config.deploy import Address, EnvironmentName
from domain.deployments.stack import Frame, StackTrace, parse_stack
from domain.text.redaction import redact_outgoing
from domain.value import Value

LONGEST_STACK = 20_000  # characters
COUNTED_FRAMES = 5
"""So many frames next to the error make its fingerprint; those before them differ by how it was called."""
LONGEST_SUMMARY = 1_000  # characters
MOST_LABELS = 20
LONGEST_LABEL = 100  # characters of a name or a value
AHEAD = timedelta(minutes=10)
"""How far a sender's clock may be ahead."""
_KEPT_PARTS = 2  # of a path, from its end: what comes before differs from machine to machine


class ProblemKind(StrEnum):
    """What a report is about."""

    anomaly = "anomaly"
    error = "error"


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


class FieldMistake(Value):
    """What is wrong with a report; never with what was sent in it.

    :param field: empty if it is about the whole.
    """

    field: str
    why: str


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


_FIELD = re.compile(r"[A-Za-z_]{1,40}")  # what may be repeated to the sender: a mistyped name


def _explain(kind: type[AnyReport], code: str, place: Sequence[int | str], why: str) -> FieldMistake:
    if code == "extra_forbidden":
        named = str(place[0]) if _FIELD.fullmatch(str(place[0])) else ""
        return FieldMistake(field=named, why=f"a field is not known; known are {', '.join(kind.model_fields)}")
    if code == "json_invalid" or not place:
        return FieldMistake(field="", why="is not a JSON object")
    field = str(place[0])
    return FieldMistake(field=field if field in kind.model_fields else "", why=why.removeprefix("Value error, "))


# --- fingerprints ------------------------------------------------------------------------------------------------


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


_QUOTED = re.compile(r"\"[^\"]{0,500}\"|'[^']{0,500}'|`[^`]{0,500}`")
_ID = re.compile(r"0x[0-9a-fA-F]+|(?<![A-Za-z])[0-9a-fA-F-]{8,}(?![A-Za-z])|\d+")


def _normalise(text: str) -> str:
    """A text without what differs from one time to the next: quotes, addresses, ids and numbers."""
    return " ".join(_ID.sub("#", _QUOTED.sub('""', text[:1_000])).split())


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]
