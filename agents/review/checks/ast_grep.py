"""Layer 2 for languages other than Python: our tables of dangerous code, matched by ast-grep in a warm worker."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from pydantic import JsonValue

from agents.review.checks.copies import is_text
from agents.review.checks.dangers.scanner import BY_RULE, find_grammar
from agents.review.checks.dangers.statements import ADVICE
from agents.review.checks.inputs import (
    BASE,
    HEAD,
    MOST_TAKEN_IN,
    TOO_MANY,
    CheckedFile,
    ToolReport,
    is_machine_made,
    is_test_or_document,
)
from agents.review.checks.ruff_security import is_silenced
from agents.review.checks.rule_texts import Danger, rate
from agents.toolbox import Toolbox
from domain.review.findings import Category, Layer, RawFinding

_LARGEST = 500_000  # bytes


def is_for(file: CheckedFile) -> bool:
    """Whether the tables have rules for a file. Tests may do what programs should not."""
    return (
        find_grammar(file.path) is not None
        and len(file.head) <= _LARGEST
        and not is_machine_made(file.path)
        and not is_test_or_document(file.path)
        and is_text(file)
    )


async def check(files: Sequence[CheckedFile], toolbox: Toolbox, *, heeding: bool) -> ToolReport:
    """Match both versions of all files.

    :param heeding: whether comments that silence bandit count.
    """
    answers, problem = await toolbox.ask_workers("dangers", files, _request, lambda file: file.path)
    return await asyncio.to_thread(_report, answers, len(files), problem, heeding)


def _request(file: CheckedFile) -> JsonValue:
    return {
        "grammar": find_grammar(file.path),
        HEAD: file.head_text,
        BASE: None if file.base is None or len(file.base) > _LARGEST else "\n".join(file.base_lines),
    }


def _report(
    answers: Sequence[tuple[CheckedFile, JsonValue]], files: int, problem: str | None, heeding: bool
) -> ToolReport:
    sides: dict[str, list[RawFinding]] = {HEAD: [], BASE: []}
    for file, answer in answers:
        for side, hits in cast(dict[str, list[dict[str, Any]]], answer).items():
            sides[side] += [_build(file, side, hit) for hit in hits if not (heeding and _is_silenced(file, side, hit))]
        if max(map(len, sides.values())) > MOST_TAKEN_IN:
            problem = " ".join([*filter(None, [problem]), TOO_MANY])
            break
    head, base = (tuple(sides[side][:MOST_TAKEN_IN]) for side in (HEAD, BASE))
    return ToolReport(head, base, files=files, problem=problem)


def _is_silenced(file: CheckedFile, side: str, hit: dict[str, Any]) -> bool:
    code = BY_RULE[hit["rule"]].silenced_by
    lines = file.head_lines if side == HEAD else file.base_lines
    return code != "" and is_silenced(code, lines[hit["line"] - 1 : hit["end_line"]])


def _build(file: CheckedFile, side: str, hit: dict[str, Any]) -> RawFinding:
    rule = BY_RULE[hit["rule"]]
    length = len(file.head_lines if side == HEAD else file.base_lines)
    first = min(int(hit["line"]), length)
    danger = Danger[hit["danger"]]
    return RawFinding(
        rule=rule.rule,
        category=Category.security,
        severity=rate(danger),
        confidence=0.8,
        path=file.path,
        line=first,
        end_line=min(max(int(hit["end_line"]), first), first + 20, length),
        message=ADVICE.get(danger, rule.message),
        layer=Layer.security,
        help_url=rule.help_url,
    )
