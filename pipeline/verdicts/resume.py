"""Lets the run on a pull request go on once people judged what it asked or found."""

from functools import partial
from typing import Any, cast

from pydantic import JsonValue

from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState
from memory.gates import gates
from memory.runs import checkpoints, runs
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_resume
from pipeline.runs.owner import find_owner, wake_owner
from pipeline.verdicts import update
from safety.gates import UNASKED


async def resume_judged_run(
    services: Services, journal: WorkflowJournal, guid: str, repository: RepositoryRef, number: int, *, is_judged: bool
) -> None:
    """Let a run that waits for people look whether it still has to.

    :param is_judged: a finding was judged; an answered gate is found in any case.
    """

    async def check() -> JsonValue:
        await update.update_verdict(services, repository, number, f"{guid} judged", anew=False)
        return None

    # a verdict that was on its way may have come since the judgement, and does not know of it
    if is_judged and await journal.has_patch("a check hears of what is judged"):
        await journal.step("does the check know", check)

    where = (repository, number)

    async def find_waiting() -> JsonValue:
        return await _find_waiting_run(services, guid, repository, number, is_judged)

    waiting = await journal.step("does a run wait", find_waiting)
    if waiting is not None:
        run, cause = cast(list[Any], waiting)
        await enqueue_resume(Run.model_validate(run), str(cause), is_judged=is_judged)
    cause: JsonValue = guid if is_judged else None
    if not is_judged and await journal.has_patch("gates are answered on the pull request, too"):
        cause = await journal.step("was its owner answered", partial(_find_owner_gate, services, guid, where))
    if cause is not None:
        await wake_owner(services, journal, repository, number, str(cause))


async def _find_owner_gate(services: Services, guid: str, where: tuple[RepositoryRef, int]) -> JsonValue:
    """The gate of the run that proposed this pull request which this delivery answered here."""
    owner = await find_owner(services, *where)
    if owner is None:
        return None
    asked = await gates.list_for_run(services.database, owner.id)
    mine = [gate.id for gate in asked if gate.decision is not None and gate.decision.cause == guid]
    return mine[-1] if mine else None


async def _find_waiting_run(
    services: Services, guid: str, repository: RepositoryRef, number: int, is_judged: bool
) -> JsonValue:
    """The run that waits here, and what makes it go on: the gate this delivery answered, as the sweep calls it."""
    past = await runs.list_for_pull_request(services.database, repository.id, number)
    last = past[0].run if past else None
    if last is not None and is_judged and await _has_more_to_ask(services, last):
        return [last.model_dump(mode="json"), guid]
    about_to_wait = is_judged and last is not None and not last.state.is_final  # it may have asked before that
    if last is None or (last.reason is not ReasonCode.gate and not about_to_wait):
        return None
    asked = await gates.list_for_run(services.database, last.id)
    mine = [gate.id for gate in asked if gate.decision is not None and gate.decision.cause == guid]
    if not mine and not is_judged:
        return None
    return [last.model_dump(mode="json"), mine[-1] if mine else guid]


async def _has_more_to_ask(services: Services, run: Run) -> bool:
    """Whether a dismissal took away what blocked, so that a run that was over has to ask what it had not asked."""
    if run.state is not RunState.completed or not await runs.is_current(services.database, run):
        return False
    review = await checkpoints.load_review(services.database, run)
    return review is not None and any(reason.code == UNASKED for reason in review.reasons)
