"""Messages as monitoring systems document them, shortened."""

from typing import Any

from tests.world.feedback import STACK

STARTED = "2026-05-01T11:55:00.157Z"


def alertmanager(status: str = "firing", environment: str = "production", commit: str = "4f2a91c") -> dict[str, Any]:
    """A group of two alerts, version 4."""
    named = {"environment": environment} if environment else {}

    def alert(service: str) -> dict[str, Any]:
        labels = {"alertname": "HighErrorRate", "job": "shop", "service": service, "severity": "page"}
        return {
            "status": status,
            "labels": {**labels, **named, "commit": commit},
            "annotations": {"summary": f"20 % of the answers of {service} are errors", "value": "0.2"},
            "startsAt": STARTED,
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://prometheus.example:9090/graph?g0.expr=up",
            "fingerprint": "c6eadffa33fcdf37",
        }

    return {
        "receiver": "forge",
        "status": status,
        "alerts": [alert("cart"), alert("payment")],
        "groupLabels": {"alertname": "HighErrorRate"},
        "commonLabels": {"alertname": "HighErrorRate", "job": "shop", "severity": "page"},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager.example:9093",
        "version": "4",
        "groupKey": '{}:{alertname="HighErrorRate"}',
        "truncatedAlerts": 0,
    }


def grafana() -> dict[str, Any]:
    """A group of one alert, version 1."""
    alert = {
        "status": "firing",
        "labels": {"alertname": "High memory usage", "team": "blue", "zone": "us-1"},
        "annotations": {"description": "The system has high memory usage", "runbook_url": "https://runbook.example/1"},
        "startsAt": "2021-10-12T09:51:03.157076+02:00",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "https://play.grafana.org/alerting/1afz29v7z/edit",
        "fingerprint": "c6eadffa33fcdf37",
        "silenceURL": "https://play.grafana.org/alerting/silence/new",
        "dashboardURL": "https://play.grafana.org/d/dashboard",
        "panelURL": "",
        "values": {"B": 44.23943737541908, "C": 1},
    }
    return {
        "receiver": "Forge",
        "status": "firing",
        "orgId": 1,
        "alerts": [alert],
        "groupLabels": {},
        "commonLabels": {"team": "blue"},
        "version": "1",
        "groupKey": "{}:{}",
        "truncatedAlerts": 0,
        "title": "[FIRING:1]  (blue)",
        "state": "alerting",
        "message": "**Firing**",
    }


def sentry_event(kind: str, issue: str = "1170820242") -> dict[str, Any]:
    """An event of an error: ``event`` of an issue alert, or ``error``."""
    frames = [
        {"filename": "server.py", "abs_path": "/srv/app/server.py", "function": "handle", "lineno": 31},
        {"filename": "app.py", "abs_path": "/srv/app/app.py", "function": "price", "lineno": 2},
    ]
    event = {
        "_ref": 1,
        "event_id": "e4874d664c3540c1a32eab185f12c5ab",
        "issue_id": issue,
        "culprit": "app in price",
        "datetime": STARTED,
        "level": "error",
        "release": "shop@4f2a91c0",
        "tags": [["environment", "production"], ["level", "error"], ["user", None]],
        "title": "ZeroDivisionError: division by zero",
        "exception": {
            "values": [{"type": "ZeroDivisionError", "value": "division by zero", "stacktrace": {"frames": frames}}]
        },
        "web_url": "https://sentry.io/organizations/octo/issues/1170820242/events/e4874d66/",
    }
    return {
        "action": "triggered" if kind == "event" else "created",
        "installation": {"uuid": "a8e5d37a-696c-4c54-adb5-b3f28d64c7de"},
        "data": {kind: event, "triggered_rule": "Very Important Alert Rule!"},
        "actor": {"id": "sentry", "name": "Sentry", "type": "application"},
    }


def sentry_issue(action: str, issue: str = "1170820242") -> dict[str, Any]:
    """What happened to an issue in Sentry."""
    shown = {
        "id": issue,
        "shortId": "SHOP-1",
        "title": "ZeroDivisionError: division by zero",
        "culprit": "app in price",
        "level": "error",
        "status": "resolved" if action == "resolved" else "unresolved",
        "count": "1",
        "userCount": 4,
        "firstSeen": STARTED,
        "lastSeen": STARTED,
        "metadata": {
            "type": "ZeroDivisionError",
            "value": "division by zero",
            "filename": "app.py",
            "function": "price",
        },
        "project": {"id": "1", "name": "shop", "slug": "shop", "platform": "python"},
    }
    return {
        "action": action,
        "installation": {"uuid": "a8e5d37a-696c-4c54-adb5-b3f28d64c7de"},
        "data": {"issue": shown},
        "actor": {"id": 789, "name": "Colleen", "type": "user"},
    }


def _attributes(**values: str) -> list[dict[str, Any]]:
    return [{"key": name.replace("__", "."), "value": {"stringValue": value}} for name, value in values.items()]


_RESOURCE = {
    "attributes": _attributes(
        service__name="shop", service__version="4f2a91c0", deployment__environment__name="production"
    )
}
_EXCEPTION = _attributes(
    exception__type="ZeroDivisionError", exception__message="division by zero", exception__stacktrace=STACK
)


def otlp_logs() -> dict[str, Any]:
    """Three records of logs, two of them of the same exception."""
    record = {
        "timeUnixNano": "1777636500000000000",
        "severityNumber": 17,
        "severityText": "ERROR",
        "body": {"stringValue": "failed"},
    }
    records = [{**record, "attributes": _EXCEPTION}, {**record, "attributes": _EXCEPTION}, record]
    return {
        "resourceLogs": [{"resource": _RESOURCE, "scopeLogs": [{"scope": {"name": "shop"}, "logRecords": records}]}]
    }


def otlp_traces() -> dict[str, Any]:
    """Two spans with the same exception, and another event."""
    event = {"timeUnixNano": "1777636500000000000", "name": "exception", "attributes": _EXCEPTION}
    span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "GET /price"}
    spans = [{**span, "events": [event]}, {**span, "events": [event, {"name": "retry"}]}, span]
    return {"resourceSpans": [{"resource": _RESOURCE, "scopeSpans": [{"scope": {}, "spans": spans}]}]}
