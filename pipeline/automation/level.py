"""Updates the automation level of a repository after each outcome, and answers commands about it."""

import structlog

from domain.commands import EndPullRequest, Sender
from domain.config.configuration import Ladder as Bounds
from domain.errors import HostFailure, Superseded
from domain.gates import digest
from domain.github.pull_requests import PullRequest
from domain.review.findings import Severity
from domain.review.review import Decision, RiskLevel
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState
from memory.repositories import automation_level
from memory.runs import checkpoints, runs, waits
from messages import automation as automation_texts
from pipeline.config import loading
from pipeline.context import Services
from pipeline.gates.authorship import load_authorship
from pipeline.verdicts import update
from safety.allowed_actions import NAMES, Action, ActionFacts, allows
from safety.automation_level import cap_level, evaluate

log = structlog.get_logger(__name__)


async def update_level(services: Services, run: Run) -> int:
    """Update the level, show a change in the check of ``run``, and answer the effective level.

    May be repeated: the ledger knows which changes were not shown yet.

    :param run: the run that ended, or the newest one on a pull request where people decided something.
    :raises CodeHostError: the configuration cannot be read.
    """
    bounds = (await loading.load_configuration(services, run.repository)).ladder
    facts = await automation_level.load_facts(services.database, run.repository.id)
    verdict = evaluate(facts, bounds, services.clock.now())
    if verdict.is_changed:
        await automation_level.move_level(services.database, run.repository.id, facts, verdict, run.id)
    await _show_level_changes(services, run)
    return await load_level(services, run.repository.id, bounds)


async def load_level(services: Services, repository_id: int, bounds: Bounds) -> int:
    """The effective level of a repository."""
    return cap_level(await automation_level.get_level(services.database, repository_id), bounds)


async def find_opening_obstacle(services: Services, repository: RepositoryRef) -> str | None:
    """Why Forge may open no pull request here even if a person asks; None if it may.

    :raises CodeHostError: the configuration cannot be read.
    """
    bounds = (await loading.load_configuration(services, repository)).ladder
    level = await load_level(services, repository.id, bounds)
    if allows(level, Action.open_draft_pr, ActionFacts(asked=True)).allowed:
        return None
    return automation_texts.explain_level_0(bounds.max_level, bounds.pinned)


async def try_update_level(services: Services, repository: RepositoryRef, number: int) -> int | None:
    """Update the level after a decision of a person. If that fails, the next update makes up for it."""
    newest = await runs.find_newest(services.database, repository.id, number)
    if newest is None:
        return None
    try:
        return await update_level(services, newest)
    except HostFailure as error:
        log.warning("ladder.not_weighed", repository=repository.id, error=str(error))
        return None


async def describe_level(services: Services, repository: RepositoryRef) -> str:
    """The answer to ``/forge level``."""
    bounds = (await loading.load_configuration(services, repository)).ladder
    facts = await automation_level.load_facts(services.database, repository.id)
    verdict = evaluate(facts, bounds, services.clock.now())
    level = cap_level(facts.level, bounds)
    return automation_texts.render_level(
        level, NAMES[level], verdict.reason, bounds.max_level, bounds.pinned, facts.level
    )


async def set_level(services: Services, repository: RepositoryRef, wanted: int, sender: Sender, guid: str) -> str:
    """Set the level for ``/forge level N``; the answer. The caller has checked the role."""
    bounds = (await loading.load_configuration(services, repository)).ladder
    if bounds.pinned is not None:
        return automation_texts.refuse_pinned_level(bounds.pinned)
    if wanted > bounds.max_level:
        return automation_texts.refuse_level(wanted, bounds.max_level)
    now = services.clock.now()
    before = await automation_level.set_level(services.database, repository.id, wanted, sender.login, guid, now)
    return automation_texts.confirm_level(before, wanted, NAMES[wanted])


async def record_miss(
    services: Services, repository: RepositoryRef, number: int, sender: Sender, text: str, guid: str
) -> str:
    """Record ``/forge missed`` against the newest completed run here; the answer. The caller has checked the role."""
    past = await runs.list_for_pull_request(services.database, repository.id, number)
    run_id = next((each.run.id for each in past if each.run.state is RunState.completed), None)
    cause = f"{guid}/{digest(text)}"
    now = services.clock.now()
    is_new = await automation_level.record_missed_bug(
        services.database, repository, number, run_id, sender.login, text, cause, now
    )
    return automation_texts.confirm_missed_bug(number, run_id) if is_new else automation_texts.KNOWN_BUG


