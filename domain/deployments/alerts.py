"""Reads webhooks of Alertmanager and of Grafana, and the exceptions in logs and traces of OpenTelemetry.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
https://opentelemetry.io/docs/specs/otlp/ and https://opentelemetry.io/docs/specs/semconv/exceptions/
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from domain.deployments.problems import (
    AHEAD,
    LONGEST_LABEL,
    LONGEST_STACK,
    LONGEST_SUMMARY,
    MOST_LABELS,
    AnomalyReport,
    AnyReport,
    ErrorReport,
    FieldMistake,
    fingerprint_stack,
    make_fingerprint,
)
from domain.text.redaction import redact_outgoing
from domain.value import Value

MOST_PARTS = 100
"""Alerts or errors of one message that are looked at."""
ENVIRONMENTS = ("environment", "env", "deployment_environment", "deployment.environment.name", "deployment.environment")
"""Names of labels that say which environment an alert is about, the first that is there."""


class CamelCase(Value):
    """A part of a message whose fields are written in camel case."""

    model_config = ConfigDict(alias_generator=to_camel)


@dataclass
class Heard:
    """What a message says.

    :param reports: problems that are there, each with the place in the message that tells of it.
    :param resolved: fingerprints of problems that are over.
    :param mistakes: parts of it that say too little.
    :param ignored: how many parts say nothing that Forge could act on.
    """

    reports: list[tuple[str, AnyReport]] = field(default_factory=list[tuple[str, AnyReport]])
    resolved: list[str] = field(default_factory=list[str])
    mistakes: list[FieldMistake] = field(default_factory=list[FieldMistake])
    ignored: int = 0

    def add(
        self,
        kind: type[AnyReport],
        place: str,
        values: Mapping[str, Any],
        names: Mapping[str, str],
        now: datetime,
        *,
        is_over: bool = False,
    ) -> None:
        """Take a part of the message as a report, or say which of its fields is wrong.

        :param place: of the part, such as ``alerts.0``; empty for all of it.
        :param values: of the report.
        :param names: what its fields are called in the message, where that is something else.
        :param is_over: the problem is over.
        """
        try:
            report = kind.model_validate({name: value for name, value in values.items() if value is not None})
        except ValidationError as error:
            for each in error.errors(include_input=False):
                name = str(each["loc"][0]) if each["loc"] else ""
                why = "is missing" if each["type"] == "missing" else each["msg"].removeprefix("Value error, ")
                self.mistakes.append(FieldMistake(field=join(place, names.get(name, name)), why=why))
            return
        if report.moment > now + AHEAD:
            name = names.get(report.MOMENT, report.MOMENT)
            self.mistakes.append(FieldMistake(field=join(place, name), why="lies in the future"))
        elif is_over:
            self.resolved.append(make_fingerprint(report))
        else:
            self.reports.append((place, report))


_FIELDS = {"environment": "resource.attributes.deployment.environment.name", "first_seen": "timeUnixNano"}


class _Attribute(CamelCase):
    key: str
    value: Mapping[str, Any] | None = None


class _Moment(CamelCase):
    """A log record, or an event of a span."""

    time_unix_nano: int | str | None = None
    attributes: tuple[_Attribute, ...] = ()


class _Logs(CamelCase):
    log_records: tuple[_Moment, ...] = ()


class _Span(CamelCase):
    events: tuple[_Moment, ...] = ()


class _Spans(CamelCase):
    spans: tuple[_Span, ...] = ()


class _Resource(CamelCase):
    attributes: tuple[_Attribute, ...] = ()


class _ResourceLogs(CamelCase):
    resource: _Resource = _Resource()
    scope_logs: tuple[_Logs, ...] = ()


class _ResourceSpans(CamelCase):
    resource: _Resource = _Resource()
    scope_spans: tuple[_Spans, ...] = ()


class _LogMessage(CamelCase):
    resource_logs: tuple[_ResourceLogs, ...] = ()
    resource_spans: tuple[_ResourceSpans, ...] = ()


def hear_telemetry(body: bytes, environment: str | None, now: datetime) -> Heard | Sequence[FieldMistake]:
    """What a message says: each exception in it once, with how often it is there. The rest is ignored.

    :param environment: of resources that name none.
    """
    message = read_message(_LogMessage, body)
    if not isinstance(message, _LogMessage):
        return message
    heard, counts, first = Heard(), Counter[tuple[str, str]](), dict[tuple[str, str], tuple[str, dict[str, Any]]]()
    for place, resource, moment in _list_moments(message):
        told = _read(moment.attributes)
        stack = (
            told.get("exception.stacktrace") or f"{told.get('exception.type', '')}: {told.get('exception.message', '')}"
        )
        if not stack.strip(": "):
            heard.ignored += 1
            continue
        where = find_environment({**resource, **told}, environment)
        key = (where or "", fingerprint_stack(stack))
        counts[key] += 1
        first.setdefault(key, (place, _describe_log(stack, where, {**resource, **told}, moment, now)))
    for key, (place, values) in [*first.items()][:MOST_PARTS]:
        heard.add(ErrorReport, place, {**values, "frequency": counts[key]}, _FIELDS, now)
    heard.ignored += sum(counts[key] for key in [*first][MOST_PARTS:])
    return heard


def _list_moments(message: _LogMessage) -> Iterator[tuple[str, dict[str, str], _Moment]]:
    """Each log record and event: its place, the attributes of its resource, and itself."""
    for at, logs in enumerate(message.resource_logs):
        known = _read(logs.resource.attributes)
        for scope in logs.scope_logs:
            yield from ((f"resourceLogs.{at}", known, record) for record in scope.log_records)
    for at, spans in enumerate(message.resource_spans):
        known = _read(spans.resource.attributes)
        for scope in spans.scope_spans:
            yield from ((f"resourceSpans.{at}", known, event) for span in scope.spans for event in span.events)


def _read(attributes: Sequence[_Attribute]) -> dict[str, str]:
    return {each.key: str(next(iter(each.value.values()), "")) for each in attributes if each.value}


def _describe_log(
    stack: str, environment: str | None, known: Mapping[str, str], moment: _Moment, now: datetime
) -> dict[str, Any]:
    return {
        "environment": environment,
        "stack": stack.strip()[-LONGEST_STACK:],
        "first_seen": _find_time(moment, now),
        "commit": take_commit(known.get("vcs.ref.head.revision")) or take_commit(known.get("service.version")),
        "release": take_release(known.get("service.version")),
    }


def _find_time(moment: _Moment, now: datetime) -> datetime:
    try:
        nanoseconds = int(moment.time_unix_nano or 0)
        return datetime.fromtimestamp(nanoseconds / 1e9, UTC) if nanoseconds > 0 else now
    except (ValueError, OverflowError, OSError):
        return now


class _Alert(CamelCase):
    """One alert of a group.

    :param values: Grafana's, of the queries and expressions of its rule.
    """

    status: Literal["firing", "resolved"]
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    starts_at: AwareDatetime
    generator_url: str = Field(default="", alias="generatorURL")
    dashboard_url: str = Field(default="", alias="dashboardURL")
    values: Mapping[str, JsonValue] | None = None


class _Message(Value):
    alerts: list[_Alert]


_NAMES = {"environment": "labels.environment", "metric": "labels.alertname", "at": "startsAt"}
_ABOUT_RELEASE = ("commit", "deployment")  # they differ from one deployment to the next, the problem does not


def hear_alerts(body: bytes, environment: str | None, now: datetime) -> Heard | Sequence[FieldMistake]:
    """What a message says: each alert of its group is a problem of its own, known by its labels.

    :param environment: of alerts without a label that names one.
    """
    message = read_message(_Message, body)
    if not isinstance(message, _Message):
        return message
    heard = Heard(ignored=max(0, len(message.alerts) - MOST_PARTS))
    for at, alert in enumerate(message.alerts[:MOST_PARTS]):
        is_over = alert.status == "resolved"
        heard.add(AnomalyReport, f"alerts.{at}", _describe(alert, environment), _NAMES, now, is_over=is_over)
    return heard


def _describe(alert: _Alert, environment: str | None) -> dict[str, object]:
    labels, told = alert.labels, alert.annotations
    return {
        "environment": find_environment(labels, environment),
        "metric": take_metric(labels.get("alertname", "")),
        "labels": take_labels(labels, ("alertname", *ENVIRONMENTS, *_ABOUT_RELEASE)),
        "baseline": take_figure(told.get("baseline")),
        "current": _find_current(alert),
        "summary": take_summary(told.get("summary"), told.get("description"), told.get("message")),
        "commit": take_commit(labels.get("commit") or told.get("commit")),
        "deployment": take_deployment(labels.get("deployment") or told.get("deployment")),
        "at": alert.starts_at,
        "url": take_address(told.get("url"), alert.dashboard_url, alert.generator_url),
    }


def _find_current(alert: _Alert) -> float | None:
    """What an annotation says, else the first of Grafana's values: the others are conditions on it."""
    for name in ("current", "value"):
        if (told := take_figure(alert.annotations.get(name))) is not None:
            return told
    return next((take_figure(value) for _, value in sorted((alert.values or {}).items())), None)


