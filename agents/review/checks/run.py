"""Runs layers 1 and 2: every tool at the same time, on both versions, and keeps what the change introduced."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.review.checks import bandit, credentials, linters, ruff, scripts, suppressions, workflows
from agents.review.checks.dependencies import find_vulnerable
from agents.review.checks.inputs import CheckedFile, ToolReport, list_checked_files, write_versions
from agents.review.checks.results import CheckReport, ToolExecution, build_result, explain_not_compared
from agents.review.checks.worker_pool import WorkerBudget
from agents.toolbox import Toolbox
from domain.config.review import Linter
from domain.errors import ToolError
from domain.github.dependencies import DependencyChange
from domain.review.changes import Change, FileVersions
from domain.review.findings import Finding, Layer
from safety.containment import PARSERS, CodeOrigin, Containment
from workspace.transient_commits import TransientFile


async def run_checks(
    change: Change,
    versions: Mapping[str, FileVersions],
    *,
    project: Mapping[str, bytes],
    linters: Sequence[Linter],
    dependencies: Sequence[DependencyChange] | None,
    toolbox: Toolbox,
    first_party: Sequence[str] = (),
    origin: CodeOrigin = CodeOrigin.stranger,
) -> CheckReport:
    """Check a change.

    :param versions: path at head → both versions of the changed files.
    :param project: the merge base's configuration of ruff: ``pyproject.toml``, ``ruff.toml``, ``.ruff.toml`` by path.
    :param linters: those the repository configures.
    :param dependencies: the code host's comparison; None where there is none.
    :param first_party: the repository's own top-level packages; without them the order of imports is not checked.
    :param origin: whose code it is; a tool that may not read it here is named as missing in its layer.
    :returns: the findings that the change introduced. A tool that failed is named in its layer, with the reason.
    """
    files = list_checked_files(change, versions)
    with toolbox.sandbox.folder() as folder:
        tools = _list_tools(files, folder, toolbox, project, first_party, linters, origin)
        written = [file for file in files if file.is_python or workflows.is_workflow(file.path)]
        await asyncio.to_thread(write_versions, folder, written)
        outcomes = list(await asyncio.gather(*(_run_tool(tool) for tool in tools)))
    if dependencies is not None:
        outcomes.append(_compare_dependencies(change, dependencies))
    return await asyncio.to_thread(build_result, files, outcomes, explain_not_compared(change, dependencies), origin)


async def search_commits(
    files: Sequence[TransientFile], toolbox: Toolbox, origin: CodeOrigin
) -> tuple[tuple[Finding, ...], str | None]:
    """Credentials that one commit of a pull request added and a later one removed, and what could not be searched.

    If the worker may not look at this code, :func:`run_checks` reports that.
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


def _list_tools(
    files: Sequence[CheckedFile],
    folder: Path,
    toolbox: Toolbox,
    project: Mapping[str, bytes],
    first_party: Sequence[str],
    configured: Sequence[Linter],
    origin: CodeOrigin,
) -> list[_Tool]:
    """Every tool that has files to check."""
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


def _build_linter(linter: Linter, files: Sequence[CheckedFile], toolbox: Toolbox, origin: CodeOrigin) -> _Tool:
    matching = linters.match_files(linter, files)
    where = toolbox.for_program(linter.name, origin=origin, executes=True)
    heeding, seconds = suppressions.is_honoured(origin), toolbox.seconds
    return _Tool(
        linter.name,
        Layer.static,
        where if matching else Containment(PARSERS),
        lambda level: linters.check(linter, matching, toolbox.sandbox, level, heeding=heeding, seconds=seconds),
    )


async def _run_tool(tool: _Tool) -> ToolExecution:
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
    return ToolExecution("dependencies", Layer.security, ToolReport(head=found, files=len(dependencies)), 0.0)
