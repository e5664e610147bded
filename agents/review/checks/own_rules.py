"""Layer 2: our own rules for dangerous code, matched in a warm worker.

They are shapes of syntax trees in languages other than Python, and patterns of lines in Dockerfiles, shell scripts and
Pipfiles.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from agents.review.checks import patterns
from agents.review.checks.copies import is_text
from agents.review.checks.dangers import rules
from agents.review.checks.dangers.rules import DangerHit
from agents.review.checks.dangers.statements import ADVICE
from agents.review.checks.inputs import (
    MOST_TAKEN_IN,
    TOO_MANY,
    CheckedFile,
    ToolReport,
    build_security_finding,
    is_machine_made,
    is_test_or_document,
)
from agents.review.checks.patterns import PatternHit, detect_kind
from agents.review.checks.ruff_security import is_silenced
from agents.review.checks.rule_texts import rate
from agents.syntax.languages import find_language
from agents.toolbox import Toolbox
from domain.review.findings import RawFinding

_LARGEST = 500_000  # bytes
_Match = TypeVar("_Match")


def is_script(file: CheckedFile) -> bool:
    """Whether there are patterns for a file."""
    return len(file.head) <= _LARGEST and detect_kind(file.path, file.head[:100]) is not None


async def check_scripts(files: Sequence[CheckedFile], toolbox: Toolbox) -> ToolReport:
    """Match the patterns on both versions of all files."""
    answers, problem = await toolbox.run_jobs(files, _match_patterns, lambda file: file.path)
    return await asyncio.to_thread(_report, answers, len(files), problem, _build_of_pattern)


def _match_patterns(file: CheckedFile) -> partial[tuple[list[PatternHit], list[PatternHit]]]:
    kind = detect_kind(file.path, file.head[:100])
    return partial(patterns.scan_both, kind, *_read_sides(file))  # pyrefly: ignore[bad-argument-type]  # it is a script


def has_rules(file: CheckedFile) -> bool:
    """Whether there are rules for the language of a file. Tests may do what programs should not."""
    return (
        find_language(file.path) in rules.LANGUAGES
        and len(file.head) <= _LARGEST
        and not is_machine_made(file.path)
        and not is_test_or_document(file.path)
        and is_text(file)
    )


async def check_programs(files: Sequence[CheckedFile], toolbox: Toolbox, *, heeding: bool) -> ToolReport:
    """Match the rules on the syntax trees of both versions of all files.

    :param heeding: whether comments that silence bandit count.
    """
    answers, problem = await toolbox.run_jobs(files, _match_rules, lambda file: file.path)
    return await asyncio.to_thread(_report, answers, len(files), problem, partial(_build_of_rule, heeding=heeding))


def _match_rules(file: CheckedFile) -> partial[tuple[list[DangerHit], list[DangerHit]]]:
    grammar = find_language(file.path)
    return partial(rules.scan_both, grammar, *_read_sides(file))  # pyrefly: ignore[bad-argument-type]  # it has rules


def _read_sides(file: CheckedFile) -> tuple[str, str | None]:
    has_base = file.base is not None and len(file.base) <= _LARGEST
    return file.head_text, "\n".join(file.base_lines) if has_base else None


def _report(
    answers: Sequence[tuple[CheckedFile, tuple[Sequence[_Match], Sequence[_Match]]]],
    files: int,
    problem: str | None,
    build: Callable[[CheckedFile, Sequence[str], _Match], RawFinding | None],
) -> ToolReport:
    head, base = list[RawFinding](), list[RawFinding]()
    for file, (now, before) in answers:
        head += [found for hit in now if (found := build(file, file.head_lines, hit)) is not None]
        base += [found for hit in before if (found := build(file, file.base_lines, hit)) is not None]
        if max(len(head), len(base)) > MOST_TAKEN_IN:
            problem = " ".join([*filter(None, [problem]), TOO_MANY])
            break
    return ToolReport(tuple(head[:MOST_TAKEN_IN]), tuple(base[:MOST_TAKEN_IN]), files=files, problem=problem)


def _build_of_pattern(file: CheckedFile, lines: Sequence[str], hit: PatternHit) -> RawFinding:
    del lines
    found = patterns.BY_RULE[hit.rule]
    severity, line, url = rate(found.danger), hit.line, found.help_url
    return build_security_finding(found.rule, severity, file.path, line, found.message, confidence=0.85, help_url=url)


def _build_of_rule(file: CheckedFile, lines: Sequence[str], hit: DangerHit, *, heeding: bool) -> RawFinding | None:
    rule = rules.BY_RULE[hit.rule]
    first, last = min(hit.line, len(lines)), hit.end_line
    silenced_by = rule.metadata.silenced_by
    if heeding and silenced_by and is_silenced(silenced_by, lines[hit.line - 1 : last]):
        return None
    return build_security_finding(
        rule.id,
        rate(hit.danger),
        file.path,
        first,
        ADVICE.get(hit.danger, rule.message),
        end_line=min(max(last, first), first + 20, len(lines)),
        confidence=0.8,
    )
