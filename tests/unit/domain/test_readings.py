"""What an answer comes to: a figure where there is one, and why there is none where there is not."""

import json
from collections.abc import Mapping

import pytest
from pydantic import TypeAdapter, ValidationError

from domain.deployments.readings import (
    HealthTarget,
    JsonTarget,
    PrometheusTarget,
    Reading,
    Target,
    read_answer,
    read_failure,
    take_reading,
)
from domain.errors import OutboundError, OutboundFailed, OutboundRefused
from domain.ports import OutboundAnswer

URL = "https://shop.example/health"
HEALTH, JSON, QUERY = HealthTarget(url=URL), JsonTarget(url=URL, path="rate"), PrometheusTarget(url=URL, query="up")


def answer(body: object = b"", status: int = 200) -> OutboundAnswer:
    """An answer; what is not bytes is given as JSON."""
    return OutboundAnswer(status, body if isinstance(body, bytes) else json.dumps(body).encode(), 0.25)


def read(target: Target, body: object = b"", status: int = 200) -> tuple[float | None, str]:
    reading = read_answer(target, answer(body, status))
    assert reading.seconds == 0.25
    return reading.value, reading.problem


# --- health ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 204, 299])
def test_a_page_is_healthy_that_answers_with_success(status: int) -> None:
    assert read(HEALTH, status=status) == (1.0, "")


@pytest.mark.parametrize("status", [100, 199, 300, 302, 404, 500, 503])
def test_a_page_is_not_healthy_that_answers_with_something_else(status: int) -> None:
    assert read(HEALTH, status=status) == (0.0, f"It answered with status {status}.")


def test_only_the_statuses_count_that_are_named() -> None:
    target = HealthTarget(url=URL, statuses=(401, 204))
    assert [read(target, status=status)[0] for status in (200, 204, 401)] == [0.0, 1.0, 1.0]


def test_a_page_must_hold_its_text() -> None:
    target = HealthTarget(url=URL, contains="läuft")
    assert read(target, "es läuft".encode()) == (1.0, "")
    assert read(target, b"es steht \xff") == (0.0, "The page does not contain “läuft”.")
    assert read(target, "es läuft".encode(), 500) == (0.0, "It answered with status 500.")


def test_a_page_that_does_not_answer_is_not_healthy() -> None:
    failure = OutboundFailed("https://shop.example gave no whole answer within 10 seconds.")
    assert read_failure(HEALTH, failure) == Reading(value=0.0, problem=failure.message)


@pytest.mark.parametrize("target", [JSON, QUERY])
def test_a_metric_that_does_not_answer_is_no_figure(target: Target) -> None:
    failure = OutboundFailed("https://shop.example gave no whole answer within 10 seconds.")
    assert read_failure(target, failure) == Reading(value=None, problem=failure.message)


@pytest.mark.parametrize("target", [HEALTH, JSON, QUERY])
def test_what_may_not_be_asked_says_nothing_about_health(target: Target) -> None:
    reading = read_failure(target, OutboundRefused("It leads to an address.", "Forge asks it only if allowed."))
    assert reading == Reading(problem="It leads to an address. Forge asks it only if allowed.")


# --- JSON --------------------------------------------------------------------------------------------------

DOCUMENT = {"rate": 0.5, "data": {"errors": [{"n": 3}, 4], "two words": 5, "a.b": 6}, "list": [7], "0": 8, "$": 9}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("rate", 0.5),
        ("$.rate", 0.5),
        ("data.errors[0].n", 3.0),
        ("$.data.errors[1]", 4.0),
        ("$.data['two words']", 5.0),
        ('data["a.b"]', 6.0),
        ("list[0]", 7.0),
        ("0", 8.0),
        ("$['$']", 9.0),
    ],
)
def test_a_path_leads_to_a_number(path: str, value: float) -> None:
    assert read(JsonTarget(url=URL, path=path), DOCUMENT) == (value, "")


