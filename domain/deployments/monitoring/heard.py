"""What one message of a monitoring system says, in Forge's words, and how its parts are taken."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from domain.deployments.feedback import (
    AHEAD,
    LONGEST_LABEL,
    LONGEST_SUMMARY,
    MOST_LABELS,
    AnyReport,
    FieldMistake,
    make_fingerprint,
)
from domain.text.redaction import redact_outgoing
from domain.value import Value

MOST_PARTS = 100
"""Alerts or errors of one message that are looked at."""
ENVIRONMENTS = ("environment", "env", "deployment_environment", "deployment.environment.name", "deployment.environment")
"""Names of labels that say which environment an alert is about, the first that is there."""

_NO_METRIC = re.compile(r"[^A-Za-z0-9_.:/-]+")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_DEPLOYMENT = re.compile(r"D-[0-9A-HJKMNP-TV-Z]{6}")
_RELEASE = re.compile(r"[\x20-\x7e]{1,100}")
_ADDRESS = re.compile(r"https?://[^\s@/?#]{1,200}(?:[/?#][\x21-\x7e]{0,250})?")

M = TypeVar("M", bound=BaseModel)


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