_NO_METRIC = re.compile(r"[^A-Za-z0-9_.:/-]+")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_DEPLOYMENT = re.compile(r"D-[0-9A-HJKMNP-TV-Z]{6}")
_RELEASE = re.compile(r"[\x20-\x7e]{1,100}")
_ADDRESS = re.compile(r"https?://[^\s@/?#]{1,200}(?:[/?#][\x21-\x7e]{0,250})?")
M = TypeVar("M", bound=BaseModel)


def read_message(schema: type[M], body: bytes) -> M | Sequence[FieldMistake]:
    """A message as a value of the schema, or what is wrong with it; never with what was sent in it."""
    try:
        return schema.model_validate(json.loads(body))
    except ValueError as error:
        if not isinstance(error, ValidationError):
            return [FieldMistake(field="", why="is not a JSON object")]
        found = error.errors(include_input=False)
        return [FieldMistake(field=".".join(map(str, each["loc"])), why=each["msg"]) for each in found[:20]]


def join(place: str, name: str) -> str:
    """The full name of a field."""
    return f"{place}.{name}" if place else name


def find_environment(labels: Mapping[str, str], default: str | None) -> str | None:
    """The environment that labels name, else that of the token."""
    return next((labels[name] for name in ENVIRONMENTS if labels.get(name)), default)


