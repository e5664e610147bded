"""Scores answers to the set by the product's own rules: recall, noise and tokens.

``python -m tests.bench.reading.score ANSWERS.jsonl``
"""

import argparse
import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.llm.prices import estimate
from domain.review.findings import RawFinding, Severity
from tests.bench.reading.answers import SECOND_KEY, Answers, read_answers
from tests.bench.reading.entry import Entry, Kind, Scope
from tests.bench.reading.product import FIRST_LOOK, SECOND_LOOK, Asked
from tests.bench.reading.questions import count_tokens, prepare_all


@dataclass(frozen=True)
class Outcome:
    """What a review of an entry came to.

    :param findings: what would be posted.
    :param tokens: sent for the first look and, if it was asked, the second.
    :param diff: tokens of the diff alone.
    """

    entry: Entry
    findings: tuple[RawFinding, ...]
    tokens: int
    diff: int

    @property
    def is_found(self) -> bool:
        """Whether a finding names the defect on its lines."""
        return any(
            defect.is_named_at(each.path, each.line)
            for each in self.findings
            if each.line is not None
            for defect in self.entry.defects
        )

    @property
    def is_noisy(self) -> bool:
        """Whether a finding is a warning or graver."""
        return any(each.severity.rank >= Severity.warning.rank for each in self.findings)


@dataclass(frozen=True)
class Score:
    """The outcomes of a run through the set."""

    outcomes: tuple[Outcome, ...]

    def count_found(self, scope: Scope) -> tuple[int, int]:
        """Breaking entries of a scope that were found, and all of them."""
        chosen = [each for each in self._list(Kind.breaking) if each.entry.scope is scope]
        return sum(each.is_found for each in chosen), len(chosen)

    def count_noise(self) -> tuple[int, int, int]:
        """Harmless entries with a warning or graver, with any finding, and all of them."""
        chosen = self._list(Kind.harmless)
        return sum(each.is_noisy for each in chosen), sum(bool(each.findings) for each in chosen), len(chosen)

    def _render_tokens(self) -> str:
        sent, diff = sum(each.tokens for each in self.outcomes), sum(each.diff for each in self.outcomes)
        median = statistics.median([each.tokens / each.diff for each in self.outcomes] or [0])
        return f"tokens: {sent} for {diff} of diff, median {median:.1f} times"

    def _list(self, kind: Kind) -> list[Outcome]:
        return [each for each in self.outcomes if each.entry.kind is kind]

    def render(self) -> str:
        """The score as text, with the entries that went wrong."""
        noisy, any_noise, harmless = self.count_noise()
        lines = [
            *(f"recall, evidence in {scope}: {_share(*self.count_found(scope))}" for scope in Scope),
            f"noise, warning or graver: {_share(noisy, harmless)}",
            f"noise, any: {_share(any_noise, harmless)}",
            self._render_tokens(),
            *(
                f"missed {each.entry.id}: {each.entry.breaks}"
                for each in self._list(Kind.breaking)
                if not each.is_found
            ),
            *(
                f"noise {each.entry.id}: {found.severity} {found.where}: {found.message}"
                for each in self._list(Kind.harmless)
                for found in each.findings
            ),
        ]
        return "\n".join(lines)


def score(every: Sequence[Asked], answers: Answers) -> Score:
    """The score of the entries that were answered.

    :raises KeyError: an answer is to a question that is not asked.
    :raises ValidationError: a report does not fit its schema.
    """
    return Score(tuple(_judge(asked, answers) for asked in every if asked.entry.id in answers.ids))


def _judge(asked: Asked, answers: Answers) -> Outcome:
    findings = asked.find(answers.list_first(asked.entry.id))
    tokens = sum(count_tokens(each, FIRST_LOOK) for each in asked.plan.questions)
    second, question = answers.find_second(asked.entry.id), asked.build_second(findings)
    if second is not None and question is not None:
        tokens += count_tokens(question, SECOND_LOOK)
        findings = asked.confirm(findings, SECOND_KEY, second)
    return Outcome(asked.entry, findings, tokens, estimate(asked.diff))


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.2f})" if whole else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", type=Path)
    answers = read_answers(parser.parse_args().answers)
    every = asyncio.run(prepare_all())
    missing = sorted({asked.entry.id for asked in every} - answers.ids)
    print(score(every, answers).render())
    if missing:
        print(f"not answered: {', '.join(missing)}")


if __name__ == "__main__":
    main()
