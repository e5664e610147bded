"""Reads webhooks of Sentry's integrations: https://docs.sentry.io/integrations/integration-platform/webhooks/."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, Field

from domain.deployments.alerts import (
    Heard,
    find_environment,
    join,
    read_message,
    take_address,
    take_commit,
    take_metric,
    take_release,
    take_summary,
)
from domain.deployments.problems import LONGEST_STACK, AnomalyReport, ErrorReport, FieldMistake
from domain.value import Value


class _Frame(Value):
    filename: str | None = None
    abs_path: str | None = None
    module: str | None = None
    function: str | None = None
    lineno: int | None = None


class _Stack(Value):
    frames: list[_Frame] | None = None


class _Exception(Value):
    type: str | None = None
    value: str | None = None
    stacktrace: _Stack | None = None


class _Exceptions(Value):
    values: list[_Exception] | None = None


class _Event(Value):
    """An event of an error, also the one that triggered an alert."""

    issue_id: str | int | None = None
    title: str | None = None
    culprit: str | None = None
    environment: str | None = None
    release: str | None = None
    tags: list[tuple[str, str | None]] | None = None
    datetime: AwareDatetime | None = None
    exception: _Exceptions | None = None


class _Issue(Value):
    id: str | int
    title: str = ""
    culprit: str | None = None
    user_count: int | None = Field(default=None, alias="userCount")
    first_seen: AwareDatetime | None = Field(default=None, alias="firstSeen")
    metadata: Mapping[str, Any] = {}


class _Rule(Value):
    id: str | int | None = None
    name: str | None = None
    environment: str | None = None


class _MetricAlert(Value):
    alert_rule: _Rule
    date_started: AwareDatetime | None = None


class _Data(Value):
    issue: _Issue | None = None
    error: _Event | None = None
    event: _Event | None = None
    metric_alert: _MetricAlert | None = None
    description_text: str | None = None
    web_url: str | None = None


class _Message(Value):
    action: str
    data: _Data = Field(default_factory=_Data)


_BEGINS = {"created", "unresolved", "triggered", "critical", "warning"}
_NAMES = {"stack": "exception", "group": "issue_id", "first_seen": "datetime"}


def hear_sentry(body: bytes, environment: str | None, now: datetime) -> Heard | Sequence[FieldMistake]:
    """What a message says; an error is known by the id of its issue in Sentry.

    :param environment: of what names none. Sentry's issues never do.
    """
    message = read_message(_Message, body)
    if not isinstance(message, _Message):
        return message
    heard, data, is_over = Heard(), message.data, message.action == "resolved"
    if not is_over and message.action not in _BEGINS:
        heard.ignored = 1
    elif data.metric_alert is not None:
        values = _describe_alert(data, data.metric_alert, environment, now)
        names = {"metric": "alert_rule.name", "environment": "alert_rule.environment", "at": "date_started"}
        heard.add(AnomalyReport, "data.metric_alert", values, names, now, is_over=is_over)
    elif data.issue is not None:
        values = _describe_issue(data.issue, environment, now)
        heard.add(
            ErrorReport, "data.issue", values, {"stack": "title", "first_seen": "firstSeen"}, now, is_over=is_over
        )
    elif (event := data.event or data.error) is not None:
        place = join("data", "event" if data.event is not None else "error")
        heard.add(ErrorReport, place, _describe_event(event, environment, now), _NAMES, now)
    else:
        heard.ignored = 1
    return heard


def _describe_alert(data: _Data, alert: _MetricAlert, environment: str | None, now: datetime) -> dict[str, object]:
    return {
        "environment": alert.alert_rule.environment or environment,
        "metric": take_metric(alert.alert_rule.name or ""),
        "labels": {"rule": str(alert.alert_rule.id)} if alert.alert_rule.id is not None else {},
        "summary": take_summary(data.description_text),
        "at": alert.date_started or now,
        "url": take_address(data.web_url),
    }


def _describe_issue(issue: _Issue, environment: str | None, now: datetime) -> dict[str, object]:
    named = {name: str(value) for name, value in issue.metadata.items() if value}
    told = f"{named['type']}: {named.get('value', '')}" if "type" in named else issue.title
    place = named.get("filename") or issue.culprit
    return {
        "environment": environment,
        "stack": _cut(f"{told}\n    in {named.get('function', '')} {place}" if place else told) or None,
        "frequency": 1,
        "first_seen": issue.first_seen or now,
        "affected_users": issue.user_count,
        "group": f"sentry-{issue.id}",
    }


def _describe_event(event: _Event, environment: str | None, now: datetime) -> dict[str, object]:
    tags = {name: value for name, value in event.tags or () if value}
    release = event.release or tags.get("release")
    return {
        "environment": event.environment or find_environment(tags, environment),
        "stack": _cut(_write_stack(event)) or None,
        "frequency": 1,
        "first_seen": event.datetime or now,
        "commit": take_commit(tags.get("commit")) or take_commit((release or "").rpartition("@")[2]),
        "release": take_release(release),
        "group": None if event.issue_id is None else f"sentry-{event.issue_id}",
    }


def _write_stack(event: _Event) -> str:
    """The stack as Python writes it: like Sentry, it names the place where it happened last."""
    values = (event.exception.values if event.exception else None) or []
    if not values:
        return "\n".join(text for text in (event.title, event.culprit) if text)
    parts: list[str] = []
    for each in values:
        frames = (each.stacktrace.frames if each.stacktrace else None) or []
        lines = [
            f'  File "{frame.filename or frame.abs_path or frame.module}", line {frame.lineno or 0}'
            f", in {frame.function or '?'}"
            for frame in frames
            if frame.filename or frame.abs_path or frame.module
        ]
        head = ["Traceback (most recent call last):"] if lines else []
        parts.append("\n".join([*head, *lines, f"{each.type or 'Error'}: {each.value or ''}".rstrip(": ")]))
    return "\n\n".join(parts)


def _cut(text: str) -> str:
    """The end of a text that is too long: there it happened."""
    return text.strip()[-LONGEST_STACK:]