@pytest.mark.parametrize(
    ("path", "body", "value"),
    [("$", 5, 5.0), ("$[1]", [1, 2], 2.0), ("n", {"n": -1.5e-3}, -0.0015), ("n", {"n": 0}, 0.0)],
)
def test_a_number_at_the_top_and_odd_ones(path: str, body: object, value: float) -> None:
    assert read(JsonTarget(url=URL, path=path), body) == (value, "")


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("nothing", "$.nothing"),
        ("data.nothing.n", "$.data.nothing"),
        ("data.errors[2]", "$.data.errors[2]"),
        ("data[0]", "$.data[0]"),
        ("data.errors.n", "$.data.errors.n"),
        ("list.0", "$.list.0"),
        ("rate.n", "$.rate.n"),
    ],
)
def test_a_path_that_leads_nowhere_says_how_far_it_came(path: str, missing: str) -> None:
    assert read(JsonTarget(url=URL, path=path), DOCUMENT) == (None, f"The answer has no {missing}.")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"rate": None}, "What is at rate is null."),
        ({"rate": True}, "What is at rate is true or false, not a number."),
        ({"rate": "5"}, "What is at rate is text, not a number."),
        ({"rate": [5]}, "What is at rate is a list, not a number."),
        ({"rate": {}}, "What is at rate is an object, not a number."),
        (b'{"rate": NaN}', "What is at rate is not a finite number."),
        (b'{"rate": -Infinity}', "What is at rate is not a finite number."),
        (b'{"rate": 1e999}', "What is at rate is not a finite number."),
        (b'{"rate": 1' + b"0" * 400 + b"}", "What is at rate is not a finite number."),
        (b'{"rate": 1' + b"0" * 5000 + b"}", "The answer is not JSON."),
        (b"", "The answer is not JSON."),
        (b"<html>", "The answer is not JSON."),
        (b"\xff\xfe\xff", "The answer is not JSON."),
        (b"[" * 100_000, "The answer is not JSON."),
        ([], "The answer has no $.rate."),
    ],
)
def test_what_is_no_number_is_no_figure(body: object, problem: str) -> None:
    assert read(JSON, body) == (None, problem)


def test_the_number_on_an_error_page_does_not_count() -> None:
    assert read(JSON, {"rate": 0}, 500) == (None, "It answered with status 500.")


@pytest.mark.parametrize(
    "path",
    ["", ".", "a.", ".a", "a..b", "a[", "a[]", "a[-1]", "a[x]", "a[0", "$a", "a b", "a['']", "$..a", "a[*]", "[0]"],
)
def test_a_path_of_another_form_is_refused(path: str) -> None:
    with pytest.raises(ValidationError, match=r"write a path such as data\.errors\.rate"):
        JsonTarget(url=URL, path=path)


# --- Prometheus --------------------------------------------------------------------------------------------


def success(kind: str, result: object) -> Mapping[str, object]:
    return {"status": "success", "data": {"resultType": kind, "result": result}}


EMPTY: Mapping[str, object] = {}


def series(text: object) -> Mapping[str, object]:
    return {"metric": {"job": "shop"}, "value": [1700000000.5, text]}


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0.0), ("0.25", 0.25), ("-3", -3.0), ("1.5e-05", 1.5e-05), ("1e+06", 1e6)]
)
def test_a_query_gives_a_number(text: str, value: float) -> None:
    assert read(QUERY, success("scalar", [1700000000, text])) == (value, "")
    assert read(QUERY, success("vector", [series(text)])) == (value, "")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            success("vector", []),
            "The query found no series. Around a counter that may not exist yet, and only there, write",
        ),
        (success("vector", [series("NaN")]), "The query gives NaN: there is nothing to divide by, or"),
        (success("scalar", [1, "NaN"]), "The query gives NaN"),
        (success("vector", [series("+Inf")]), "The query gives an infinite number."),
        (success("scalar", [1, "-Inf"]), "The query gives an infinite number."),
        (success("scalar", [1, "1e999"]), "The result is not a finite number."),
        (success("vector", [series("1"), series("2"), series("3")]), "The query found 3 series; aggregate them to one"),
        (success("vector", [{"metric": EMPTY, "histogram": [1, EMPTY]}]), "The query gives a histogram"),
        (success("matrix", [{"metric": EMPTY, "values": "all"}]), "The query gives a matrix; it must give"),
        (success("string", [1, "5"]), "The query gives a string; it must give"),
        (success("scalar", [1, 5]), "What answers is not the API of Prometheus."),
        (success("scalar", [1, "1_0"]), "What answers is not the API of Prometheus."),
        (success("scalar", [1, "infinity"]), "What answers is not the API of Prometheus."),
        (success("vector", {}), "What answers is not the API of Prometheus."),
        (success("vector", [EMPTY]), "What answers is not the API of Prometheus."),
        ({"status": "success"}, "What answers is not the API of Prometheus."),
        ({"rate": 5}, "What answers is not the API of Prometheus."),
        ([], "What answers is not the API of Prometheus."),
        (b"<html>", "What answers is not the API of Prometheus."),
    ],
)
def test_what_a_query_does_not_give_is_no_figure(body: object, problem: str) -> None:
    value, said = read(QUERY, body)
    assert value is None
    assert said.startswith(problem)


