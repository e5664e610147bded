"""Layer 2 for Python: bandit, in a warm worker, one file at a time."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue

from agents.review.checks.inputs import MOST_TAKEN_IN, TOO_MANY, CheckedFile, ToolReport
from agents.review.checks.paths import is_test_or_document
from agents.review.checks.rule_texts import build_message
from agents.review.checks.worker_pool import WorkerBudget, run_each
from domain.review.findings import Category, Layer, RawFinding, Severity

_LARGEST = 1_000_000

# (bandit's severity, its confidence) → ours. Other pairs are dropped: low confidence mostly means a guess.
_SEVERITY = {
    ("HIGH", "HIGH"): Severity.error,
    ("HIGH", "MEDIUM"): Severity.warning,
    ("MEDIUM", "HIGH"): Severity.warning,
    ("MEDIUM", "MEDIUM"): Severity.warning,
}
_CONFIDENCE = {"HIGH": 0.9, "MEDIUM": 0.7, "LOW": 0.5}
# Rules that bandit rates too high although they are mostly harmless, or too low although they are mostly right.
_RATED: Mapping[str, Severity | None] = {
    "B104": Severity.info,
    "B108": Severity.info,
    "B110": Severity.info,
    "B113": Severity.warning,
    "B310": None,  # reports every urlopen, whatever was checked before: too many false alarms
    "B313": Severity.info,
    "B314": Severity.info,
    "B315": Severity.info,
    "B316": Severity.info,
    "B317": Severity.info,
    "B318": Severity.info,
    "B319": Severity.info,
    "B320": Severity.info,
    "B321": Severity.warning,
    "B324": Severity.warning,
    "B701": Severity.warning,
}


async def check(files: Sequence[CheckedFile], shift: WorkerBudget, *, heeding: bool) -> ToolReport:
    """Scan both versions of Python files. If one cannot be scanned, the others still are.

    :param heeding: whether comments that silence bandit count.
    """
    small = [file for file in files if len(file.head) <= _LARGEST]
    answers, problem = await run_each(
        small, lambda file: _request(file, heeding), lambda file: file.path, "bandit", shift
    )
    problems = [problem] if problem else []
    if len(small) < len(files):
        problems.append(f"{len(files) - len(small)} files are larger than {_LARGEST:,} bytes.")
    return await asyncio.to_thread(_report, answers, len(small), problems)


def _report(answers: Sequence[tuple[CheckedFile, JsonValue]], files: int, problems: list[str]) -> ToolReport:
    head: list[RawFinding] = []
    base: list[RawFinding] = []
    unread: set[str] = set()
    unparsed: list[str] = []
    read: set[str] = set()
    for file, answer in answers:
        found = cast(dict[str, Any], answer)
        if found["head"] is None:
            unparsed.append(file.path)
            continue
        head += _findings(file.path, found["head"], len(file.head_lines))
        base += _findings(file.path, found["base"] or [], len(file.base_lines))
        if found["base"] is None:
            unread.add(file.path)
        if max(len(head), len(base)) > MOST_TAKEN_IN:
            problems.append(TOO_MANY)
            break
        if file.is_as_python_reads_it:
            read.add(file.path)
    return ToolReport(
        tuple(head[:MOST_TAKEN_IN]),
        tuple(base[:MOST_TAKEN_IN]),
        frozenset(unread),
        tuple(unparsed),
        files,
        read=frozenset(read),
        problem=" ".join(problems) or None,
    )


def _request(file: CheckedFile, heeding: bool) -> JsonValue:
    return {
        "head": base64.b64encode(file.head).decode(),
        "base": None if file.base is None or len(file.base) > _LARGEST else base64.b64encode(file.base).decode(),
        "heeding": heeding,
    }


def _findings(path: str, issues: list[dict[str, Any]], lines: int) -> list[RawFinding]:
    found: list[RawFinding] = []
    for issue in issues:
        severity = _severity(issue["rule"], issue["severity"], issue["confidence"], path)
        if severity is None:
            continue
        first = min(max(int(issue["line"]), 1), lines)
        rule = f"bandit/{issue['rule']}"
        found.append(
            RawFinding(
                rule=rule,
                category=Category.security,
                severity=severity,
                confidence=_CONFIDENCE[issue["confidence"]],
                path=path,
                line=first,
                end_line=min(max(int(issue["end_line"]), first), lines),
                message=build_message(rule, issue["text"]),
                layer=Layer.security,
                help_url=issue["url"],
            )
        )
    return found


def _severity(rule: str, severity: str, confidence: str, path: str) -> Severity | None:
    """Our severity; None if the finding is not worth reporting. Tests may do what programs should not."""
    rated = _RATED.get(rule, _SEVERITY.get((severity, confidence)))
    if is_test_or_document(path):
        return Severity.warning if rated is Severity.error else None
    return rated
