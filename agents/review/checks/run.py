"""Runs layers 1 and 2: every tool at the same time, on both versions, and keeps what the change introduced."""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence

from agents.review.checks import avoidance, credentials, file_names, workflows
from agents.review.checks.avoidance import AvoidanceCheck
from agents.review.checks.dependencies import find_vulnerable
from agents.review.checks.inputs import ToolReport, list_checked_files, write_versions
from agents.review.checks.locks.check import NO_LOCKS, ComparedLocks
from agents.review.checks.results import CheckReport, ToolExecution, build_result, explain_not_compared
from agents.review.checks.tools import Checks, CheckTool, PythonProject
from agents.review.checks.worker_pool import WorkerBudget
from agents.toolbox import Toolbox
from domain.config.sections import Linter
from domain.errors import ToolError
from domain.github.pull_requests import DependencyChange
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding, Layer
from domain.review.reading import CheckName
from safety.containment import CodeOrigin
from workspace.transient_commits import TransientFile

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
    :param project: the merge base's configuration of ruff: ``pyproject.toml``, ``ruff.toml``, ``.ruff.toml`` by path.
    :param linters: those the repository configures.
    :param dependencies: the code host's comparison; None where there is none.
    :param locks: what the changes of lock files come to.
    :param first_party: the repository's own top-level packages; without them the order of imports is not checked.
    :param doubles: those of :func:`agents.review.checks.file_names.list_doubles` that the merge base has.
    :param linter_files: the merge base's files that the configured linters want, by path.
    :param origin: whose code it is; a tool that may not read it here is named as missing in its layer.
    :param avoided: how it is looked for places where the change gives up in disguise.
    :returns: the findings that the change introduced. A tool that failed is named in its layer, with the reason.
    """
    files = list_checked_files(change, versions)
    with toolbox.sandbox.folder() as folder:
        tools = Checks(files, toolbox, origin).list_tools(
            folder, PythonProject(project, first_party), linters, linter_files or {}
        )
        written = [file for file in files if file.is_python or workflows.is_workflow(file.path)]
        await asyncio.to_thread(write_versions, folder, written)
        giving_up = avoidance.check(change, versions, avoided, toolbox, origin)
        outcomes = list(await asyncio.gather(*(_run_tool(tool) for tool in tools), giving_up))
    if odd := file_names.find_deceiving(change, doubles):
        report = ToolReport(head=odd, files=len(change.files))
        outcomes.append(ToolExecution(CheckName.hidden_text, Layer.security, report, 0.0))
    if dependencies is not None:
        outcomes.append(_compare_dependencies(change, dependencies))
    if locks.seen:
        outcomes.append(ToolExecution("lock files", Layer.security, locks.report, 0.0, locks.missing))
    return await asyncio.to_thread(build_result, files, outcomes, explain_not_compared(change, dependencies), origin)


async def search_commits(
    files: Sequence[TransientFile], toolbox: Toolbox, origin: CodeOrigin, *, known_forms: bool = False
) -> tuple[tuple[Finding, ...], str | None]:
    """Credentials that one commit of a pull request added and a later one removed, and what could not be searched.

    :param known_forms: only those of a known form, not what is named like a credential.
    If the worker may not look at this code, :func:`run_checks` reports that.
    """
    if toolbox.for_worker(CheckName.secrets, origin=origin).level is None:
        return (), None
    return await credentials.check_transient_commits(
        files, WorkerBudget(toolbox.pool, toolbox.seconds), known_forms=known_forms
    )


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
