"""Writes the questions of the set as a model would get them, one JSON line each, and prints what they cost.

``python -m tests.bench.reading.questions OUT.jsonl [--second ANSWERS.jsonl]``: with ``--second``, the second look at
what the answers found.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.llm.ask import Question
from agents.llm.prices import estimate
from tests.bench.measured_runs import FRAME
from tests.bench.reading.answers import read_answers
from tests.bench.reading.entry import load_entries
from tests.bench.reading.product import FIRST_LOOK, SECOND_LOOK, Asked, prepare


def count_tokens(question: Question, schema: dict[str, Any]) -> int:
    """The estimated tokens of everything that is sent for a question."""
    return FRAME + sum(map(estimate, (question.instructions, question.content, json.dumps(schema))))


async def prepare_all() -> list[Asked]:
    """Every entry of the set with its questions."""
    asked: list[Asked] = []
    for entry in load_entries():
        with tempfile.TemporaryDirectory() as folder:
            asked.append(await prepare(entry, Path(folder)))
    return asked


def render(entry_id: str, question: Question, schema: dict[str, Any]) -> str:
    """A question as a line of JSON."""
    line = {
        "id": entry_id,
        "question_key": question.key,
        "instructions": question.instructions,
        "content": question.content,
        "schema": schema,
    }
    return json.dumps(line, ensure_ascii=False)


def list_first(every: Sequence[Asked]) -> list[str]:
    """The questions of the first look; prints their tokens against those of the diffs."""
    lines: list[str] = []
    ratios: list[float] = []
    print(f"{'entry':32}{'questions':>10}{'tokens':>8}{'content':>9}{'diff':>7}{'ratio':>7}{'content':>9}")
    for asked in every:
        questions = asked.plan.questions
        tokens, diff = sum(count_tokens(each, FIRST_LOOK) for each in questions), estimate(asked.diff)
        content = sum(estimate(each.content) for each in questions)
        ratios.append(tokens / diff)
        row = f"{len(questions):10}{tokens:8}{content:9}{diff:7}{tokens / diff:7.1f}{content / diff:9.2f}"
        print(f"{asked.entry.id:32}{row}")
        lines += [render(asked.entry.id, each, FIRST_LOOK) for each in questions]
    print(f"{'median':32}{statistics.median(ratios):41.1f}")
    return lines


def list_second(every: Sequence[Asked], answers: Path) -> list[str]:
    """The questions of the second look at what the answers found."""
    given = read_answers(answers)
    lines: list[str] = []
    for asked in every:
        found = asked.find(given.list_first(asked.entry.id))
        question = asked.build_second(found)
        if question is not None:
            lines.append(render(asked.entry.id, question, SECOND_LOOK))
    print(f"{len(lines)} entries have candidates")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--second", type=Path, metavar="ANSWERS")
    chosen = parser.parse_args()
    every = asyncio.run(prepare_all())
    lines = list_first(every) if chosen.second is None else list_second(every, chosen.second)
    chosen.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
