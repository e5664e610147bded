"""Approves a reviewed head automatically, once."""

import structlog

from domain.errors import Unprocessable
from domain.github.pull_requests import Approval
from domain.runs.run import Run
from memory.repositories import automation_level
from memory.runs import outbox
from messages import automation as automation_texts
from pipeline.context import Services
from pipeline.publishing import reviews
from pipeline.verdicts.approval import build_approval_marker, is_approval_of, withdraw_if_lost
from safety.allowed_actions import ActionDecision
from safety.required_checks import RequiredChecks

log = structlog.get_logger(__name__)


async def approve(services: Services, run: Run, allowed: ActionDecision, checks: RequiredChecks) -> None:
    """Approve exactly this head and record that. May be repeated, and then changes nothing."""
    marker = build_approval_marker(services, run)
    body = automation_texts.render_approval(allowed.reason.text, allowed.rule, run.head_sha, checks.checks, marker)
    try:
        is_there = await _approve_once(services, run, body)
    except Unprocessable as error:  # Forge's own pull request
        log.info("auto_approve.refused", run=run.id, error=str(error))
        return
    if is_there:
        await automation_level.record_action(
            services.database,
            run,
            allowed.act.value,
            services.clock.now(),
            {**allowed.dump_reason(), "head": run.head_sha, "checks": list(checks.checks)},
        )


async def _approve_once(services: Services, run: Run, body: str) -> bool:
    """Whether Forge's approval is there.

    If a person dismissed an approval of this head, for any base, it is not given again.
    """
    repository, number = run.repository, run.number

    async def find() -> int | None:
        given = await _list_approvals(services, run)
        return next((each.id for each in given if each.is_dismissed or is_approval_of(each, services, run)), None)

    again = len(await outbox.list_withdrawn(services.database, repository.id, number))
    step = f"{outbox.APPROVAL} {again}" if again else outbox.APPROVAL
    given = await reviews.approve_once(services, run, step, body, find=find)
    await withdraw_if_lost(services, run)
    shown = {each.id: each for each in await services.host.approvals(repository, number)}.get(given)
    return shown is None or not shown.is_dismissed  # GitHub may not show it yet


async def _list_approvals(services: Services, run: Run) -> list[Approval]:
    """The approvals of this head, without those that Forge withdrew: it may give them again."""
    taken_back = await outbox.list_withdrawn(services.database, run.repository.id, run.number)
    given = await services.host.approvals(run.repository, run.number)
    return [each for each in given if each.head_sha == run.head_sha and each.id not in taken_back]
