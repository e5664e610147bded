"""Layer 1: where a change gives up in disguise, as findings."""

import time
from collections.abc import Mapping, Sequence

from agents.avoidance.detection import detect
from agents.review.checks.inputs import ToolReport
from agents.review.checks.results import ToolExecution
from agents.review.checks.worker_pool import WorkerBudget
from agents.toolbox import Toolbox
from domain.avoidance import CERTAIN, LEGITIMATE, Avoidance
from domain.config.avoidance import AvoidanceSettings, Reaction
from domain.errors import ToolError
from domain.review.changes import Change, FileVersions
from domain.review.findings import Category, Layer, RawFinding, Severity
from safety.containment import CodeOrigin

TOOL = "avoidance"


async def check(
    change: Change,
    versions: Mapping[str, FileVersions],
    settings: AvoidanceSettings,
    toolbox: Toolbox,
    origin: CodeOrigin,
    asked: str = "",
    *,
    owned: bool = False,
) -> ToolExecution:
    """Look for it in a change; what the repository switched off is left out, but not in Forge's own changes.

    :param versions: path at head → both versions of the changed files.
    :param asked: what people asked for.
    :param owned: Forge proposed the change: its agent takes back what is certain before a person is bothered.
    """
    started = time.monotonic()
    where = toolbox.for_worker("syntax trees", origin=origin)
    if where.level is None:
        return ToolExecution(TOOL, Layer.static, ToolReport(problem=where.refusal), 0.0, where.refusal)
    try:
        done = await detect(change, versions, WorkerBudget(toolbox.pool, toolbox.seconds), asked)
    except ToolError as error:
        return ToolExecution(TOOL, Layer.static, ToolReport(problem=str(error)), time.monotonic() - started)
    wanted = [each for each in done.found if owned or settings.of(each.kind) is not Reaction.off]
    report = ToolReport(tuple(build_findings(wanted, owned=owned)), files=done.files, problem=done.problem)
    return ToolExecution(TOOL, Layer.static, report, time.monotonic() - started)


def build_findings(found: Sequence[Avoidance], *, owned: bool = False) -> list[RawFinding]:
    """Those without an excuse as findings.

    :param owned: those that are certain block.
    """
    return [
        RawFinding(
            rule=each.kind.rule,
            category=Category.avoidance,
            severity=Severity.error if owned and each.confidence >= CERTAIN else each.severity,
            confidence=each.confidence,
            path=each.path,
            line=each.line,
            end_line=each.line,
            message=f"{each.what} {LEGITIMATE[each.kind]}",
            layer=Layer.static,
            mark=each.name,
        )
        for each in found
        if not each.excuse
    ]