def take_metric(name: str) -> str | None:
    """A name of an alert as a name of a metric; None if nothing is left of it."""
    plain = _NO_METRIC.sub("_", name).strip("_")
    return None if not plain else (plain if plain[0].isalpha() else f"alert_{plain}")[:100]


def take_labels(labels: Mapping[str, str], without: Sequence[str] = ()) -> dict[str, str]:
    """What tells alerts of one name apart, without credentials."""
    kept = {
        _take_line(name, LONGEST_LABEL): _take_line(value, LONGEST_LABEL)
        for name, value in sorted(labels.items())
        if name not in without and value
    }
    return dict([*kept.items()][:MOST_LABELS])


def take_summary(*texts: str | None) -> str | None:
    """The first text that says something, without credentials."""
    return next((_take_line(text, LONGEST_SUMMARY) for text in texts if text and text.strip()), None)


def _take_line(text: str, longest: int) -> str:
    return " ".join(redact_outgoing(text.replace("\0", "")).split())[:longest]


def take_commit(text: str | None) -> str | None:
    return text if text and _COMMIT.fullmatch(text) else None


def take_deployment(text: str | None) -> str | None:
    return text if text and _DEPLOYMENT.fullmatch(text) else None


def take_release(text: str | None) -> str | None:
    return text if text and _RELEASE.fullmatch(text) and redact_outgoing(text) == text else None


def take_address(*texts: str | None) -> str | None:
    """The first address that people may be shown."""
    known = (text for text in texts if text and _ADDRESS.fullmatch(text))
    return next((text for text in known if redact_outgoing(text) == text), None)


def take_figure(text: object) -> float | None:
    """A figure within the bounds of a report; None if it is none."""
    try:
        figure = float(str(text).strip().rstrip("%"))
    except ValueError:
        return None
    return figure if -1e15 <= figure <= 1e15 else None
