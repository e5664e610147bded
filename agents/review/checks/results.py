"""Combines the reports of all tools: keeps what the change introduced, the gravest first, and reports each layer."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from agents.review.checks import suppressions
from agents.review.checks.fingerprints import add_fingerprints, drop_repetitions, merge_findings
from agents.review.checks.inputs import CheckedFile, ToolReport
from domain.github.pull_requests import DependencyChange
from domain.paths import is_lock, is_manifest
from domain.review.changes import Change, FileChange, SkippedFile
from domain.review.findings import Finding, Layer, RawFinding, Severity, compute_secondary_fingerprint
from domain.review.identity import list_bare
from domain.review.review import LayerReport, ToolRun
from domain.text.redaction import redact_finding
from safety.containment import CodeOrigin

Some = TypeVar("Some", bound=RawFinding)
_GONE = -1
_NEW = -2
_OF_PYTHON_2 = "written for Python 2, and ruff reads Python 3"
_VERSIONED = re.compile(
    r"\s*(?:- )?((?:(?:uses|image): *|FROM )(?P<quote>[\"']?)[\w./-]+[@:]v?\d[\d.]*(?:-[\w.-]+)?)(?P=quote)"
    r"(?:[ \t]+#.*)?\s*$"
)

PER_FILE = 200  # of one tool
PER_TOOL = 400
PER_REVIEW = 500


def limit_findings(findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], Mapping[Layer, int]]:
    """The kept findings, and the number of dropped ones by layer.

    A file or tool can push out another one's findings only with more severe ones. Dropped findings of severity ``info``
    are not counted, because they never affect the decision.

    :param findings: the most severe first.
    """
    kept: list[Finding] = []
    cut: Counter[Layer] = Counter()
    of_file: Counter[tuple[str, str]] = Counter()
    of_tool: Counter[str] = Counter()
    for finding in findings:
        tool = finding.rule.partition("/")[0]
        if of_file[tool, finding.path] < PER_FILE and of_tool[tool] < PER_TOOL and len(kept) < PER_REVIEW:
            of_file[tool, finding.path] += 1
            of_tool[tool] += 1
            kept.append(finding)
        else:
            cut[finding.layer] += finding.severity is not Severity.info
    return tuple(kept), cut


@dataclass(frozen=True)
class CheckReport:
    """The result of layers 1 and 2.

    :param findings: the most severe first.
    :param silencing: how many added lines silence a tool.
    :param read_by: path at head → the linters of its language that read it.
    :param not_read: files that no linter could read, and why.
    """

    findings: tuple[Finding, ...]
    layers: tuple[LayerReport, ...]
    silencing: int = 0
    read_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    not_read: tuple[SkippedFile, ...] = ()


@dataclass(frozen=True)
class ToolExecution:
    """The report of one tool.

    :param missing: why the tool may not read this code.
    """

    tool: str
    layer: Layer
    report: ToolReport
    seconds: float
    missing: str | None = None


def build_result(
    files: Sequence[CheckedFile], outcomes: Sequence[ToolExecution], not_compared: str | None, origin: CodeOrigin
) -> CheckReport:
    """The result of all tools. It may take long, so call it in a thread of its own."""
    every = _keep_introduced(files, outcomes)
    silenced = suppressions.find_added(files)
    kept, cut = limit_findings(every)
    layers = _add_suppressions(_build_layers(outcomes, not_compared), silenced, origin)
    layers = tuple(layer.model_copy(update={"cut": cut[layer.layer]}) for layer in layers)
    lines = suppressions.count_lines(silenced) if suppressions.is_honoured(origin) else 0
    read_by = _map_readers(outcomes)
    heads = [found for outcome in outcomes for found in outcome.report.head]
    not_read = _explain_unread([each for each in files if each.path not in read_by], kept, heads)
    return CheckReport(kept, layers, lines, read_by, tuple(not_read))


def _explain_unread(
    files: Sequence[CheckedFile], introduced: Sequence[Finding], all_found: Sequence[RawFinding]
) -> Iterator[SkippedFile]:
    """The files that no linter could read because they do not parse, be that new or not."""
    broken, newly = (
        {each.path: each.rule.partition("/")[0] for each in found if each.is_syntax_error}
        for found in (all_found, introduced)
    )
    for file in files:
        if file.is_beyond_python_3 and file.path not in newly:
            yield SkippedFile(path=file.path, reason=_OF_PYTHON_2)
        elif file.path in broken:
            yield SkippedFile(path=file.path, reason=f"{broken[file.path]} cannot parse it")


def explain_not_compared(change: Change, dependencies: Sequence[DependencyChange] | None) -> str | None:
    """Why nobody looked for known weaknesses of dependencies; None if somebody did, or if there was nothing new."""
    listing = (each for each in change.touched if is_manifest(each.path) or is_lock(each.path))
    if dependencies is not None or not any(each.has_new_content for each in listing):
        return None
    return "No known weakness of dependencies was looked for: that takes GitHub's dependency graph of the repository."


def _map_readers(outcomes: Sequence[ToolExecution]) -> dict[str, tuple[str, ...]]:
    read: dict[str, tuple[str, ...]] = {}
    for outcome in outcomes:
        for path in sorted(outcome.report.read):
            read[path] = (*read.get(path, ()), outcome.tool)
    return read


def _keep_introduced(files: Sequence[CheckedFile], outcomes: Sequence[ToolExecution]) -> tuple[Finding, ...]:
    """The findings that the change introduced, without repetitions, the most severe first."""
    by_path = {file.path: file for file in files}
    lines = {file.path: file.head_lines for file in files}
    kept: list[Finding] = []
    for outcome in outcomes:
        report = outcome.report
        base = _group_by_path(report.base)
        for path, head in _group_by_path(add_fingerprints(report.head, lines)).items():
            if (file := by_path.get(path)) is None:
                kept += head
                continue
            new = _find_new(file, head, base.get(path, []), path in report.unread)
            kept += [_place_on_cause(finding, file) for finding in new]
    return tuple(sorted(drop_repetitions(merge_findings(_remove_quotes(kept), lines)), key=_sort_key))


def _group_by_path(findings: Sequence[Some]) -> dict[str, list[Some]]:
    grouped: dict[str, list[Some]] = {}
    for finding in findings:
        grouped.setdefault(finding.path, []).append(finding)
    return grouped


def _find_new(
    file: CheckedFile, head: Sequence[Finding], base: Sequence[RawFinding], unread: bool
) -> Sequence[Finding]:
    if unread and not any(finding.is_syntax_error for finding in head):
        return keep_on_added_lines(file.change, head)
    return find_introduced(file.change, head, base, head_lines=file.head_lines, base_lines=file.base_lines)


def _place_on_cause(finding: Finding, file: CheckedFile) -> Finding:
    """A syntax error that shows only later, at the last changed line before: a reader meets the cause before it.

    A parser that knows only where the broken part begins may name a line before all changes.
    """
    changed = file.change.changed_lines
    if not finding.is_syntax_error or finding.line is None or file.base is None or finding.line in changed:
        return finding
    before = [line for line in changed if line < finding.line]
    line = min(before[-1] if before else next(iter(changed), finding.line), len(file.head_lines))
    return finding.model_copy(update={"line": line, "end_line": line})


def _remove_quotes(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without fixes and messages that quote a credential."""
    secret = {(finding.path, finding.line) for finding in findings if finding.rule.startswith("secret/")}
    return [
        redact_finding(finding.model_copy(update={"fix": None}))
        if finding.fix is not None
        and any((finding.path, line) in secret for line in range(finding.fix.start_line, finding.fix.end_line + 1))
        else redact_finding(finding)
        for finding in findings
    ]


