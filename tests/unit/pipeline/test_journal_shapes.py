"""Steps of an issue's run read what earlier versions journaled."""

import pytest
from pydantic import JsonValue

from pipeline.issue.pull_request import PushResult


@pytest.mark.parametrize(
    ("stored", "result"),
    [
        ("forge/1-a", PushResult(outcome="pushed", branch="forge/1-a")),
        (["forge/1-a", None], PushResult(outcome="moved", branch="forge/1-a")),
        (["forge/1-a", "protected"], PushResult(outcome="refused", branch="forge/1-a", refusal="protected")),
    ],
)
def test_result_of_a_push(stored: JsonValue, result: PushResult) -> None:
    assert PushResult.model_validate(stored) == result
    assert PushResult.model_validate(result.model_dump(mode="json")) == result
