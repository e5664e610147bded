"""Commits the fixes of formatting and simple lint to the pull request's branch, where the level allows it."""

from dataclasses import replace
from datetime import datetime

import structlog
from pydantic import BaseModel

from domain.review.findings import Finding
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from memory.repositories import automation_level
from memory.runs import outbox, runs
from messages import automation as automation_texts
from pipeline.automation.preconditions import Preconditions, load_preconditions
from pipeline.automation.writes import AutomaticWrites, NotDone
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from safety.autofix import apply_fixes, select_fixable
from safety.automatic_actions import Action, ActionDecision, allows
from workspace.commits import CannotCommit
from workspace.mirror import Mirror

log = structlog.get_logger(__name__)


class Correction(BaseModel):
    """A commit that was made in the mirror and is to be pushed.

    :param branch: of the pull request.
    """

    commit: str
    branch: str
    level: int
    rule: str
    text: str
    findings: tuple[str, ...]


async def prepare(services: Services, scene: Preconditions, level: int) -> Correction | None:
    """Make one commit on top of the reviewed head that corrects what is simple; None if there is or may be none.

    A head that Forge itself made is never corrected, so its pushes cannot follow one another.

    :raises CodeHostError: if GitHub does not say what has to be known; then nothing is pushed.
    """
    found = select_fixable(scene.review.findings)
    allowed = allows(level, Action.auto_fix, replace(scene.facts, is_simple=bool(found)))
    if not found or not allowed.allowed or not await _is_fixable(services, scene):
        return None
    try:
        mirror = await fetch_mirror(services, scene.run)
        return (
            None if await _is_own(services, scene, mirror) else await _commit(services, scene, allowed, mirror, found)
        )
    except CannotCommit as error:
        log.warning("auto_fix.not_made", run=scene.run.id, error=str(error))
        return None


async def push(services: Services, run: Run, made: Correction) -> bool:
    """Push the commit, once, and record that; whether it is on the branch. May be repeated after a crash.

    :raises Superseded: if another run took over before it was pushed.
    """
    if not await outbox.is_claimed(services.database, run.id, "auto_fix", "push"):
        scene = await load_preconditions(services, run)
        if isinstance(scene, str) or scene.live.head_ref != made.branch:
            return False
    try:
        await AutomaticWrites(services, run).push(await fetch_mirror(services, run), made.commit, made.branch)
    except NotDone as error:
        log.warning("auto_fix.not_pushed", run=run.id, error=str(error))
        return False
    told = made.model_dump(mode="json", exclude={"branch"})
    await automation_level.record_action(services.database, run, Action.auto_fix.value, services.clock.now(), told)
    return True


async def _is_fixable(services: Services, scene: Preconditions) -> bool:
    """Whether the branch was made by a person for this change: not the default one, and nothing is required of it."""
    live = scene.live
    if live.author_is_bot or live.default_branch in {"", live.head_ref} or live.head_ref == live.base_ref:
        return False
    required = await services.host.required_checks(scene.run.repository, live.head_ref)
    return required is not None and not required


async def _is_own(services: Services, scene: Preconditions, mirror: Mirror) -> bool:
    """Whether the head is a commit of Forge's; a person's that only looks like one is left alone, too."""
    head = await mirror.describe(scene.run.head_sha)
    signature = await services.host.signature(scene.run.repository)
    return head.email == signature.email or f"{automation_texts.RUN_TRAILER}: " in head.message


async def _commit(
    services: Services, scene: Preconditions, allowed: ActionDecision, mirror: Mirror, found: list[Finding]
) -> Correction | None:
    run = scene.run
    contents = await mirror.read(run.head_sha, list(dict.fromkeys(finding.path for finding in found)))
    files, done = apply_fixes(contents, found)
    if not files:
        return None
    message = redact_outgoing(automation_texts.render_commit_message(done, allowed.reason.text, allowed.rule, run.id))
    signature = await services.host.signature(run.repository)
    return Correction(
        commit=await mirror.commit(run.head_sha, files, message, signature, await _choose_commit_date(services, scene)),
        branch=scene.live.head_ref,
        level=allowed.level,
        rule=allowed.rule,
        text=allowed.reason.text,
        findings=tuple(finding.id for finding in done),
    )


async def _choose_commit_date(services: Services, scene: Preconditions) -> datetime:
    """The time the commit gets: that of the run's beginning, which is the same whenever it is asked."""
    return await runs.get_started_at(services.database, scene.run.id) or services.clock.now()
