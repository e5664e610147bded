"""Restarts a workflow whose journal does not fit its code any more."""

import asyncio
from contextvars import Context

import structlog
from dbos import DBOS

from pipeline.durable.bell import BELL
from pipeline.durable.workflows import Workflow

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