def test_what_prometheus_says_of_a_query_is_repeated() -> None:
    body = {"status": "error", "errorType": "bad_data", "error": "parse error:\n unexpected \x1b[31mend"}
    assert read(QUERY, body, 400) == (None, "Prometheus refused the query: parse error: unexpected end")
    assert read(QUERY, b"gateway", 502) == (None, "It answered with status 502.")
    assert read(QUERY, success("scalar", [1, "5"]), 500) == (None, "It answered with status 500.")


def test_a_problem_repeats_little_and_no_secret() -> None:
    token = "ghp_" + "a1B2" * 9
    for before in (0, 50, 60, 70):
        value, said = read(QUERY, {"status": "error", "error": f"{'x' * before} {token} {'x' * 1000}"}, 400)
        assert value is None
        assert token[:8] not in said
        assert len(said.removeprefix("Prometheus refused the query: ")) <= 80
    assert len(read_failure(JSON, OutboundFailed("x" * 1000)).problem) == 200


# --- asking ------------------------------------------------------------------------------------------------


class Outside:
    """What is outside: it gives one answer, or fails, and remembers what it was asked."""

    def __init__(self, said: OutboundAnswer | OutboundError) -> None:
        self._said = said
        self.asked: list[tuple[str, Mapping[str, str]]] = []

    async def get(self, url: str, parameters: Mapping[str, str] = {}) -> OutboundAnswer:
        self.asked.append((url, dict(parameters)))
        if isinstance(self._said, OutboundError):
            raise self._said
        return self._said

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> OutboundAnswer:
        raise AssertionError("readings send nothing")


@pytest.mark.parametrize(
    ("target", "body", "asked"),
    [
        (HEALTH, b"", (URL, EMPTY)),
        (JSON, b'{"rate": 1}', (URL, EMPTY)),
        (
            PrometheusTarget(url="http://prometheus:9090/prom/", query="sum(up)"),
            json.dumps(success("scalar", [1, "1"])).encode(),
            ("http://prometheus:9090/prom/api/v1/query", {"query": "sum(up)"}),
        ),
    ],
)
async def test_a_target_is_asked_once(target: Target, body: bytes, asked: tuple[str, Mapping[str, str]]) -> None:
    outside = Outside(answer(body))
    assert await take_reading(outside, target) == Reading(value=1.0, seconds=0.25)
    assert outside.asked == [asked]


async def test_what_goes_wrong_is_in_the_reading() -> None:
    assert await take_reading(Outside(OutboundFailed("No answer.")), HEALTH) == Reading(value=0.0, problem="No answer.")
    assert await take_reading(Outside(OutboundFailed("No answer.")), QUERY) == Reading(problem="No answer.")


@pytest.mark.parametrize("target", [HEALTH, HealthTarget(url=URL, contains="up"), JSON, QUERY])
def test_a_target_is_read_back_from_its_json(target: Target) -> None:
    kind = TypeAdapter[Target](Target)
    assert kind.validate_json(kind.dump_json(target)) == target


@pytest.mark.parametrize("url", ["", "shop.example", "ftp://shop.example", "https://", "https://a b/"])
def test_an_address_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        HealthTarget(url=url)


@pytest.mark.parametrize("url", ["http://prometheus/?query=up", "http://prometheus/#a"])
def test_the_address_of_prometheus_has_no_query(url: str) -> None:
    with pytest.raises(ValidationError, match="the query is a setting of its own"):
        PrometheusTarget(url=url, query="up")