def _sort_key(finding: Finding) -> tuple[int, str, int, str]:
    return -finding.severity.rank, finding.path, finding.line or 0, finding.rule


def _build_layers(outcomes: Sequence[ToolExecution], on_security: str | None) -> tuple[LayerReport, ...]:
    return _build_layer(Layer.static, outcomes), _build_layer(Layer.security, outcomes, on_security)


def _add_suppressions(
    layers: Sequence[LayerReport], silenced: Sequence[suppressions.Suppression], origin: CodeOrigin
) -> tuple[LayerReport, ...]:
    """The layers, each with a note on what silences its tools."""
    return tuple(
        layer.model_copy(update={"note": " ".join(filter(None, [layer.note, note]))})
        if (note := suppressions.build_note(silenced, layer.layer, origin))
        else layer
        for layer in layers
    )


def _build_layer(layer: Layer, outcomes: Sequence[ToolExecution], extra: str | None = None) -> LayerReport:
    mine = [outcome for outcome in outcomes if outcome.layer is layer]
    notes = [note for note in (*(outcome.report.note for outcome in mine), extra) if note]
    missing = dict.fromkeys(outcome.missing for outcome in mine if outcome.missing)
    return LayerReport(
        layer=layer,
        tools=tuple(
            ToolRun(
                tool=outcome.tool,
                seconds=round(outcome.seconds, 3),
                files=outcome.report.files,
                problem=outcome.report.problem,
            )
            for outcome in mine
        ),
        missing=" ".join(missing) or None,
        note=" ".join(notes) or None,
    )


