"""Answers to the questions of the set, one JSON line each: ``{id, question_key, report}``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

SECOND_KEY = "model second look"
_MET_BY = {"info": "nobody", "warning": "condition", "error": "caller", "critical": "caller"}


class Answer(BaseModel):
    """The report that answers one question."""

    model_config = ConfigDict(frozen=True)

    id: str
    question_key: str
    report: dict[str, Any]


@dataclass(frozen=True)
class Answers:
    """The answers of one run through the set; the last one to a question counts."""

    given: tuple[Answer, ...]

    @property
    def ids(self) -> frozenset[str]:
        """The entries that have an answer to the first look."""
        return frozenset(each.id for each in self.given if each.question_key != SECOND_KEY)

    def list_first(self, entry_id: str) -> list[tuple[str, dict[str, Any]]]:
        """Key and report of each answer to the first look at an entry."""
        found = {each.question_key: each.report for each in self.given if each.id == entry_id}
        return [(key, report) for key, report in found.items() if key != SECOND_KEY]

    def find_second(self, entry_id: str) -> dict[str, Any] | None:
        """The report of the second look at an entry; None without one."""
        found = [each.report for each in self.given if each.id == entry_id and each.question_key == SECOND_KEY]
        return found[-1] if found else None


def read_answers(path: Path) -> Answers:
    """The answers in a file.

    :raises ValidationError: a line is no answer.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    given = [Answer.model_validate(json.loads(line)) for line in lines if line.strip()]
    for each in given:
        for finding in each.report.get("findings", ()):
            if "severity" in finding:  # the question asked for it at that time, not for what breaks and for whom
                finding.update(harm="wrong_result", met_by=_MET_BY[finding["severity"]])
    return Answers(tuple(given))
