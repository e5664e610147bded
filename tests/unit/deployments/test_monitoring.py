"""What Alertmanager, Grafana, Sentry and OpenTelemetry send, in the shapes that their documentation shows."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from domain.deployments.alerts import MOST_PARTS, Heard, hear_alerts, hear_telemetry
from domain.deployments.problems import AnomalyReport, ErrorReport, make_fingerprint
from domain.deployments.sentry import hear_sentry
from tests.world.monitoring_payloads import alertmanager, grafana, otlp_logs, otlp_traces, sentry_event, sentry_issue

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def hear(read: Any, message: Any, environment: str | None = None) -> Heard:
    heard = read(json.dumps(message).encode(), environment, NOW)
    assert isinstance(heard, Heard), heard
    return heard


def only_anomalies(heard: Heard) -> Sequence[AnomalyReport]:
    return [report for _, report in heard.reports if isinstance(report, AnomalyReport)]


def only_errors(heard: Heard) -> Sequence[ErrorReport]:
    return [report for _, report in heard.reports if isinstance(report, ErrorReport)]


def test_each_alert_of_a_group_is_apart_and_known_again_when_it_is_over() -> None:
    first, second = only_anomalies(hear(hear_alerts, alertmanager()))
    assert (first.environment, first.metric, first.current, first.baseline) == (
        "production",
        "HighErrorRate",
        0.2,
        None,
    )
    assert first.labels == {"job": "shop", "service": "cart", "severity": "page"}
    assert (first.commit, first.summary) == ("4f2a91c", "20 % of the answers of cart are errors")
    assert first.url == "http://prometheus.example:9090/graph?g0.expr=up"
    assert make_fingerprint(first) != make_fingerprint(second)
    over = hear(hear_alerts, alertmanager(status="resolved", commit="aaaaaaa"))
    assert over.resolved == [make_fingerprint(first), make_fingerprint(second)]
    assert over.reports == []


def test_an_alert_without_an_environment_has_that_of_the_token_or_is_refused_by_name() -> None:
    message = alertmanager(environment="")
    assert {each.environment for each in only_anomalies(hear(hear_alerts, message, "staging"))} == {"staging"}
    heard = hear(hear_alerts, message)
    assert [(each.field, each.why) for each in heard.mistakes] == [
        ("alerts.0.labels.environment", "is missing"),
        ("alerts.1.labels.environment", "is missing"),
    ]
    assert heard.reports == []


def test_what_is_wrong_with_one_alert_keeps_no_other_from_being_heard() -> None:
    message = alertmanager()
    message["alerts"][0]["labels"]["environment"] = "no such name!"
    message["alerts"] += [{**message["alerts"][1], "startsAt": "2099-01-01T00:00:00Z"}]
    heard = hear(hear_alerts, message)
    assert [each.field for each in heard.mistakes] == ["alerts.0.labels.environment", "alerts.2.startsAt"]
    assert len(heard.reports) == 1
    assert "no such name" not in str(heard.mistakes)


def test_a_message_of_another_shape_is_refused_by_name() -> None:
    told = hear_alerts(b'{"alerts": [{"status": "odd"}]}', None, NOW)
    assert not isinstance(told, Heard)
    assert [each.field for each in told] == ["alerts.0.status", "alerts.0.startsAt"]
    empty, broken = (hear_alerts(body, None, NOW) for body in (b"{}", b"\xff"))
    assert not isinstance(empty, Heard)
    assert not isinstance(broken, Heard)
    assert [each.field for each in empty] == ["alerts"]
    assert [each.why for each in broken] == ["is not a JSON object"]


def test_more_alerts_than_are_looked_at_are_counted() -> None:
    message = alertmanager()
    message["alerts"] = [{**message["alerts"][0], "labels": {"alertname": f"a{at}", "env": "x"}} for at in range(130)]
    heard = hear(hear_alerts, message)
    assert (len(heard.reports), heard.ignored) == (MOST_PARTS, 30)


def test_an_alert_of_grafana_has_its_value_and_a_name_with_spaces() -> None:
    [report] = only_anomalies(hear(hear_alerts, grafana(), "production"))
    assert (report.metric, report.current) == ("High_memory_usage", 44.23943737541908)
    assert report.url == "https://play.grafana.org/d/dashboard"
    assert report.labels == {"team": "blue", "zone": "us-1"}


def test_no_credential_of_a_label_or_a_summary_is_kept() -> None:
    message = alertmanager()
    secret = "ghp_" + "a1B2" * 9
    message["alerts"][0]["labels"]["note"] = message["alerts"][0]["annotations"]["summary"] = secret
    message["alerts"][0]["generatorURL"] = f"https://user:{secret}@prometheus.example/"
    heard = hear(hear_alerts, message)
    assert len(heard.reports) == 2
    assert secret not in str(heard.reports)


def test_an_error_of_sentry_is_known_by_its_issue() -> None:
    [triggered] = only_errors(hear(hear_sentry, sentry_event("event")))
    assert (triggered.environment, triggered.affected_users, triggered.frequency) == ("production", None, 1)
    assert (triggered.release, triggered.commit) == ("shop@4f2a91c0", "4f2a91c0")
    assert triggered.stack.splitlines()[-2:] == [
        '  File "app.py", line 2, in price',
        "ZeroDivisionError: division by zero",
    ]
    [created] = only_errors(hear(hear_sentry, sentry_issue("created"), "production"))
    assert created.affected_users == 4
    over = hear(hear_sentry, sentry_issue("resolved"), "production")
    assert {make_fingerprint(triggered), make_fingerprint(created)} == {*over.resolved}
    assert hear(hear_sentry, sentry_issue("assigned"), "production").ignored == 1
    assert hear(hear_sentry, {"action": "created", "data": {"installation": {}}}).ignored == 1


def test_an_issue_of_sentry_names_no_environment() -> None:
    assert [each.field for each in hear(hear_sentry, sentry_issue("created")).mistakes] == ["data.issue.environment"]


def test_a_metric_alert_of_sentry_ends() -> None:
    alert = {"alert_rule": {"id": "7", "name": "Too many errors", "environment": "production"}}
    data = {"metric_alert": alert, "description_text": "1000 events", "web_url": "https://sentry.io/alerts/1/"}
    [report] = only_anomalies(hear(hear_sentry, {"action": "critical", "data": data}))
    assert (report.metric, report.summary, report.at) == ("Too_many_errors", "1000 events", NOW)
    assert hear(hear_sentry, {"action": "resolved", "data": data}).resolved == [make_fingerprint(report)]


def test_exceptions_of_telemetry_are_counted_and_the_rest_is_ignored() -> None:
    for message in (otlp_logs(), otlp_traces()):
        heard = hear(hear_telemetry, message)
        [report] = only_errors(heard)
        assert (report.environment, report.frequency, report.release) == ("production", 2, "4f2a91c0")
        assert report.commit == "4f2a91c0"
        assert report.stack.startswith("Traceback")
        assert heard.ignored == 1
    nameless = otlp_logs()
    nameless["resourceLogs"][0]["resource"]["attributes"] = []
    [mistake] = hear(hear_telemetry, nameless).mistakes
    assert mistake.field == "resourceLogs.0.resource.attributes.deployment.environment.name"
