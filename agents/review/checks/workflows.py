"""Layer 2 for GitHub workflows and actions: zizmor, offline, on both versions at once."""

import asyncio
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.review.checks import rule_texts
from agents.review.checks.inputs import BASE, HEAD, CheckedFile, ProgramTerms, ToolReport, can_be_written
from agents.review.checks.rule_texts import Danger, build_message, shorten
from domain.errors import ToolError
from domain.review.findings import Category, Layer, RawFinding, Severity

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
_INJECTION = "template-injection"
_OF_WRITERS = re.compile(
    r"[\s${]*(?:(?:vars|secrets|github\.event\.inputs)\.[\w-]+|github\.(?:ref_name|ref|repository|sha))\s*"
)
"""What those set alone who have rights here: who dispatches, tags or configures. The `inputs` of what others call may
be of strangers."""
_OF_MATRIX = re.compile(r"[\s${]*matrix\.")
"""What whoever may change the workflow decides, or its program: where no stranger starts it, that adds nothing."""
# What people write who need no rights here.
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
_BRINGS_SOMETHING = re.compile(r"(?i)checkout|artifact|uses:\s*[\"']?\./|/\.github/workflows/|^\s*(?:-\s+)?run:")
"""What may bring the code or the data of strangers there, or run it."""
_WAITS_FOR_A_PERSON = re.compile(r"^\s*environment:|\blabeled\b|github\.event\.label\b|author_association")
_EVERY_RIGHT, _USUAL_RIGHTS = "uses write-all permissions", "default permissions used"
_STRANGERS_START = "dangerous-triggers"
_SAYS = {
    Danger.every_right: "Every step of it, and every action that it uses, may change code, releases and packages here",
    Danger.open_right: "Strangers start it, and its token has the rights that are usual here, which may be to write",
}
_UNSAID = "Nothing says what the token may do here, so it has the rights that are usual in this repository"
_COMPLETED = re.compile(r" INFO audit: zizmor: \S+ completed (?:\./)?(head|base)/(.+)$")
_MOST_PRINTED = 4 << 20  # bytes
_GITHUBS_OWN = re.compile(r"uses:\s*[\"']?(actions|github)/")


def is_workflow(path: str) -> bool:
    """Whether zizmor can audit a file."""
    return _WORKFLOW.search(path) is not None


async def check(files: Sequence[CheckedFile], terms: ProgramTerms, folder: Path) -> ToolReport:
    """Audit both versions of the files that are written below ``folder``.

    :raises ToolError: zizmor failed.
    """
    known = {file.path: file for file in files if can_be_written(file.path)}
    if not known:
        return ToolReport()
    argv = ("zizmor", "--offline", "--no-config", "--no-progress", "--no-exit-codes")
    silenced = () if terms.heeding else ("--no-ignores",)
    options = ("--color=never", "--persona=pedantic", "--min-confidence=medium", "--format=json-v1", "--collect=all")
    wanted = (*argv, *options, *silenced, "--", HEAD, BASE)
    done = await terms.run(wanted, folder, _MOST_PRINTED)
    if not done.stdout.is_complete:
        raise ToolError("zizmor reported more than can be taken in.")
    if done.status != 0:
        raise ToolError(f"zizmor failed: {shorten(done.stderr.data.decode(errors='replace'), 200)}")
    try:
        found = await asyncio.to_thread(_parse_findings, done.stdout.data, known, terms.heeding)
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise ToolError("zizmor's answer could not be read.") from error
    audited = _parse_audited(done.stderr.data.decode(errors="replace"))
    base = tuple(finding for side, finding in found if side == BASE)
    unsaid = _Unsaid(frozenset(path for side, path in audited if side == BASE), {(f.path, f.rule) for f in base})
    return ToolReport(
        head=tuple(f for side, f in found if side == HEAD and _is_of_change(f, known[f.path], unsaid)),
        base=base,
        unread=frozenset(path for path, file in known.items() if file.base is not None and (BASE, path) not in audited),
        files=len(known),
        read=frozenset(path for path in known if (HEAD, path) in audited),
    )


@dataclass(frozen=True)
class _Unsaid:
    """What was not said of the files before.

    :param audited: those of which anything could have been said.
    :param said: (path, rule).
    """

    audited: frozenset[str]
    said: Collection[tuple[str, str]]

    def holds(self, finding: RawFinding) -> bool:
        """Whether nothing of its kind was there."""
        return finding.path in self.audited and (finding.path, finding.rule) not in self.said


