"""Takes the work of an agent back to a checkpoint, for a person at GitHub."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain.ports import Clock
from domain.runs.run import Run
from domain.runs.work_checkpoint import (
    BrokenCheckpoint,
    RollbackFacts,
    RollbackPlan,
    RollbackProblem,
    RollbackRefusal,
    WorkCheckpoint,
    decide_rollback,
    load_states,
)
from memory import gates
from memory.db.engine import Database
from memory.runs import outbox, runs, work_checkpoints
from memory.runs.work_checkpoints import ChainMoved
from messages.checkpoints import CompletedRollback

_TRIES = 5  # where a working agent adds checkpoints meanwhile
_SHORTEST = 6  # characters of the end of an id


@dataclass(frozen=True)
class RollbackPlace:
    """Where a roll-back was asked for.

    :param number: of the issue or pull request.
    """

    repository_id: int
    number: int


@dataclass(frozen=True)
class RollbackRequest:
    """What somebody asks for.

    :param asked: the short or whole id of a checkpoint.
    :param paths: the only files that are taken back; all if there are none.
    :param name: of this request, so that it is carried out once.
    """

    asked: str
    paths: Sequence[str]
    by: str
    name: str


async def find_checkpoint(database: Database, asked: str, place: RollbackPlace) -> WorkCheckpoint | RollbackRefusal:
    """The checkpoint with this id in the repository of the place, or why it is none."""
    is_long_enough = len(asked.removeprefix("C-")) >= _SHORTEST
    found = await work_checkpoints.find_by_short_id(database, asked, place.repository_id) if is_long_enough else ()
    if len(found) != 1:
        problem = RollbackProblem.ambiguous if found else RollbackProblem.unknown
        return RollbackRefusal(problem, asked, tuple(found))
    return found[0]


async def take_back(
    database: Database, clock: Clock, request: RollbackRequest, place: RollbackPlace
) -> CompletedRollback | RollbackRefusal:
    """Take the work back, or say why not; a repeated request finds what it did."""
    target = await find_checkpoint(database, request.asked, place)
    if isinstance(target, RollbackRefusal):
        return target
    run = await runs.get(database, target.key.run_id)
    if run is None:
        return RollbackRefusal(RollbackProblem.unknown, request.asked)
    if not await _is_of_place(database, run, place):
        return RollbackRefusal(RollbackProblem.elsewhere, request.asked, (target,), run)
    try:
        return await _restore(database, clock, request, target, run)
    except BrokenCheckpoint:
        return RollbackRefusal(RollbackProblem.broken, request.asked, (target,), run)


async def _restore(
    database: Database, clock: Clock, request: RollbackRequest, target: WorkCheckpoint, run: Run
) -> CompletedRollback | RollbackRefusal:
    for _ in range(_TRIES):
        of_run = await work_checkpoints.list_of_run(database, run.id)
        done = _find_done(request, target, of_run)
        if done is not None:
            before = next(each for each in of_run if each.key == done.key and each.number == done.number - 1)
            return await _describe(database, CompletedRollback(done, target, before, run))
        chain = await work_checkpoints.load_chain(database, target.key)
        states = await asyncio.to_thread(load_states, chain)
        is_newest = await _is_newest(database, run)
        plan = decide_rollback(RollbackFacts(request.asked, target, run, is_newest, of_run, states), request.paths)
        if isinstance(plan, RollbackRefusal):
            return plan
        try:
            made = await _add(database, clock, request, plan)
        except ChainMoved:
            continue
        return await _describe(database, CompletedRollback(made, target, plan.newest, run))
    return RollbackRefusal(RollbackProblem.moved, request.asked, (target,), run)


async def _add(database: Database, clock: Clock, request: RollbackRequest, plan: RollbackPlan) -> WorkCheckpoint:
    return await work_checkpoints.roll_back(
        database,
        plan.newest,
        plan.target,
        plan.paths,
        request.by,
        clock.now(),
        request=request.name,
        files=plan.files,
        changed=plan.changed,
    )


def _find_done(
    request: RollbackRequest, target: WorkCheckpoint, of_run: Sequence[WorkCheckpoint]
) -> WorkCheckpoint | None:
    """What an execution of this request added before it died."""
    mine = (each for each in of_run if each.request == request.name)
    return next((each for each in mine if each.restores == target.id), None)


async def _describe(database: Database, done: CompletedRollback) -> CompletedRollback:
    known = await gates.list_for_run(database, done.run.id)
    return replace(done, waiting=[gate for gate in known if gate.is_waiting])


async def _is_newest(database: Database, run: Run) -> bool:
    """Whether no newer run works on the same issue."""
    newest = await runs.find_newest(database, run.repository.id, run.number)
    return newest is not None and newest.id == run.id


async def _is_of_place(database: Database, run: Run, place: RollbackPlace) -> bool:
    """Whether a run works on this issue, or opened this pull request."""
    if run.repository.id != place.repository_id:
        return False
    opened_by = await outbox.find_proposing_run(database, place.repository_id, place.number)
    return place.number == run.number or (opened_by is not None and opened_by.id == run.id)
