"""Does what follows when people decide a gate or judge a finding: resumes the run that waits, and weighs the level."""

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import TypeVar

from domain.gates import Gate
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState
from domain.verbs import Effect
from memory import gates
from memory.runs import checkpoints, runs
from pipeline.automation.level import try_update_level
from pipeline.context import DeliveryContext, Services
from pipeline.durable.queues import enqueue_resume
from pipeline.runs.status import find_owner, wake_owner
from pipeline.verdicts import update
from safety.gates import UNASKED

T = TypeVar("T")


async def follow_up(
    context: DeliveryContext,
    repository: RepositoryRef,
    number: int,
    effects: Collection[Effect],
    show: Callable[[], Awaitable[T]],
) -> T:
    """Resume the waiting run, show the decision, and evaluate the automation level; the answer of ``show``.

    :param effects: of all that was decided together, by comment, button, thread or reply.
    """
    is_judged = Effect.judges_findings in effects
    if is_judged or Effect.answers_gate in effects:
        await resume_judged_run(context, repository, number, is_judged=is_judged)
    shown = await show()
    if is_judged or Effect.counts_for_level in effects:
        await context.journal.step("weigh the level", try_update_level, context.services, repository, number)
    return shown


async def resume_judged_run(
    context: DeliveryContext, repository: RepositoryRef, number: int, *, is_judged: bool
) -> None:
    """Resume the run that waits for people, and the run that opened this pull request.

    :param is_judged: a finding was judged. A decided gate is found in any case.
    """
    services, journal, guid = context.services, context.journal, context.guid
    where = (services, guid, repository, number)
    # a verdict may have been posted since, without knowing of it
    if is_judged:
        tell = partial(update.update_verdict, anew=False)
        await journal.step("does the check know", tell, services, repository, number, f"{guid} judged")
    waiting = await journal.step("does a run wait", _find_waiting_run, *where, is_judged)
    if waiting is not None:
        run, cause = waiting
        await enqueue_resume(run, cause, is_judged=is_judged)
    cause = guid if is_judged else await journal.step("was its owner answered", _find_owner_gate, *where)
    if cause is not None:
        await wake_owner(services, journal, repository, number, cause)


async def _find_owner_gate(services: Services, guid: str, repository: RepositoryRef, number: int) -> str | None:
    """The gate that this delivery decided of the run that opened this pull request."""
    owner = await find_owner(services, repository, number)
    gate = None if owner is None else await _find_decided_gate(services, guid, owner)
    return None if gate is None else gate.id


async def _find_decided_gate(services: Services, guid: str, run: Run) -> Gate | None:
    asked = await gates.list_for_run(services.database, run.id)
    mine = [gate for gate in asked if gate.decision is not None and gate.decision.cause == guid]
    return mine[-1] if mine else None


async def _find_waiting_run(
    services: Services, guid: str, repository: RepositoryRef, number: int, is_judged: bool
) -> tuple[Run, str] | None:
    """The run that waits here and what resumes it: the gate this delivery decided, as the sweep would say it, or the
    delivery."""
    last = await runs.find_newest(services.database, repository.id, number)
    if last is None:
        return None
    if is_judged and await _has_more_to_ask(services, last):
        return last, guid
    is_about_to_wait = is_judged and not last.state.is_final  # it may have asked before
    if last.reason is not ReasonCode.gate and not is_about_to_wait:
        return None
    gate = await _find_decided_gate(services, guid, last)
    if gate is not None:
        await update.show_answer(services, last, gate)  # before whatever it releases
        return last, gate.id
    return (last, guid) if is_judged else None


async def _has_more_to_ask(services: Services, run: Run) -> bool:
    """Whether a run that completed has to ask a gate now, because a dismissal removed what blocked before it."""
    if run.state is not RunState.completed or not await runs.is_current(services.database, run):
        return False
    review = await checkpoints.load_review(services.database, run)
    return review is not None and any(reason.code == UNASKED for reason in review.reasons)
