"""Reads the figures that gates of a deployment weigh: whether a page is healthy, a number in JSON, one of Prometheus.

What was not read is never a figure: a reading without a value says why. Only a page that does not answer is a finding
by itself, since that is what a look at its health is for.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, assert_never, cast

from pydantic import ConfigDict, Field, JsonValue, field_validator

from domain.errors import OutboundError, OutboundFailed
from domain.ports import Outbound, OutboundAnswer
from domain.text.escaping import cut_text, flatten_text
from domain.text.redaction import redact_outgoing
from domain.value import Value

HEALTHY, UNHEALTHY = 1.0, 0.0
MOST_PROBLEM = 200
"""Characters of a problem."""
MOST_QUOTED = 80
"""Characters of an answer that a problem repeats."""

_KEY = r"[^\s.\[\]'\"]+"
_STEP = re.compile(rf"\.({_KEY})|\[(\d{{1,9}})\]|\['([^']+)'\]|\[\"([^\"]+)\"\]")
_PATH = re.compile(rf"(?:\$|(?!\$){_KEY})(?:{_STEP.pattern})*")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_WRONG_PATH = 'write a path such as data.errors.rate, $.data[0].value or $["two words"]'
_OTHER_ANSWER = "What answers is not the API of Prometheus."

Url = Annotated[str, Field(pattern=r"^(?i:https?)://\S+$", max_length=2000)]
"""Whether it may be asked is decided when it is (``Outbound``)."""
NO_PARAMETERS: Mapping[str, str] = MappingProxyType({})


_NO_SERIES = (
    "The query found no series. Around a counter that may not exist yet, and only there, write `(… or vector(0))`."
)


class Reading(Value):
    """What was read at one moment.

    :param value: None: nothing was read.
    :param problem: why not, or what is wrong with a page that is not healthy; text for people.
    :param seconds: how long the answer took; None: there was none.
    """

    value: float | None = Field(default=None, allow_inf_nan=False)
    problem: str = Field(default="", max_length=MOST_PROBLEM)
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class HealthTarget(Value):
    """A page that shows whether something works: 1 if it answers as it should, 0 if it does not.

    :param statuses: that are healthy; none: every one from 200 to 299.
    :param contains: text that the page must hold.
    """

    model_config = ConfigDict(extra="forbid")

    url: Url
    statuses: tuple[Annotated[int, Field(ge=100, le=599)], ...] = ()
    contains: str = Field(default="", max_length=1000)


class JsonTarget(Value):
    """A number in a page of JSON.

    :param path: keys and places that lead to it, such as ``data.errors.rate`` or ``$.data[0].value``.
    """

    model_config = ConfigDict(extra="forbid")

    url: Url
    path: str = Field(max_length=500)

    @field_validator("path")
    @classmethod
    def _is_path(cls, value: str) -> str:
        if not _PATH.fullmatch(value):
            raise ValueError(_WRONG_PATH)
        return value


class PrometheusTarget(Value):
    """The result of an instant query: a scalar, or the only series there is.

    :param url: of the server, without ``/api/v1/query``.
    """

    model_config = ConfigDict(extra="forbid")

    url: Url
    query: str = Field(min_length=1, max_length=5000)

    @field_validator("url")
    @classmethod
    def _is_base(cls, value: str) -> str:
        if "?" in value or "#" in value:
            raise ValueError("write the address of the Prometheus server alone; the query is a setting of its own")
        return value


Target = HealthTarget | JsonTarget | PrometheusTarget


class _NoFigure(Exception):
    """There is no figure; the message says why."""


async def take_reading(outbound: Outbound, target: Target) -> Reading:
    """Ask a target once and read its answer; what goes wrong is in the reading."""
    try:
        answer = await outbound.get(find_address(target), find_parameters(target))
    except OutboundError as error:
        return read_failure(target, error)
    return read_answer(target, answer)


def find_address(target: Target) -> str:
    """The address to ask."""
    return f"{target.url.rstrip('/')}/api/v1/query" if isinstance(target, PrometheusTarget) else target.url


def find_parameters(target: Target) -> Mapping[str, str]:
    """What is added to the query of the address."""
    return {"query": target.query} if isinstance(target, PrometheusTarget) else NO_PARAMETERS


def read_failure(target: Target, error: OutboundError) -> Reading:
    """The reading where there was no answer: 0 for a page that was asked for its health, else nothing."""
    is_down = isinstance(target, HealthTarget) and isinstance(error, OutboundFailed)
    return _build_reading(UNHEALTHY if is_down else None, str(error), None)


def read_answer(target: Target, answer: OutboundAnswer) -> Reading:
    """The reading of an answer."""
    match target:
        case HealthTarget():
            return read_health(target, answer)
        case JsonTarget():
            return read_json(target, answer)
        case PrometheusTarget():
            return read_prometheus(answer)
        case _:
            assert_never(target)


def read_health(target: HealthTarget, answer: OutboundAnswer) -> Reading:
    """1 if the page answers as it should; 0, and what is wrong, if it does not."""
    is_right = answer.status in target.statuses if target.statuses else _is_success(answer)
    if not is_right:
        return _build_reading(UNHEALTHY, f"It answered with status {answer.status}.", answer.seconds)
    if target.contains not in answer.body.decode(errors="replace"):
        return _build_reading(UNHEALTHY, f"The page does not contain “{_cut(target.contains)}”.", answer.seconds)
    return _build_reading(HEALTHY, "", answer.seconds)


def read_json(target: JsonTarget, answer: OutboundAnswer) -> Reading:
    """The number at the target's path."""
    try:
        if not _is_success(answer):
            raise _NoFigure(f"It answered with status {answer.status}.")
        value = _number(_walk(_parse(answer.body), target.path), f"What is at {_cut(target.path)}")
    except _NoFigure as reason:
        return _build_reading(None, str(reason), answer.seconds)
    return _build_reading(value, "", answer.seconds)


