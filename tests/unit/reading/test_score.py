"""The score counts what the product would post: on the expected lines, and nothing on harmless changes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.bench.reading.answers import SECOND_KEY, Answer, Answers, read_answers
from tests.bench.reading.entry import Scope, load_entries
from tests.bench.reading.product import Asked, prepare
from tests.bench.reading.score import Score, score

FIRST_KEY = "model review 1 of 1"
BREAKING = "go-singleflight-forget"
HARMLESS = "go-backoff-tries"
SPREAD = "js-cookie-own"
"""Changes a line far above the defect, too."""

CHOSEN = (SPREAD, BREAKING, HARMLESS, "go-backoff-context")


@pytest.fixture(scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> list[Asked]:
    entries = {entry.id: entry for entry in load_entries()}
    return [await prepare(entries[each], tmp_path_factory.mktemp(each)) for each in CHOSEN]


def claim(asked: Sequence[Asked], entry_id: str, line: int | None = None, met_by: str = "caller") -> dict[str, Any]:
    """A report with one finding.

    :param line: by default the first that the entry adds.
    """
    found = next(each for each in asked if each.entry.id == entry_id)
    file = found.change.files[0]
    line = line or min(file.added_lines)
    finding: dict[str, Any] = {
        "rule": "model/logic-error",
        "path": file.path,
        "line": line,
        "end_line": line,
        "quote": found.entry.head[file.path].split("\n")[line - 1],
        "message": "A second call deletes the key of the first, so it runs twice.",
        "harm": "wrong_result",
        "met_by": met_by,
        "confidence": 0.9,
    }
    return {"findings": [finding]}


def judge(asked: Sequence[Asked], *given: tuple[str, str, dict[str, Any]]) -> Score:
    answers = Answers(tuple(Answer(id=each, question_key=key, report=report) for each, key, report in given))
    return score(asked, answers)


async def test_a_finding_on_the_expected_lines_counts(asked: list[Asked]) -> None:
    scored = judge(asked, (BREAKING, FIRST_KEY, claim(asked, BREAKING)))
    assert scored.count_found(Scope.file) == (1, 1)
    assert scored.count_found(Scope.repo) == (0, 0)
    assert scored.count_noise() == (0, 0, 0)
    assert "recall, evidence in file: 1 of 1 (1.00)" in scored.render()


async def test_a_finding_elsewhere_or_none_is_a_miss(asked: list[Asked]) -> None:
    far = claim(asked, SPREAD, line=5)
    scored = judge(asked, (SPREAD, FIRST_KEY, far), ("go-backoff-context", FIRST_KEY, {"findings": []}))
    assert len(scored.outcomes[0].findings) == 1
    assert scored.count_found(Scope.file) == (0, 1)
    assert scored.count_found(Scope.repo) == (0, 1)
    assert f"missed {SPREAD}: obj inherits" in scored.render()


async def test_a_remark_on_a_harmless_change_is_noise(asked: list[Asked]) -> None:
    grave = judge(asked, (HARMLESS, FIRST_KEY, claim(asked, HARMLESS)))
    slight = judge(asked, (HARMLESS, FIRST_KEY, claim(asked, HARMLESS, met_by="nobody")))
    silent = judge(asked, (HARMLESS, FIRST_KEY, {"findings": []}))
    assert grave.count_noise() == (1, 1, 1)
    assert slight.count_noise() == (0, 1, 1)
    assert silent.count_noise() == (0, 0, 1)


async def test_the_second_look_takes_findings_back_and_costs_tokens(asked: list[Asked]) -> None:
    report = claim(asked, HARMLESS)
    first = (HARMLESS, FIRST_KEY, report)
    refuted = {"verdicts": [{"number": 1, "verdict": "refuted", "quote": report["findings"][0]["quote"]}]}
    once, twice = judge(asked, first), judge(asked, first, (HARMLESS, SECOND_KEY, refuted))
    assert twice.count_noise() == (0, 0, 1)
    assert twice.outcomes[0].tokens > once.outcomes[0].tokens > once.outcomes[0].diff


async def test_a_report_that_does_not_fit_its_schema_is_refused(asked: list[Asked]) -> None:
    with pytest.raises(ValidationError, match="findings"):
        judge(asked, (HARMLESS, FIRST_KEY, {"remarks": []}))


def test_answers_are_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(
        '{"id": "a-b", "question_key": "model review 1 of 1", "report": {"findings": []}}\n\n'
        '{"id": "a-b", "question_key": "model second look", "report": {"verdicts": []}}\n',
        encoding="utf-8",
    )
    answers = read_answers(path)
    assert answers.ids == {"a-b"}
    assert answers.list_first("a-b") == [("model review 1 of 1", {"findings": []})]
    assert answers.find_second("a-b") == {"verdicts": []}
    assert answers.find_second("c-d") is None