async def find_announced_merge(services: Services, repository: RepositoryRef, number: int) -> Run | None:
    """The newest run here, if the merge of its head is announced and still pending."""
    run = await runs.find_newest(services.database, repository.id, number)
    if run is None or await automation_level.find_announcement(services.database, run.id) is None:
        return None
    done = {str(each["act"]) for each in await automation_level.list_actions(services.database, run.id)}
    is_over = (
        Action.auto_merge.value in done
        or await automation_level.find_stop_reason(services.database, run.id) is not None
    )
    return None if is_over else run


async def stop_merge(services: Services, repository: RepositoryRef, number: int, why: str) -> bool:
    """Stop an announced merge for a person; whether there was one. May be repeated."""
    run = await find_announced_merge(services, repository, number)
    if run is None:
        return False
    await automation_level.record_stop(services.database, run, why, services.clock.now())
    await waits.run_checks_now(services.database, [run.id], services.clock.now())
    return True


async def stop_automation(services: Services, repository: RepositoryRef, why: str) -> None:
    """Stop all pending automatic actions in a repository. May be repeated."""
    for run in await waits.list_checked_runs(services.database, repository.id):
        await automation_level.record_stop(services.database, run, why, services.clock.now())
        await waits.run_checks_now(services.database, [run.id], services.clock.now())


async def learn_from_end(services: Services, command: EndPullRequest, live: PullRequest) -> int | None:
    """Count a merge as people's opinion on the verdict, and a revert as a missed bug.

    Merges by Apps are no opinion, least of all Forge's, but make the run of a merged pull request count.
    """
    if not live.is_merged:
        return None
    run = await _find_verdict_run(services, command.repository, command.number, None)
    if run is not None:
        await automation_level.record_merge(services.database, run, services.clock.now())
    if command.sender.is_app:
        return None
    await _learn_from_merge(services, command, live)
    if command.reverts is not None:
        await _learn_from_revert(services, command, command.reverts, live)
    return await try_update_level(services, command.repository, command.number)


async def _learn_from_merge(services: Services, command: EndPullRequest, live: PullRequest) -> None:
    run = await _find_verdict_run(services, command.repository, command.number, live.head_sha)
    review = None if run is None else await checkpoints.load_review(services.database, run)
    if run is None or review is None:
        return
    if review.decision in {Decision.approve, Decision.request_changes}:
        approved = review.decision is Decision.approve
        says_nothing = await _may_have_written(services, command, live)
        has_no_weight = approved and review.risk.level is RiskLevel.low  # as anybody can make many of them
        await automation_level.record_decision(
            services.database,
            run,
            approved,
            command.sender,
            services.clock.now(),
            own=says_nothing or has_no_weight,
        )


async def _may_have_written(services: Services, command: EndPullRequest, live: PullRequest) -> bool:
    """Whether those who merged a change may be among its authors, also because GitHub does not say who these are."""
    try:
        wrote = await load_authorship(services, command.repository, live, ())
    except HostFailure as error:
        log.warning("ladder.authors_unknown", repository=command.repository.id, number=live.number, error=str(error))
        return True
    return wrote.doubt is not None or wrote.includes(command.sender.id)


async def _learn_from_revert(services: Services, command: EndPullRequest, number: int, live: PullRequest) -> None:
    """Count a reverted pull request that Forge had approved without a critical finding."""
    run = await _find_verdict_run(services, command.repository, number, None)
    if run is None or not await _was_approved(services, run):
        return
    cause = f"revert of {command.repository.id}#{number}"
    text = automation_texts.describe_revert(live.title)
    now = services.clock.now()
    by = command.sender.login
    await automation_level.record_missed_bug(
        services.database, command.repository, number, run.id, by, text, cause, now
    )


async def _was_approved(services: Services, run: Run) -> bool:
    """Whether a run approved its head without a critical finding. Merges are kept longer than reviews."""
    review = await checkpoints.load_review(services.database, run)
    if review is None:
        return await automation_level.was_approved(services.database, run.id)
    findings = (*review.findings, *review.dismissed)
    is_clean = not any(finding.severity is Severity.critical for finding in findings)
    return is_clean and review.decision is Decision.approve


async def _find_verdict_run(
    services: Services, repository: RepositoryRef, number: int, head_sha: str | None
) -> Run | None:
    """The newest run of a pull request that completed with a verdict.

    :param head_sha: None for any head.
    """
    past = await runs.list_for_pull_request(services.database, repository.id, number)
    return next(
        (
            each.run
            for each in past
            if each.run.state is RunState.completed
            and each.run.reason is ReasonCode.none
            and head_sha in {None, each.run.head_sha}
        ),
        None,
    )


async def _show_level_changes(services: Services, run: Run) -> None:
    """Show changes of the level in the run's check, each once."""
    changes = await automation_level.list_changes(services.database, run.id)
    if not changes:
        return
    try:
        await update.update_verdict(services, run.repository, run.number, f"level {len(changes)}")
    except Superseded:
        return
