"""Runs layers 1 and 2: every tool at the same time, on both versions, and keeps what the change introduced."""

import asyncio
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence

from agents.review.checks import avoidance, hidden_text, workflows
from agents.review.checks.avoidance import AvoidanceCheck
from agents.review.checks.inputs import ToolReport, build_security_finding, list_checked_files, write_versions
from agents.review.checks.locks.check import NO_LOCKS, ComparedLocks
from agents.review.checks.results import CheckReport, ToolExecution, build_result, explain_not_compared
from agents.review.checks.ruff_settings import PythonProject
from agents.review.checks.rule_texts import shorten
from agents.review.checks.tools import Checks, CheckTool
from agents.toolbox import Toolbox
from domain.config.sections import Linter
from domain.errors import ToolError
from domain.github.pull_requests import DependencyChange, Vulnerability
from domain.review.changes import Change, FileChange, FileVersions
from domain.review.findings import Category, Layer, RawFinding, Severity
from domain.review.reading import CheckName
from safety.containment import CodeOrigin

_SEVERITY = {
    "low": Severity.info,
    "moderate": Severity.warning,
    "high": Severity.error,
    "critical": Severity.critical,
}

_USUAL = AvoidanceCheck()


async def run_checks(
    change: Change,
    versions: Mapping[str, FileVersions],
    *,
    project: Mapping[str, bytes],
    linters: Sequence[Linter],
    dependencies: Sequence[DependencyChange] | None,
    locks: ComparedLocks = NO_LOCKS,
    toolbox: Toolbox,
    first_party: Sequence[str] = (),
    doubles: Collection[str] = (),
    linter_files: Mapping[str, bytes] | None = None,
    origin: CodeOrigin = CodeOrigin.stranger,
    avoided: AvoidanceCheck = _USUAL,
) -> CheckReport:
    """Check a change.

    :param versions: path at head → both versions of the changed files.
    :param project: the merge base's files that say how it runs ruff, by path (see :class:`PythonProject`).
    :param linters: those the repository configures.
    :param dependencies: the code host's comparison; None where there is none.
    :param locks: what the changes of lock files come to.
    :param first_party: the repository's own top-level packages; without them the order of imports is not checked.
    :param doubles: those of :func:`agents.review.checks.hidden_text.list_doubles` that the merge base has.
    :param linter_files: the merge base's files that the configured linters want, by path.
    :param origin: whose code it is; a tool that may not read it here is named as missing in its layer.
    :param avoided: how it is looked for places where the change gives up in disguise.
    :returns: the findings that the change introduced. A tool that failed is named in its layer, with the reason.
    """
    files = list_checked_files(change, versions)
    with toolbox.sandbox.folder() as folder:
        pyproject = versions["pyproject.toml"].head if "pyproject.toml" in versions else None
        python = PythonProject(project, first_party, pyproject)
        tools = Checks(files, toolbox, origin).list_tools(folder, python, linters, linter_files or {})
        written = [file for file in files if file.is_python or workflows.is_workflow(file.path)]
        await asyncio.to_thread(write_versions, folder, written)
        giving_up = avoidance.check(change, versions, avoided, toolbox, origin)
        outcomes = list(await asyncio.gather(*(_run_tool(tool) for tool in tools), giving_up))
    if odd := hidden_text.find_deceiving(change, doubles):
        report = ToolReport(head=odd, files=len(change.files))
        outcomes.append(ToolExecution(CheckName.hidden_text, Layer.security, report, 0.0))
    if dependencies is not None:
        outcomes.append(_compare_dependencies(change, dependencies))
    if locks.seen:
        outcomes.append(ToolExecution("lock files", Layer.security, locks.report, 0.0, locks.missing))
    return await asyncio.to_thread(build_result, files, outcomes, explain_not_compared(change, dependencies), origin)


async def _run_tool(tool: CheckTool) -> ToolExecution:
    """The outcome of a tool. If it fails, the others still run."""
    started = time.monotonic()
    if tool.where.level is None:
        refusal = tool.where.refusal
        return ToolExecution(tool.name, tool.layer, ToolReport(problem=refusal), 0.0, refusal)
    try:
        report = await tool.check(tool.where.level)
    except ToolError as error:
        report = ToolReport(problem=str(error))
    except Exception as error:  # one tool must not end the review
        report = ToolReport(problem=f"{tool.name} failed unexpectedly ({type(error).__name__}).")
    return ToolExecution(tool.name, tool.layer, report, time.monotonic() - started)


def _compare_dependencies(change: Change, dependencies: Sequence[DependencyChange]) -> ToolExecution:
    found = find_vulnerable(change, dependencies)
    return ToolExecution(CheckName.dependencies, Layer.security, ToolReport(head=found, files=len(dependencies)), 0.0)


def find_vulnerable(change: Change, dependencies: Sequence[DependencyChange]) -> tuple[RawFinding, ...]:
    """One finding per known vulnerability of a dependency that the change adds or moves to a vulnerable version."""
    before = {
        (dependency.ecosystem, dependency.name, vulnerability.advisory_ghsa_id)
        for dependency in dependencies
        if dependency.change_type == "removed"
        for vulnerability in dependency.vulnerabilities
    }
    found: dict[tuple[str, str, str], RawFinding] = {}
    for dependency in dependencies:
        for vulnerability in dependency.vulnerabilities if dependency.change_type == "added" else ():
            if (dependency.ecosystem, dependency.name, vulnerability.advisory_ghsa_id) not in before:
                key = (dependency.manifest, dependency.name, vulnerability.advisory_ghsa_id)
                found.setdefault(key, _finding(change, dependency, vulnerability))
    return tuple(found.values())


def _finding(change: Change, dependency: DependencyChange, vulnerability: Vulnerability) -> RawFinding:
    message = (
        f"{dependency.name} {dependency.version} has a known vulnerability ({vulnerability.severity}): "
        f"{vulnerability.advisory_summary.rstrip('.')}. "
        f"Use a version that fixes it, see {vulnerability.advisory_ghsa_id}."
    )
    return build_security_finding(
        f"dependency/{shorten(vulnerability.advisory_ghsa_id, 60)}",
        _SEVERITY[vulnerability.severity],
        dependency.manifest,
        next(_find_naming_lines(change.file(dependency.manifest), dependency), None),
        shorten(message),
        category=Category.dependencies,
        confidence=0.95,
        help_url=vulnerability.advisory_url,
    )


def _find_naming_lines(file: FileChange | None, dependency: DependencyChange) -> Iterator[int]:
    """Added lines of the manifest that name the dependency, those with its version first."""
    if file is None:
        return
    name = re.compile(rf"(?<![\w.-]){re.escape(dependency.name)}(?![\w-])", re.IGNORECASE)
    naming = [line for line, text in file.added_lines.items() if name.search(text[:2000])]
    yield from (line for line in naming if dependency.version in file.added_lines[line])
    yield from naming
