"""Layer 2 for GitHub workflows and actions: zizmor, offline, on both versions at once."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.review.checks import gravity
from agents.review.checks.gravity import Danger
from agents.review.checks.inputs import BASE, HEAD, CheckedFile, ToolReport, can_be_written
from agents.review.checks.rule_texts import build_message, shorten
from domain.errors import ToolError
from domain.review.findings import Category, Layer, RawFinding, Severity
from workspace.sandbox.sandbox import Sandbox, SandboxCommand, tool_path

_WORKFLOW = re.compile(r"^\.github/workflows/[^/]+\.ya?ml$|(^|/)action\.ya?ml$")
_CONFIDENCE = {"High": 0.95, "Medium": 0.75}
_SEVERITY = {"High": Severity.warning, "Medium": Severity.warning, "Low": Severity.info}
_DANGERS = {
    "template-injection": Danger.command,
    "github-env": Danger.foreign_code,
    "unpinned-uses": Danger.unverified_package,
    "unpinned-images": Danger.unverified_package,
    "excessive-permissions": Danger.needless_right,
    "secrets-inherit": Danger.needless_right,
}
# What people write who need no rights here; `inputs`, tags and bases are set by those who have some.
_STRANGERS_WRITE = re.compile(
    r"github\.head_ref|github\.event\.(?:(?:issue|pull_request|comment|review|review_comment|discussion|answer)\.(?:title|body)"
    r"|pull_request\.head\.(?:ref|label|repo\.\w+)|head_commit\.(?:message|author\.\w+)|commits|pages"
    r"|workflow_run\.(?:head_branch|head_commit|display_title|pull_requests|head_repository))"
)
_STEPS = re.compile(r"^(\s*)steps:\s*(?:#.*)?$")
_RUNS = re.compile(r"^\s*(?:-\s+)?(?:run:|uses:\s*[\"']?\./)")
_CHECKS_OUT_STRANGERS = re.compile(
    r"\bref:.*(?:github\.event\.pull_request\.(?:head\.(?:sha|ref)|merge_commit_sha)|github\.head_ref|refs/pull/)"
    r"|\brepository:.*github\.event\.pull_request\.head\.repo|\bgh pr checkout\b"
    r"|\bgit (?:fetch|checkout|pull)\b.*(?:github\.event\.pull_request\.head|github\.head_ref|refs/pull/|pull/\$)"
)
_WAITS_FOR_A_PERSON = re.compile(r"^\s*environment:|\blabeled\b|github\.event\.label\b|author_association")
_COMPLETED = re.compile(r" INFO audit: zizmor: \S+ completed (?:\./)?(head|base)/(.+)$")
_MOST_PRINTED = 4 << 20  # bytes
_GITHUBS_OWN = re.compile(r"uses:\s*[\"']?(actions|github)/")


def is_workflow(path: str) -> bool:
    """Whether zizmor can audit a file."""
    return _WORKFLOW.search(path) is not None


async def check(
    files: Sequence[CheckedFile], folder: Path, sandbox: Sandbox, level: int, *, heeding: bool, seconds: float
) -> ToolReport:
    """Audit both versions of the files that are written below ``folder``, at a sandbox level.

    :param heeding: whether comments that silence zizmor count.
    :raises ToolError: zizmor failed.
    """
    known = {file.path: file for file in files if can_be_written(file.path)}
    if not known:
        return ToolReport()
    argv = (tool_path("zizmor"), "--offline", "--no-config", "--no-progress", "--no-exit-codes")
    silenced = () if heeding else ("--no-ignores",)
    options = ("--color=never", "--persona=regular", "--min-confidence=medium", "--format=json-v1", "--collect=all")
    wanted = (*argv, *options, *silenced, "--", HEAD, BASE)
    done = await sandbox.run_tool(SandboxCommand(wanted, folder, seconds=seconds, output=_MOST_PRINTED), level)
    if not done.stdout.is_complete:
        raise ToolError("zizmor reported more than can be taken in.")
    if done.status != 0:
        raise ToolError(f"zizmor failed: {shorten(done.stderr.data.decode(errors='replace'), 200)}")
    try:
        found = await asyncio.to_thread(_parse_findings, done.stdout.data, known, heeding)
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise ToolError("zizmor's answer could not be read.") from error
    sides = [pair for pair in found if pair is not None]
    audited = _parse_audited(done.stderr.data.decode(errors="replace"))
    return ToolReport(
        head=tuple(finding for side, finding in sides if side == HEAD and _is_of_change(finding, known[finding.path])),
        base=tuple(finding for side, finding in sides if side == BASE),
        unread=frozenset(path for path, file in known.items() if file.base is not None and (BASE, path) not in audited),
        files=len(known),
        read=frozenset(path for path in known if (HEAD, path) in audited),
    )


def _is_of_change(finding: RawFinding, file: CheckedFile) -> bool:
    """Whether it begins on a changed line, or is grave: another trigger makes old lines of a workflow dangerous.

    What is said of a job or a workflow as a whole would otherwise come with any of its lines.
    """
    return (
        file.base is None or finding.line in file.change.changed_lines or finding.severity.rank >= Severity.error.rank
    )


def _parse_audited(said: str) -> frozenset[tuple[str, str]]:
    """The sides and paths that zizmor audited; it skips a file that it cannot parse."""
    return frozenset((found[1], found[2]) for line in said.splitlines() if (found := _COMPLETED.match(line)))


def _parse_findings(
    printed: bytes, known: dict[str, CheckedFile], heeding: bool
) -> list[tuple[str, RawFinding] | None]:
    return [_finding(entry, known) for entry in json.loads(printed) if not (heeding and entry["ignored"])]


def _finding(entry: dict[str, Any], known: dict[str, CheckedFile]) -> tuple[str, RawFinding] | None:
    determined = entry["determinations"]
    primary = next(place for place in entry["locations"] if place["symbolic"]["kind"] == "Primary")
    side, _, path = primary["symbolic"]["key"]["Local"]["verbatim_path"].removeprefix("./").partition("/")
    file = known.get(path)
    if file is None:
        return None
    content = file.head_lines if side == HEAD else file.base_lines
    lines, location = len(content), primary["concrete"]["location"]
    first, column = min(int(location["start_point"]["row"]) + 1, lines), int(location["start_point"]["column"])
    expression = content[first - 1][column:].partition("}}")[0]
    severity = _severity(entry["ident"], determined, primary["concrete"]["feature"], expression)
    if severity is None:
        return None
    last = location["end_point"]["row"] + (location["end_point"]["column"] > 0)
    rule = f"zizmor/{entry['ident']}"
    said = f"{entry['desc'].capitalize()}: {primary['symbolic']['annotation']}"
    if entry["ident"] == "dangerous-triggers" and runs_strangers_code(content):
        severity = gravity.rate(Danger.open_workflow)
        said = "It checks out the code of the pull request and runs it, with the secrets and a token of this repository"
    return side, RawFinding(
        rule=rule,
        category=Category.security,
        severity=severity,
        confidence=_CONFIDENCE[determined["confidence"]],
        path=path,
        line=first,
        end_line=min(max(last, first), lines),
        message=build_message(rule, said),
        layer=Layer.security,
        help_url=entry["url"],
    )


def runs_strangers_code(lines: Sequence[str]) -> bool:
    """Whether a job of a workflow checks out the head of a pull request and runs something after that.

    One that waits for a label of somebody with rights, or for the approval of an environment, is left to the reader.
    """
    if any(_WAITS_FOR_A_PERSON.search(line) for line in lines):
        return False
    indent, is_strangers = -1, False  # of the steps that are read, and whether their folder is a stranger's
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if found := _STEPS.match(line):
            indent, is_strangers = len(found[1]), False
        elif line.strip() and depth < indent:
            indent, is_strangers = -1, False
        if indent >= 0 and is_strangers and _RUNS.match(line):
            return True
        is_strangers = is_strangers or (indent >= 0 and _CHECKS_OUT_STRANGERS.search(line) is not None)
    return False


def _severity(rule: str, determined: dict[str, Any], feature: str, expression: str) -> Severity | None:
    """Our severity; None if the finding is not worth reporting.

    :param expression: what stands where it begins.
    """
    if determined["persona"] != "Regular" or determined["confidence"] not in _CONFIDENCE:
        return None
    if rule == "unpinned-uses" and (_GITHUBS_OWN.search(feature) or re.match(r"[\"']?(actions|github)/", feature)):
        return None
    worst = gravity.rate(_DANGERS.get(rule, Danger.open_workflow))
    is_sure = determined["severity"] == "High" and determined["confidence"] == "High"
    if rule == "template-injection":
        is_sure = is_sure and _STRANGERS_WRITE.search(expression) is not None
    theirs = Severity.error if is_sure else _SEVERITY.get(determined["severity"])
    return None if theirs is None else min(theirs, worst, key=lambda severity: severity.rank)