def _is_of_change(finding: RawFinding, file: CheckedFile, unsaid: _Unsaid) -> bool:
    """Whether it begins on a changed line, is the first of its kind, or is grave: a trigger makes old lines dangerous.

    What is said of a job or a workflow as a whole would otherwise come with any of its lines.
    """
    if file.base is None or finding.line in file.change.changed_lines:
        return True
    rank = finding.severity.rank
    return rank >= Severity.error.rank or (rank >= Severity.warning.rank and unsaid.holds(finding))


def _parse_audited(said: str) -> frozenset[tuple[str, str]]:
    """The sides and paths that zizmor audited; it skips a file that it cannot parse."""
    return frozenset((found[1], found[2]) for line in said.splitlines() if (found := _COMPLETED.match(line)))


def _parse_findings(printed: bytes, known: dict[str, CheckedFile], heeding: bool) -> list[tuple[str, RawFinding]]:
    entries = json.loads(printed)
    open_ones = {_find_place(entry)[:2] for entry in entries if entry["ident"] == _STRANGERS_START}
    found = (_finding(entry, known, open_ones) for entry in entries if not (heeding and entry["ignored"]))
    return [pair for pair in found if pair is not None]


def _find_place(entry: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """The side and the path, and where in that file."""
    primary = next(place for place in entry["locations"] if place["symbolic"]["kind"] == "Primary")
    side, _, path = primary["symbolic"]["key"]["Local"]["verbatim_path"].removeprefix("./").partition("/")
    return side, path, primary


def _finding(
    entry: dict[str, Any], known: dict[str, CheckedFile], open_ones: Collection[tuple[str, str]]
) -> tuple[str, RawFinding] | None:
    """:param open_ones: sides and paths of the workflows that strangers start."""
    determined = entry["determinations"]
    side, path, primary = _find_place(entry)
    file = known.get(path)
    if file is None:
        return None
    content = file.head_lines if side == HEAD else file.base_lines
    lines, location = len(content), primary["concrete"]["location"]
    first, column = min(int(location["start_point"]["row"]) + 1, lines), int(location["start_point"]["column"])
    expression = content[first - 1][column:].partition("}}")[0]
    noted = str(primary["symbolic"]["annotation"])
    danger = _find_danger(entry["ident"], noted, is_open=(side, path) in open_ones)
    severity = _severity(entry["ident"], determined, primary["concrete"]["feature"], expression, danger)
    if severity is None or (
        entry["ident"] == _INJECTION and _OF_MATRIX.match(expression) and (side, path) not in open_ones
    ):
        return None
    last = location["end_point"]["row"] + (location["end_point"]["column"] > 0)
    rule = f"zizmor/{entry['ident']}"
    said = _SAYS.get(danger) or (
        _UNSAID if noted.startswith(_USUAL_RIGHTS) else f"{entry['desc'].capitalize()}: {noted}"
    )
    if entry["ident"] == _STRANGERS_START and not any(map(_BRINGS_SOMETHING.search, content)):
        severity = Severity.info
    elif entry["ident"] == _STRANGERS_START and runs_strangers_code(content):
        severity = rule_texts.rate(Danger.open_workflow)
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


def _find_danger(rule: str, noted: str, *, is_open: bool) -> Danger:
    """:param is_open: whether strangers start the workflow."""
    if rule == "excessive-permissions" and noted == _EVERY_RIGHT:
        return Danger.every_right
    if rule == "excessive-permissions" and noted.startswith(_USUAL_RIGHTS) and is_open:
        return Danger.open_right
    return _DANGERS.get(rule, Danger.open_workflow)


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


def _severity(rule: str, determined: dict[str, Any], feature: str, expression: str, danger: Danger) -> Severity | None:
    """Our severity; None if the finding is not worth reporting.

    :param expression: what stands where it begins.
    """
    is_regular = determined["persona"] == "Regular"  # zizmor tells it of a workflow with one job to pedants only
    if not (is_regular or danger is Danger.every_right) or determined["confidence"] not in _CONFIDENCE:
        return None
    if rule == "unpinned-uses" and (_GITHUBS_OWN.search(feature) or re.match(r"[\"']?(actions|github)/", feature)):
        return None
    worst = rule_texts.rate(danger)
    is_sure = determined["severity"] == "High" and determined["confidence"] == "High"
    if rule == _INJECTION:
        if _OF_WRITERS.fullmatch(expression):
            return Severity.info
        is_sure = is_sure and _STRANGERS_WRITE.search(expression) is not None
    theirs = Severity.error if is_sure else _SEVERITY.get(determined["severity"])
    return None if theirs is None else min(theirs, worst, key=lambda severity: severity.rank)
