"""Reads webhooks of Alertmanager and of Grafana, which has the same shape and more.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue

from domain.deployments.feedback import AnomalyReport, FieldMistake
from domain.deployments.monitoring.heard import (
    ENVIRONMENTS,
    MOST_PARTS,
    CamelCase,
    Heard,
    find_environment,
    read_message,
    take_address,
    take_commit,
    take_deployment,
    take_figure,
    take_labels,
    take_metric,
    take_summary,
)
from domain.value import Value

_NAMES = {"environment": "labels.environment", "metric": "labels.alertname", "at": "startsAt"}
_ABOUT_RELEASE = ("commit", "deployment")  # they differ from one deployment to the next, the problem does not


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