def find_introduced(
    change: FileChange,
    head: Sequence[Some],
    base: Sequence[RawFinding],
    *,
    head_lines: Sequence[str],
    base_lines: Sequence[str],
) -> tuple[Some, ...]:
    """The findings of one file that the change introduced, in the order of ``head``.

    A finding is old if the merge base has one of the same rule and message (numbers aside) on a matching line. These
    lines match, in this order: the line that became its line; for code that moved, a line that is equal but for its
    indentation; a line that says the same, as without a comment, or that takes the same action or image in another
    version.
    Each finding of the merge base explains at most one at head, and none that is graver.

    :param change: the file's hunks, which map lines of the merge base to lines at head.
    :param head: findings at head.
    :param base: findings of the same tools at the merge base, under any path.
    :param head_lines: the file's lines at head.
    :param base_lines: the file's lines at the merge base.
    """
    by_line = _drop_explained(
        list(head),
        list(base),
        lambda finding: finding.line,
        lambda finding: None if finding.line is None else change.head_line(finding.line) or _GONE,
    )
    by_text = _drop_explained(
        *by_line,
        lambda finding: _text(head_lines, finding.line),
        lambda finding: _text(base_lines, finding.line),
    )
    new, _ = _drop_explained(
        *by_text,
        _Gist(head_lines, change.path, _NEW).read,
        _Gist(base_lines, change.old_path or change.path, _GONE).read,
    )
    return tuple(new)


def keep_on_added_lines(change: FileChange, head: Sequence[Some]) -> tuple[Some, ...]:
    """The findings that touch an added line; the best guess if the merge base could not be analysed."""
    return tuple(
        finding
        for finding in head
        if finding.line is not None
        and any(line in change.added_lines for line in range(finding.line, (finding.end_line or finding.line) + 1))
    )


def _drop_explained(
    head: list[Some],
    base: list[RawFinding],
    head_place: Callable[[RawFinding], Hashable],
    base_place: Callable[[RawFinding], Hashable],
) -> tuple[list[Some], list[RawFinding]]:
    """Both sides without the pairs of equal rule, message and place, of which the one at head is no graver."""
    left: defaultdict[Hashable, list[RawFinding]] = defaultdict(list)
    for each in sorted(base, key=lambda each: each.severity.rank):
        left[_key(each, base_place)].append(each)
    new: list[Some] = []
    for finding in head:
        there = left[_key(finding, head_place)]
        at = next((at for at, each in enumerate(there) if each.severity.rank >= finding.severity.rank), None)
        if at is None:
            new.append(finding)
        else:
            del there[at]
    return new, [each for there in left.values() for each in there]


def _key(finding: RawFinding, place: Callable[[RawFinding], Hashable]) -> Hashable:
    return compute_secondary_fingerprint(finding.rule, "", finding.message), place(finding)


class _Gist:
    """What the lines of a file say.

    :param otherwise: stands for a line that is not there.
    """

    def __init__(self, lines: Sequence[str], path: str, otherwise: int) -> None:
        self._lines, self._path, self._otherwise = lines, path, otherwise

    def read(self, finding: RawFinding) -> Hashable:
        """The line as its statement says it; the version of an action or an image without its numbers."""
        if finding.line is None or not 1 <= finding.line <= len(self._lines):
            return self._otherwise
        versioned = _VERSIONED.match(self._lines[finding.line - 1])
        if versioned:
            return re.sub(r"\d[\d.]*", "0", versioned[1])
        return self._bare[finding.line - 1].strip() or self._otherwise

    @cached_property
    def _bare(self) -> Sequence[str]:
        return list_bare(self._path, self._lines)


def _text(lines: Sequence[str], line: int | None) -> str | None:
    return None if line is None or not 1 <= line <= len(lines) else lines[line - 1].strip(" \t\r\f")
