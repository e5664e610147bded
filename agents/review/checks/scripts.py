"""Layer 2 for Dockerfiles, shell scripts and Pipfiles: our own table of patterns, matched in a warm worker."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from pydantic import JsonValue

from agents.review.checks.inputs import BASE, HEAD, MOST_TAKEN_IN, TOO_MANY, CheckedFile, ToolReport
from agents.review.checks.patterns import BY_RULE, detect_kind
from agents.review.checks.rule_texts import rate
from agents.toolbox import Toolbox
from domain.review.findings import Category, Layer, RawFinding

_LARGEST = 500_000


def is_script(file: CheckedFile) -> bool:
    """Whether the table has patterns for a file."""
    return len(file.head) <= _LARGEST and detect_kind(file.path, file.head[:100]) is not None


async def check(files: Sequence[CheckedFile], toolbox: Toolbox) -> ToolReport:
    """Match both versions of all files."""
    answers, problem = await toolbox.ask_workers("patterns", files, _request, lambda file: file.path)
    return await asyncio.to_thread(_report, answers, len(files), problem)


def _report(answers: Sequence[tuple[CheckedFile, JsonValue]], files: int, problem: str | None) -> ToolReport:
    sides: dict[str, list[RawFinding]] = {HEAD: [], BASE: []}
    for file, answer in answers:
        for side, hits in cast(dict[str, list[dict[str, Any]]], answer).items():
            sides[side] += [_finding(file.path, hit["rule"], hit["line"]) for hit in hits]
        if max(map(len, sides.values())) > MOST_TAKEN_IN:
            problem = " ".join([*filter(None, [problem]), TOO_MANY])
            break
    head, base = (tuple(sides[side][:MOST_TAKEN_IN]) for side in (HEAD, BASE))
    return ToolReport(head, base, files=files, problem=problem)


def _request(file: CheckedFile) -> JsonValue:
    return {
        "kind": detect_kind(file.path, file.head[:100]),
        HEAD: file.head_text,
        BASE: None if file.base is None or len(file.base) > _LARGEST else "\n".join(file.base_lines),
    }


def _finding(path: str, rule: str, line: int) -> RawFinding:
    pattern = BY_RULE[rule]
    return RawFinding(
        rule=rule,
        category=Category.security,
        severity=rate(pattern.danger),
        confidence=0.85,
        path=path,
        line=line,
        end_line=line,
        message=pattern.message,
        layer=Layer.security,
        help_url=pattern.help_url,
    )
