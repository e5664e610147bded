"""Commits the fixes of formatting and simple lint to the pull request's branch, where the level allows it."""

from dataclasses import replace

import structlog

from domain.review.findings import Finding
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from domain.value import Value
from memory.repositories import automation_level
from memory.runs import outbox, runs
from messages import automation as automation_texts
from messages.pull_request import explain_refused_push
from pipeline.automation.preconditions import Preconditions, load_preconditions
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.publishing import pull_requests
from pipeline.publishing.pull_requests import find_signed
from pipeline.verdicts.update import update_verdict
from safety.allowed_actions import Action, ActionDecision, allows
from safety.autofix import apply_fixes, select_fixable
from workspace.commits import CannotCommit
from workspace.git import MEGABYTE
from workspace.mirror import Mirror
from workspace.patches.tree import load_tree

log = structlog.get_logger(__name__)


class Correction(Value):
    """A commit in the mirror that is not pushed yet.

    :param branch: of the pull request.
    """

    commit: str
    branch: str
    level: int
    rule: str
    text: str
    findings: tuple[str, ...]


async def prepare(services: Services, known: Preconditions, level: int) -> Correction | None:
    """Make one commit with the simple fixes on top of the reviewed head; None if there are none, or it is not allowed.

    A head that Forge pushed is never fixed, so one fix cannot follow another.

    :raises CodeHostError: GitHub does not answer; then nothing is pushed.
    """
    found = select_fixable(known.review.findings)
    allowed = allows(level, Action.auto_fix, replace(known.facts, is_simple=bool(found)))
    if not found or not allowed.allowed or not await _is_fixable(services, known):
        return None
    try:
        mirror = await fetch_mirror(services, known.run)
        return (
            None if await _is_own(services, known, mirror) else await _commit(services, known, allowed, mirror, found)
        )
    except CannotCommit as error:
        log.warning("auto_fix.not_made", run=known.run.id, error=str(error))
        return None


async def push(services: Services, run: Run, made: Correction) -> bool:
    """Push the commit once, and record that; whether it is on the branch. May be repeated.

    :raises Superseded: if another run took over before it was pushed.
    """
    if not await outbox.is_claimed(services.database, run.id, "auto_fix", "push"):
        known = await load_preconditions(services, run)
        if isinstance(known, str) or known.live.head_ref != made.branch:
            return False
    result = await _push_once(services, run, await fetch_mirror(services, run), made)
    if not result.is_pushed:
        why = explain_refused_push(result.said) if result.outcome == "refused" else "The branch moved meanwhile."
        log.warning("auto_fix.not_pushed", run=run.id, error=why)
        if result.outcome == "refused":
            await automation_level.record_refusal(services.database, run, why, services.clock.now())
            await update_verdict(services, run.repository, run.number, "auto_fix refused")
        return False
    pushed = made.model_copy(update={"commit": await find_signed(services, run.repository, made.commit)})
    told = pushed.model_dump(mode="json", exclude={"branch"})
    await automation_level.record_action(services.database, run, Action.auto_fix.value, services.clock.now(), told)
    return True


async def _push_once(services: Services, run: Run, mirror: Mirror, made: Correction) -> pull_requests.PushResult:
    async def is_pushed() -> bool:
        live = await services.host.pull_request(run.repository, run.number)
        await mirror.fetch(live.head_sha, run.base_sha, run.number)
        return await mirror.follows(live.head_sha, await find_signed(services, run.repository, made.commit))

    return await pull_requests.push_once(
        services,
        run,
        "auto_fix",
        mirror,
        made.commit,
        made.branch,
        run.head_sha,
        is_pushed=is_pushed,
        for_accounts=(),
    )


async def _is_fixable(services: Services, known: Preconditions) -> bool:
    """Whether a person made the branch for this change: it is not the default branch, and it requires no checks."""
    live = known.live
    if live.author_is_bot or live.default_branch in {"", live.head_ref} or live.head_ref == live.base_ref:
        return False
    required = await services.host.required_checks(known.run.repository, live.head_ref)
    return required is not None and not required


async def _is_own(services: Services, known: Preconditions, mirror: Mirror) -> bool:
    """Whether the head is a commit by Forge, or looks like one."""
    head = await mirror.describe(known.run.head_sha)
    signature = await services.host.signature(known.run.repository)
    return head.email == signature.email or f"{automation_texts.RUN_TRAILER}: " in head.message


async def _commit(
    services: Services, known: Preconditions, allowed: ActionDecision, mirror: Mirror, found: list[Finding]
) -> Correction | None:
    run = known.run
    contents = await mirror.read(run.head_sha, list(dict.fromkeys(finding.path for finding in found)))
    files, done = apply_fixes(contents, found)
    if not files:
        return None
    change = (await load_tree(mirror, run.head_sha, files, MEGABYTE)).replace(files)
    message = redact_outgoing(automation_texts.render_commit_message(done, allowed.reason.text, allowed.rule, run.id))
    signature = await services.host.signature(run.repository)
    made_at = (
        await runs.get_started_at(services.database, run.id) or services.clock.now()
    )  # in each repetition the same
    return Correction(
        commit=await mirror.commit_change(run.head_sha, change, message, signature, made_at),
        branch=known.live.head_ref,
        level=allowed.level,
        rule=allowed.rule,
        text=allowed.reason.text,
        findings=tuple(finding.id for finding in done),
    )
