"""Runs layers 1 and 2: every tool at the same time, on both versions, and keeps what the change introduced."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agents.review.checks import bandit, credentials, linters, ruff, scripts, suppressions, workflows
from agents.review.checks.baseline import Some, find_introduced, keep_on_added_lines
from agents.review.checks.dependencies import find_vulnerable
from agents.review.checks.fingerprints import add_fingerprints, drop_repetitions
from agents.review.checks.inputs import CheckedFile, ToolReport, list_checked_files, write_versions
from agents.review.checks.limits import limit_findings
from agents.review.checks.merging import merge_findings
from agents.review.checks.worker_pool import WorkerBudget
from agents.toolbox import Toolbox
from domain.config.configuration import Linter
from domain.errors import ToolError
from domain.github.dependencies import DependencyChange
from domain.paths import is_lock, is_manifest
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding, Layer, RawFinding
from domain.review.review import LayerReport, ToolRun
from domain.text.redaction import redact_finding
from safety.containment import PARSERS, Containment, Origin
from workspace.transient_commits import TransientFile


@dataclass(frozen=True)
class CheckReport:
    """What layers 1 and 2 found, gravest first, what each tool did, and how many added lines silence one.

    :param read_by: path at head → the linters of its language that read it.
    """

    findings: tuple[Finding, ...]
    layers: tuple[LayerReport, ...]
    silencing: int = 0
    read_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


async def run_checks(
    change: Change,
    versions: Mapping[str, FileVersions],
    *,
    project: Mapping[str, bytes],
    linters: Sequence[Linter],
    dependencies: Sequence[DependencyChange] | None,
    toolbox: Toolbox,
    first_party: Sequence[str] = (),
    origin: Origin = Origin.stranger,
) -> CheckReport:
    """Check a change.

    :param versions: path at head → both versions of the changed files.
    :param project: the merge base's configuration of ruff: ``pyproject.toml``, ``ruff.toml``, ``.ruff.toml`` by path.
    :param linters: those the repository configures.
    :param dependencies: the code host's comparison; None where there is none.
    :param first_party: the repository's own top-level packages; the order of imports is judged only with them.
    :param origin: whose code it is; a tool that may not look at it here is named in its layer as missing.
    :returns: the findings the change introduced. A tool that failed is named in its layer, with the reason.
    """
    files = list_checked_files(change, versions)
    with toolbox.sandbox.folder() as folder:
        tools = _list_tools(files, folder, toolbox, project, first_party, linters, origin)
        written = [file for file in files if file.is_python or workflows.is_workflow(file.path)]
        await asyncio.to_thread(write_versions, folder, written)
        outcomes = list(await asyncio.gather(*(_run_tool(tool) for tool in tools)))
    if dependencies is not None:
        outcomes.append(_compare_dependencies(change, dependencies))
    return await asyncio.to_thread(_build_result, files, outcomes, _explain_not_compared(change, dependencies), origin)


async def search_commits(
    files: Sequence[TransientFile], toolbox: Toolbox, origin: Origin
) -> tuple[tuple[Finding, ...], str | None]:
    """Credentials that came and went between the ends of a pull request, and what could not be looked at.

    Where the worker may not look at this code, :func:`run_checks` says so.
    """
    if toolbox.for_worker("detect-secrets", origin=origin).level is None:
        return (), None
    return await credentials.check_transient_commits(files, WorkerBudget(toolbox.pool, toolbox.seconds))


@dataclass(frozen=True)
class _Tool:
    name: str
    layer: Layer
    where: Containment
    check: Callable[[int], Awaitable[ToolReport]]


@dataclass(frozen=True)
class _Outcome:
    tool: str
    layer: Layer
    report: ToolReport
    seconds: float
    missing: str | None = None


def _build_result(
    files: Sequence[CheckedFile], outcomes: Sequence[_Outcome], not_compared: str | None, origin: Origin
) -> CheckReport:
    """What all tools said, drawn together; for a thread of its own, because there may be much of it."""
    every = _keep_introduced(files, outcomes)
    outcomes = _add_unparsed(outcomes, {finding.path for finding in every if finding.rule == ruff.SYNTAX})
    silenced = suppressions.find_added(files)
    kept, cut = limit_findings(every)
    layers = _add_suppressions(_build_layers(outcomes, not_compared), silenced, origin)
    layers = tuple(layer.model_copy(update={"cut": cut[layer.layer]}) for layer in layers)
    lines = suppressions.count_lines(silenced) if suppressions.is_honoured(origin) else 0
    return CheckReport(kept, layers, lines, _map_readers(outcomes))


def _list_tools(
    files: Sequence[CheckedFile],
    folder: Path,
    toolbox: Toolbox,
    project: Mapping[str, bytes],
    first_party: Sequence[str],
    configured: Sequence[Linter],
    origin: Origin,
) -> list[_Tool]:
    """Every tool that has something to look at."""
    sandbox, seconds, heeding = toolbox.sandbox, toolbox.seconds, suppressions.is_honoured(origin)
    shift = WorkerBudget(toolbox.pool, seconds)
    python = [file for file in files if file.is_python]
    automation = [file for file in files if workflows.is_workflow(file.path)]
    shell = [file for file in files if scripts.is_script(file)]

    def program(name: str, layer: Layer, check: Callable[[int], Awaitable[ToolReport]]) -> _Tool:
        return _Tool(name, layer, toolbox.for_program(name, origin=origin), check)

    def worker(name: str, check: Callable[[], Awaitable[ToolReport]]) -> _Tool:
        return _Tool(name, Layer.security, toolbox.for_worker(name, origin=origin), lambda _: check())

    def lint(level: int) -> Awaitable[ToolReport]:
        return ruff.check(
            python,
            folder,
            sandbox,
            level,
            project=project,
            first_party=first_party,
            heeding=heeding,
            seconds=seconds,
        )

    tools: list[_Tool] = []
    if python:
        scan = worker("bandit", lambda: bandit.check(python, shift, heeding=heeding))
        tools += [program("ruff", Layer.static, lint), scan]
    if files:
        tools.append(worker("detect-secrets", lambda: credentials.check(files, shift)))
    if automation:

        def audit(level: int) -> Awaitable[ToolReport]:
            return workflows.check(automation, folder, sandbox, level, heeding=heeding, seconds=seconds)

        tools.append(program("zizmor", Layer.security, audit))
    if shell:
        tools.append(worker("patterns", lambda: scripts.check(shell, shift)))
    return tools + [_build_linter(linter, files, toolbox, origin) for linter in configured]


def _build_linter(linter: Linter, files: Sequence[CheckedFile], toolbox: Toolbox, origin: Origin) -> _Tool:
    matching = linters.match_files(linter, files)
    where = toolbox.for_program(linter.name, origin=origin, executes=True)
    heeding, seconds = suppressions.is_honoured(origin), toolbox.seconds
    return _Tool(
        linter.name,
        Layer.static,
        where if matching else Containment(PARSERS),
        lambda level: linters.check(linter, matching, toolbox.sandbox, level, heeding=heeding, seconds=seconds),
    )


async def _run_tool(tool: _Tool) -> _Outcome:
    """What a tool did; whatever goes wrong with it is its own problem and not that of the others."""
    started = time.monotonic()
    if tool.where.level is None:
        refusal = tool.where.refusal
        return _Outcome(tool.name, tool.layer, ToolReport(problem=refusal), 0.0, refusal)
    try:
        report = await tool.check(tool.where.level)
    except ToolError as error:
        report = ToolReport(problem=str(error))
    except Exception as error:  # a tool's surprise must not cost the review
        report = ToolReport(problem=f"{tool.name} failed unexpectedly ({type(error).__name__}).")
    return _Outcome(tool.name, tool.layer, report, time.monotonic() - started)


def _add_unparsed(outcomes: Sequence[_Outcome], broken: Collection[str]) -> list[_Outcome]:
    """The outcomes, with files a tool could not parse as its problem.

    :param broken: paths of which a finding says so already. An error of syntax that was there before is no finding.
    """
    return [
        _note_unparsed(outcome, [path for path in outcome.report.unparsed if path not in broken])
        for outcome in outcomes
    ]


def _note_unparsed(outcome: _Outcome, paths: Sequence[str]) -> _Outcome:
    if not paths:
        return outcome
    why = f"{outcome.tool} could not parse {', '.join(paths[:3])}" + (
        f" and {len(paths) - 3} more." if paths[3:] else "."
    )
    problem = f"{outcome.report.problem} {why}" if outcome.report.problem else why
    return replace(outcome, report=replace(outcome.report, problem=problem))


def _map_readers(outcomes: Sequence[_Outcome]) -> dict[str, tuple[str, ...]]:
    read: dict[str, tuple[str, ...]] = {}
    for outcome in outcomes:
        for path in sorted(outcome.report.read):
            read[path] = (*read.get(path, ()), outcome.tool)
    return read


def _compare_dependencies(change: Change, dependencies: Sequence[DependencyChange]) -> _Outcome:
    found = find_vulnerable(change, dependencies)
    return _Outcome("dependencies", Layer.security, ToolReport(head=found, files=len(dependencies)), 0.0)


def _explain_not_compared(change: Change, dependencies: Sequence[DependencyChange] | None) -> str | None:
    """What to say where there is no comparison; nothing if there was nothing to compare."""
    listing = (each for each in change.touched if is_manifest(each.path) or is_lock(each.path))
    if dependencies is not None or not any(each.has_new_content for each in listing):
        return None
    return "Dependencies were not compared: the repository has no dependency graph."


def _keep_introduced(files: Sequence[CheckedFile], outcomes: Sequence[_Outcome]) -> tuple[Finding, ...]:
    """The findings the change introduced, each said once, gravest first."""
    by_path = {file.path: file for file in files}
    lines = {file.path: file.head_lines for file in files}
    kept: list[Finding] = []
    for outcome in outcomes:
        report = outcome.report
        base = _group_by_path(report.base)
        for path, head in _group_by_path(add_fingerprints(report.head, lines)).items():
            file = by_path.get(path)
            kept += head if file is None else _find_new(file, head, base.get(path, []), path in report.unread)
    return tuple(sorted(drop_repetitions(merge_findings(_remove_quotes(kept), lines)), key=_sort_key))


def _group_by_path(findings: Sequence[Some]) -> dict[str, list[Some]]:
    grouped: dict[str, list[Some]] = {}
    for finding in findings:
        grouped.setdefault(finding.path, []).append(finding)
    return grouped


def _find_new(
    file: CheckedFile, head: Sequence[Finding], base: Sequence[RawFinding], unread: bool
) -> Sequence[Finding]:
    if unread and not any(finding.rule == ruff.SYNTAX for finding in head):
        return keep_on_added_lines(file.change, head)
    return find_introduced(file.change, head, base, head_lines=file.head_lines, base_lines=file.base_lines)


def _remove_quotes(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, without fixes and messages that would quote a credential."""
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


def _build_layers(outcomes: Sequence[_Outcome], on_security: str | None) -> tuple[LayerReport, ...]:
    return _build_layer(Layer.static, outcomes), _build_layer(Layer.security, outcomes, on_security)


def _add_suppressions(
    layers: Sequence[LayerReport], silenced: Sequence[suppressions.Suppression], origin: Origin
) -> tuple[LayerReport, ...]:
    """The layers, each with what silences its tools: never without a word."""
    return tuple(
        layer.model_copy(update={"note": " ".join(filter(None, [layer.note, said]))})
        if (said := suppressions.build_note(silenced, layer.layer, origin))
        else layer
        for layer in layers
    )


def _build_layer(layer: Layer, outcomes: Sequence[_Outcome], said: str | None = None) -> LayerReport:
    mine = [outcome for outcome in outcomes if outcome.layer is layer]
    notes = [note for note in (*(outcome.report.note for outcome in mine), said) if note]
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