def read_prometheus(answer: OutboundAnswer) -> Reading:
    """The number that a query gives."""
    try:
        value = _sample(_result(answer))
    except _NoFigure as reason:
        return _build_reading(None, str(reason), answer.seconds)
    return _build_reading(value, "", answer.seconds)


def _build_reading(value: float | None, problem: str, seconds: float | None) -> Reading:
    return Reading(value=value, problem=_cut(redact_outgoing(problem), MOST_PROBLEM), seconds=seconds)


def _is_success(answer: OutboundAnswer) -> bool:
    return 200 <= answer.status <= 299


def _parse(body: bytes) -> JsonValue:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise _NoFigure("The answer is not JSON.") from None


def _walk(value: JsonValue, path: str) -> JsonValue:
    """What a path leads to."""
    way = "$"
    for key, place, *quoted in _STEP.findall(path if path.startswith("$") else f".{path}"):
        name: str = key or "".join(quoted)
        way += f"[{place}]" if place else f".{name}"
        try:
            value = _items(value)[int(place)] if place else _members(value)[name]
        except LookupError:
            raise _NoFigure(f"The answer has no {_cut(way)}.") from None
    return value


def _items(value: JsonValue) -> Sequence[JsonValue]:
    return cast("list[JsonValue]", value) if isinstance(value, list) else ()


def _members(value: JsonValue) -> Mapping[str, JsonValue]:
    return cast("dict[str, JsonValue]", value) if isinstance(value, dict) else {}


def _number(value: JsonValue, what: str) -> float:
    """A JSON number as a figure.

    :param what: begins the sentence that says why it is none.
    """
    if value is None:
        raise _NoFigure(f"{what} is null.")
    if isinstance(value, bool) or not isinstance(value, int | float):
        kinds = {bool: "true or false", str: "text", list: "a list", dict: "an object"}
        raise _NoFigure(f"{what} is {kinds[type(value)]}, not a number.")
    try:
        figure = float(value)
    except OverflowError:
        figure = math.inf
    if not math.isfinite(figure):
        raise _NoFigure(f"{what} is not a finite number.")
    return figure


def _result(answer: OutboundAnswer) -> Mapping[str, JsonValue]:
    """The ``data`` of Prometheus's answer (https://prometheus.io/docs/prometheus/latest/querying/api/)."""
    try:
        document = _parse(answer.body)
    except _NoFigure:
        document = None
    match document:
        # pyrefly: ignore[not-callable]
        case {"status": "success", "data": {"resultType": str(), "result": _} as data} if _is_success(answer):
            return data
        case {"status": "error", "error": str(said)}:
            # The beginning of what an answer says; masked before it is cut, since half a secret is not recognised.
            quote = _cut(redact_outgoing(said[: 20 * MOST_QUOTED]))
            raise _NoFigure(f"Prometheus refused the query: {quote}")
        case _ if _is_success(answer):
            raise _NoFigure(_OTHER_ANSWER)
        case _:
            raise _NoFigure(f"It answered with status {answer.status}.")


def _sample(data: Mapping[str, JsonValue]) -> float:
    match data:
        case {"resultType": "scalar", "result": [_, str(text)]}:
            return _figure(text)
        case {"resultType": "vector", "result": []}:
            raise _NoFigure(_NO_SERIES)
        # pyrefly: ignore[not-callable]
        case {"resultType": "vector", "result": [{"value": [_, str(text)]}]}:
            return _figure(text)
        # pyrefly: ignore[not-callable]
        case {"resultType": "vector", "result": [{"histogram": _}]}:
            raise _NoFigure("The query gives a histogram, not a number.")
        case {"resultType": "vector", "result": [_, _, *_] as series}:
            raise _NoFigure(f"The query found {len(series)} series; aggregate them to one, for example with sum().")
        case {"resultType": "matrix" | "string" as kind}:
            raise _NoFigure(f"The query gives a {kind}; it must give a scalar or a vector.")
        case _:
            raise _NoFigure(_OTHER_ANSWER)


def _figure(text: str) -> float:
    """A sample's value, which Prometheus writes as text."""
    if text == "NaN":
        raise _NoFigure("The query gives NaN: there is nothing to divide by, or nothing was measured.")
    if text in {"+Inf", "-Inf"}:
        raise _NoFigure("The query gives an infinite number.")
    if not _NUMBER.fullmatch(text):
        raise _NoFigure(_OTHER_ANSWER)
    return _number(float(text), "The result")


def _cut(text: str, most: int = MOST_QUOTED) -> str:
    return cut_text(flatten_text(text), most)


def is_json_path(text: str) -> bool:
    """Whether a text is a path that :class:`JsonTarget` takes."""
    return bool(_PATH.fullmatch(text))
