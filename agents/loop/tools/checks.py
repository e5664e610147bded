"""Lets an agent see what the checks of Forge's own review find in its draft, before anybody reviews it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from pydantic import ConfigDict

from agents.loop.tools.tool import Tool, ToolEffect, ToolMistake
from agents.review.layers import CheckedChange
from domain.errors import CodeAccessError
from domain.review.findings import Finding, Layer
from domain.text.escaping import flatten_text
from domain.text.redaction import Redact
from domain.value import Value
from workspace.draft import Draft

LINTER, SCAN = "run_linter", "run_security_scan"
MAX_CHECKS = 8
"""The most drafts of one task that are checked."""
_SHOWN, _MESSAGE = 40, 300  # findings, and characters of each
_DESCRIPTIONS = {
    LINTER: (
        "Runs the linters of Forge's review on what you changed, and lists what they find there. Call it when your "
        "edits are applied: what is left is sent back to you."
    ),
    SCAN: (
        "Searches what you changed for credentials and dangerous code, as Forge's review does. Call it when your edits "
        "are applied: what is left is sent back to you."
    ),
}
_LAYERS = {LINTER: Layer.static, SCAN: Layer.security}
_OFTEN = "Your drafts were checked often enough for one task. Hand in what you have; the review checks it again."

CheckDraft = Callable[[str], Awaitable[CheckedChange]]
"""Runs the checks of the review on a commit."""


class NoArguments(Value):
    """What both tools take: nothing, because they look at all that changed."""

    model_config = ConfigDict(extra="forbid")


def make_check_tools(draft: Draft, check: CheckDraft, *, redact: Redact) -> tuple[Tool, ...]:
    """``run_linter`` and ``run_security_scan`` on a draft with all edits that were applied before the call.

    :param redact: removes secrets from every answer.
    """
    checked: dict[str, CheckedChange] = {}
    one_at_a_time = asyncio.Lock()

    async def load(commit: str) -> CheckedChange:
        async with one_at_a_time:
            if commit not in checked:
                if len(checked) >= MAX_CHECKS:
                    raise ToolMistake(_OFTEN)
                try:
                    checked[commit] = await check(commit)
                except CodeAccessError as error:
                    raise ToolMistake(f"Nothing was checked: {error}") from error
            return checked[commit]

    def make(name: str) -> Tool:
        async def run(_arguments: NoArguments) -> str:
            commit = (await draft.snapshot()).commit
            if commit == draft.base:
                return "You changed nothing yet."
            return redact("\n".join(_describe(await load(commit), _LAYERS[name])))

        return Tool(name, _DESCRIPTIONS[name], NoArguments, run, ToolEffect.runs)

    return make(LINTER), make(SCAN)


def _describe(checked: CheckedChange, layer: Layer) -> Iterator[str]:
    found = sorted((each for each in checked.findings if each.layer is layer), key=lambda each: each.sort_key)
    yield f"{len(found):,} found:" if found else "Nothing was found."
    yield from (_render(each) for each in found[:_SHOWN])
    if len(found) > _SHOWN:
        yield f"[{len(found) - _SHOWN:,} more are left out]"
    yield from _list_gaps(checked, layer)


def _render(finding: Finding) -> str:
    place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    message = flatten_text(finding.message)[:_MESSAGE]
    return f"- {place} {finding.rule} ({finding.severity.value}): {message}"


def _list_gaps(checked: CheckedChange, layer: Layer) -> Iterator[str]:
    """What was not looked at, because a tool failed or is missing."""
    reports = [report for report in checked.layers if report.layer is layer]
    problems: Sequence[str] = [tool.problem for report in reports for tool in report.tools if tool.problem]
    yield from (f"Not everything was checked: {' '.join(problem.split())[:_MESSAGE]}" for problem in problems)
