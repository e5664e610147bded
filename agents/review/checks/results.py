"""Combines the reports of all tools: keeps the introduced and most severe findings, and reports each layer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agents.review.checks import suppressions
from agents.review.checks.baseline import Some, find_introduced, keep_on_added_lines
from agents.review.checks.fingerprints import add_fingerprints, drop_repetitions, merge_findings
from agents.review.checks.inputs import CheckedFile, ToolReport
from domain.github.pull_requests import DependencyChange
from domain.paths import is_lock, is_manifest
from domain.review.changes import Change
from domain.review.findings import Finding, Layer, RawFinding, Severity
from domain.review.review import LayerReport, ToolRun
from domain.text.redaction import redact_finding
from safety.containment import CodeOrigin

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
    """

    findings: tuple[Finding, ...]
    layers: tuple[LayerReport, ...]
    silencing: int = 0
    read_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


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
    return CheckReport(kept, layers, lines, _map_readers(outcomes))


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
