"""Executes ``diff``, ``history`` and ``suggest`` about findings, or about those of a gate; else about Forge's work."""

from collections.abc import Sequence
from datetime import timedelta

from domain.gates import Gate
from domain.review.avoidance import MEMORY_DAYS, RULE, DetectorRecord
from domain.review.changes import FileChange
from domain.review.findings import Finding
from domain.slash import AboutGate, LookBack
from memory import findings
from memory.learned import feedback
from messages import commands as command_texts
from messages import feedback as texts
from messages.feedback import DetectorHistory
from pipeline.checkout import compare_with_base
from pipeline.deliveries.commands.changes import render_changes
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import answer_no_finding, find_meant
from pipeline.deliveries.commands.show import render_past_runs
from pipeline.gates.decide import find_gate
from pipeline.issue.instruction.kept_commits import EarlierFix, list_standing
from workspace.mirror import Mirror

_MOST = 5  # findings of which the history is shown
_MOST_SAID = 20


async def suggest(context: CommandContext, asked: AboutGate) -> str:
    """``/forge suggest``"""
    gate = await find_gate(*context.here, asked.gate)
    if isinstance(gate, str):
        return gate
    found = [each for each in await _load_findings(context, gate) if each.rule.startswith(RULE)]
    if not found:
        return texts.suggest_nothing(gate.name, [option.command for option in gate.request.options])
    return texts.suggest_alternatives(found)


async def show_diff(context: CommandContext, asked: LookBack) -> str:
    """``/forge diff``"""
    if asked.finding is None and asked.gate is None:
        return await render_changes(context)
    found = await _find_asked(context, asked)
    pull = context.actor.pull_request
    if isinstance(found, str) or pull is None:
        return found if isinstance(found, str) else command_texts.only_on_pull_requests(asked.verb)
    mirror, merge_base = await compare_with_base(context.services, context.repository, pull)
    fixed = None if asked.finding is None else await _find_fix(context, found[0], mirror, pull.head_sha)
    if fixed is not None:
        return texts.render_fix(fixed.told, await _read_fix(mirror, fixed.commit))
    change = await mirror.change(merge_base, pull.head_sha)
    paths = list(dict.fromkeys(each.path for each in found))
    files = [
        file.keep_hunks([each.comment_lines for each in found if each.path == path and each.line is not None])
        for path in paths
        if (file := change.file(path)) is not None
    ]
    return texts.render_places(found, files, pull.head_sha) if files else texts.nothing_to_compare(found)


async def _find_fix(context: CommandContext, finding: Finding, mirror: Mirror, head: str) -> EarlierFix | None:
    """The newest commit on the branch that fixed a finding."""
    standing = await list_standing(*context.here, mirror, head)
    return next((each for each in standing if each.commit and finding.fingerprint in each.fixed), None)


async def _read_fix(mirror: Mirror, commit: str) -> Sequence[FileChange]:
    parent = await mirror.first_parent(commit)
    return () if parent is None else (await mirror.change(parent, commit)).files


async def show_history(context: CommandContext, asked: LookBack) -> str:
    """``/forge history``"""
    if asked.finding is None and asked.gate is None:
        return await render_past_runs(context)
    found = await _find_asked(context, asked)
    if isinstance(found, str):
        return found
    about = {(each.rule, each.path): each for each in found if each.rule.startswith(RULE)}
    if not about:
        return texts.no_history(found[0])
    return "\n\n".join([texts.render_history(await _load_history(context, each)) for each in [*about.values()][:_MOST]])


async def _load_history(context: CommandContext, finding: Finding) -> DetectorHistory:
    database, repository_id = context.database, context.repository.id
    since = context.services.clock.now() - timedelta(days=MEMORY_DAYS)
    records = await findings.load_detector_records(database, repository_id, since)
    return DetectorHistory(
        finding,
        records.get(finding.rule, DetectorRecord(0, 0)),
        await feedback.list_of_file(database, repository_id, finding, _MOST_SAID),
    )


async def _find_asked(context: CommandContext, asked: LookBack) -> Sequence[Finding] | str:
    """The findings that are meant, at least one; else why there are none."""
    if asked.finding is not None:
        return await find_meant(context, asked.finding) or await answer_no_finding(context, asked)
    gate = await find_gate(*context.here, asked.gate)
    if isinstance(gate, str):
        return gate
    return await _load_findings(context, gate) or texts.no_places(gate.name)


async def _load_findings(context: CommandContext, gate: Gate) -> Sequence[Finding]:
    return await findings.load_by_fingerprint(*context.rows, gate.request.findings)
