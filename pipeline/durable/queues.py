"""Queues workflows, tells whoever works that there is work, and begins anew what does not fit its code."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context
from functools import partial

import structlog
from dbos import DBOS

from domain.runs.run import Run, RunState, Trigger
from pipeline.durable.steps import call_dbos
from pipeline.durable.workflows import DEPLOY, INSTRUCT, QUEUES, RUN, Workflow

Listener = Callable[[str], None]
"""Hears of a queue where work was put, or ended and left its place to other work."""


class Bell:
    """Rung on the event loop of this process, after the commit; losing a ring costs seconds, never work."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def ring(self, queue: str) -> None:
        """Say that there may be something to take from a queue."""
        for each in tuple(self._listeners):
            each(queue)

    @contextmanager
    def listen(self, listener: Listener) -> Generator[None]:
        """Have a listener called until the end."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)


BELL = Bell()
"""The bell of this process, which has one engine at most: DBOS keeps its state in globals, too."""


def ring_all() -> None:
    """Say that there may be something to take from any queue."""
    for queue in QUEUES:
        BELL.ring(queue)


_WORKFLOWS = {Trigger.deployment: DEPLOY, Trigger.instruction: INSTRUCT}


async def enqueue(workflow: Workflow, *arguments: object, **key: str | int) -> None:
    """Queue a workflow, from within another one or from outside.

    :param arguments: what the workflow is called with; stored as JSON.
    :param key: names this execution, see :meth:`Workflow.build_options`.
    """
    options = workflow.build_options(**key)
    await call_dbos(partial(DBOS.enqueue_workflow_with_options_async, options, *arguments))
    BELL.ring(workflow.queue)


async def enqueue_run(run: Run) -> None:
    """Queue the start of a run; :mod:`pipeline.worker.run_work` does the work."""
    await enqueue(_choose_workflow(run), run.id, run=run.id, repository=run.repository.id, number=run.number)


async def enqueue_instruction(run_id: str, repository_id: int, number: int) -> None:
    """Queue the start of an instruction's run, behind those on the same pull request."""
    await enqueue(INSTRUCT, run_id, run=run_id, repository=repository_id, number=number)


async def enqueue_resume(run: Run, cause: str, *, is_judged: bool = False) -> None:
    """Queue a run that waits for people, or that has something left to ask them.

    :param cause: the gate or delivery that resumes it; the same cause does so once.
    :param is_judged: a person judged a finding: the run concludes again even if it completed meanwhile.
    """
    asks_again, workflow = is_judged or run.state is RunState.completed, _choose_workflow(run)
    key = {"run": run.id, "occasion": cause, "repository": run.repository.id, "number": run.number}
    await enqueue(workflow, run.id, asks_again, **key)


def _choose_workflow(run: Run) -> Workflow:
    return _WORKFLOWS.get(run.trigger, RUN)


_RESTARTED = "/anew"  # ends the ids of restarted workflows; stored
_MAX_RESTARTS = 3  # then the fault is in the code

log = structlog.get_logger(__name__)


async def restart_workflow(error: Exception, workflow_id: str, workflow: Workflow, *arguments: object) -> str:
    """Queue the work of a workflow again under another id, because its own journal takes no more steps.

    This happens after an update that changed its steps. Every step may be repeated, so nothing is done twice. May be
    repeated.

    :param error: of DBOS, which says so.
    :param arguments: of the workflow; the first one is the new partition.
    :raises Exception: ``error``, if it was restarted too often.
    """
    log.error("workflow.derailed", workflow=workflow_id, error=str(error))
    if workflow_id.count(_RESTARTED) >= _MAX_RESTARTS:
        raise error
    partition = None if workflow.partition is None else str(arguments[0])
    options = workflow.build_options_as(f"{workflow_id}{_RESTARTED}", partition)
    enqueued = DBOS.enqueue_workflow_with_options_async(options, *arguments)
    await asyncio.get_running_loop().create_task(enqueued, context=Context())  # outside the journal
    BELL.ring(workflow.queue)
    return "begun anew"


def is_restart(workflow_id: str) -> bool:
    """Whether a workflow is a restart of another one."""
    return workflow_id.endswith(_RESTARTED)
