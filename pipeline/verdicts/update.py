"""Updates the verdict of a finished review, and what the checks of runs that are over or wait say."""

from itertools import count

import structlog

from domain.errors import CodeHostError, Halted, Superseded
from domain.gates import Gate
from domain.review.review import Decision, Review
from domain.runs.run import RepositoryRef, Run, RunState
from memory import findings, gates
from memory.runs import checkpoints, runs
from messages import gates as gate_texts
from pipeline.context import Services
from pipeline.publishing import checks, reviews
from pipeline.verdicts.approval import withdraw_approvals
from pipeline.verdicts.gates import ReviewGates
from pipeline.verdicts.rendering import render_verdict
from pipeline.verdicts.settings import RunSettings, load_settings
from pipeline.verdicts.suppression import apply_dismissals

log = structlog.get_logger(__name__)


async def update_verdict(
    services: Services, repository: RepositoryRef, number: int, cause: str, *, anew: bool = True
) -> None:
    """Update the verdict of the newest run, and show it in its check. Does nothing while a run is not over.

    A run that waits for people updates its verdict when it is resumed: perhaps there is nothing left to ask. If a
    dismissal removes the block that kept Forge from asking people, this approves nothing, and the run is resumed.

    :param cause: the delivery behind it, so that a repeated step updates once.
    :param anew: also if the verdict stays as it is.
    """
    run, shown = await runs.find_newest(services.database, repository.id, number), None
    if run is None or run.state is not RunState.completed:
        return
    settings = await load_settings(services, run)
    for attempt in count():
        review = await checkpoints.load_review(services.database, run)
        if review is None:
            return
        now = await _apply_feedback(services, run, review, settings)
        if now == (shown or (None if anew else review)):
            return
        if not await checkpoints.replace_review(services.database, run, review, now, services.clock.now()):
            continue
        try:
            await ReviewGates(services, run, settings.configuration, settings.pull_request).show_taken_back(now)
            await _show_verdict(services, run, now, settings, cause if attempt == 0 else f"{cause}, {attempt}")
        except Superseded:
            return
        shown = now  # two people may judge at once, so look again until nothing changes


async def show_answer(services: Services, run: Run, gate: Gate) -> None:
    """Say in the check of a run that waits what was decided, before it has a place to go on; may be repeated.

    If the run went on meanwhile, and said more, its own word is shown again: this one may have come after it.
    """
    if run.is_of_issue or not run.trigger.is_of_review or await _has_gone_on(services, run):
        return
    try:
        await checks.show_answer(services, run, gate.id, gate_texts.render_answer(gate))
        if await _has_gone_on(services, run):
            review = await checkpoints.load_review(services.database, run)
            if review is not None:
                settings = await load_settings(services, run)
                await _show_verdict(services, run, review, settings, f"{gate.id}, overtaken")
    except (CodeHostError, Halted, Superseded) as error:
        log.info("answer.shown_later", gate=gate.id, error=str(error))


async def _has_gone_on(services: Services, run: Run) -> bool:
    """Whether a run is over, or waits for more."""
    now = await runs.get(services.database, run.id)
    asked = await gates.list_for_run(services.database, run.id)
    return now is None or now.state.is_final or any(gate.is_waiting for gate in asked)


async def _apply_feedback(services: Services, run: Run, review: Review, settings: RunSettings) -> Review:
    review = await apply_dismissals(services, run, review, settings.configuration)
    return await ReviewGates(services, run, settings.configuration, settings.pull_request).expect_verdict(review)


async def _show_verdict(services: Services, run: Run, now: Review, settings: RunSettings, cause: str) -> None:
    """:raises Superseded: if another run owns the pull request."""
    posted = await findings.load_posted(services.database, run.repository.id, run.number)
    inline = [finding for finding in now.findings if finding.fingerprint in posted]
    if now.decision is not Decision.approve:
        await withdraw_approvals(services, run, all_of_them=True)
    text = await render_verdict(services, run, now, settings, inline)
    await checks.conclude_again(services, run, cause, now.conclusion, text)
    await reviews.retell_verdict(services, run, now)
