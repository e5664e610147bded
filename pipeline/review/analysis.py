"""Analyses one head with layers 1 and 2, and builds its review from all layers; all may be repeated after a crash."""

import asyncio
from collections.abc import Collection, Sequence
from functools import partial

from agents.review import reviewer
from agents.review.checks.credentials import add_transient_commits
from agents.review.layers import CheckedChange, ModelPart, apply_path_filters
from domain.review.findings import Finding
from domain.review.identity import follow
from domain.review.review import Review
from domain.runs.run import Run
from memory import findings
from memory.learned import feedback
from memory.runs import checkpoints, runs
from pipeline.checkout import fetch_mirror, load_change
from pipeline.context import Services
from pipeline.review.base_branch import (
    add_base,
    build_avoidance_check,
    build_for_base,
    end_orphaned_scopes,
    leave_to_base,
    list_already,
)
from pipeline.run_context import run_while_current
from pipeline.verdicts.settings import RunSettings, is_own_pull_request
from pipeline.verdicts.suppression import apply_dismissals
from safety.eligibility import NEWCOMERS
from safety.risk import PullRequestAuthor
from safety.suppression import with_history


async def run_checks(services: Services, run: Run, settings: RunSettings) -> CheckedChange:
    """Run layers 1 and 2 on the code, until the run loses its place.

    :raises Superseded: if it does.
    """
    return await run_while_current(services, run, _run_checks(services, run, settings))


async def _run_checks(services: Services, run: Run, settings: RunSettings) -> CheckedChange:
    configuration = settings.configuration
    author = PullRequestAuthor(
        from_fork=settings.pull_request.is_from_fork(run.repository.id),
        first_time=settings.pull_request.author_association in NEWCOMERS and not settings.is_own,
    )
    owned = await is_own_pull_request(services, run, settings.pull_request)
    mirror = await fetch_mirror(services, run)
    change = await load_change(mirror, run)
    if settings.pull_request.base_ref == settings.pull_request.default_branch:
        await end_orphaned_scopes(services, run, mirror)
    checked = await reviewer.check(
        apply_path_filters(change, configuration),
        mirror,
        services.toolbox,
        configuration,
        author,
        partial(services.host.dependency_changes, run.repository, change.merge_base, run.head_sha),
        owned=owned,
        avoided=await build_avoidance_check(services, run, configuration, owned=owned),
    )
    checked = await add_transient_commits(checked, mirror, services.toolbox, configuration, author)
    earlier = await findings.load_all(services.database, run.repository.id, run.number)
    renamed = {each.path: each.old_path for each in change.touched if each.old_path is not None}
    settled = await _find_settled(services, run, earlier)
    followed = await asyncio.to_thread(follow, checked.findings, earlier, renamed, settled)
    checked = leave_to_base(checked.model_copy(update={"findings": followed}), await list_already(mirror, run, change))
    return await add_base(checked, mirror, run, settings, change)


async def _find_settled(services: Services, run: Run, earlier: Sequence[Finding]) -> Collection[str]:
    """The fingerprints of the findings about which people said something."""
    database, known = services.database, [each.fingerprint for each in earlier]
    dismissed = await feedback.find_dismissed(database, run.repository, run.number, known)
    return {*dismissed, *await feedback.load_standing(database, run.repository.id, run.number, earlier)}


async def has_leaked(services: Services, run: Run) -> bool:
    """Whether an earlier head had a credential for which nobody answered: no filter of paths covers that."""
    database = services.database
    earlier = {each.fingerprint for each in await findings.load_credentials(database, run.repository.id, run.number)}
    return bool(earlier - set(await feedback.find_dismissed(database, run.repository, run.number, earlier)))


async def build_review(services: Services, run: Run, checked: CheckedChange, model: ModelPart) -> Review:
    """Build the review from all layers, without dismissed findings, and keep it as the phase's checkpoint."""
    earlier = await findings.load_credentials(services.database, run.repository.id, run.number)
    review = with_history(await build_for_base(services, run, checked, model), (*checked.in_passing, *earlier))
    remaining = await apply_dismissals(services, run, review)
    began, now = await runs.get_started_at(services.database, run.id), services.clock.now()
    seconds = 0.0 if began is None else (now - began).total_seconds()
    found = {"seconds": seconds, "called_gone": model.gone, "passing": model.passing}
    return await checkpoints.save_review(services.database, run, remaining.model_copy(update=found), now)
