"""Reads logs and traces of OpenTelemetry in OTLP's JSON: the exceptions in them.

https://opentelemetry.io/docs/specs/otlp/ and https://opentelemetry.io/docs/specs/semconv/exceptions/
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from domain.deployments.alerts import (
    MOST_PARTS,
    CamelCase,
    Heard,
    find_environment,
    read_message,
    take_commit,
    take_release,
)
from domain.deployments.problems import LONGEST_STACK, ErrorReport, FieldMistake, fingerprint_stack

_NAMES = {"environment": "resource.attributes.deployment.environment.name", "first_seen": "timeUnixNano"}


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


class _Message(CamelCase):
    resource_logs: tuple[_ResourceLogs, ...] = ()
    resource_spans: tuple[_ResourceSpans, ...] = ()


def hear_telemetry(body: bytes, environment: str | None, now: datetime) -> Heard | Sequence[FieldMistake]:
    """What a message says: each exception in it once, with how often it is there. The rest is ignored.

    :param environment: of resources that name none.
    """
    message = read_message(_Message, body)
    if not isinstance(message, _Message):
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
        first.setdefault(key, (place, _describe(stack, where, {**resource, **told}, moment, now)))
    for key, (place, values) in [*first.items()][:MOST_PARTS]:
        heard.add(ErrorReport, place, {**values, "frequency": counts[key]}, _NAMES, now)
    heard.ignored += sum(counts[key] for key in [*first][MOST_PARTS:])
    return heard


def _list_moments(message: _Message) -> Iterator[tuple[str, dict[str, str], _Moment]]:
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


def _describe(
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
