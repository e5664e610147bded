"""Begins a workflow anew whose journal does not fit what its code does now, so that nobody waits for it in vain."""

import asyncio
from contextvars import Context

import structlog
from dbos import DBOS, EnqueueOptions

from pipeline.durable.names import APP_VERSION, DELIVERIES

_RESTARTED = "/anew"  # ends the ids of such workflows
_MAX_RESTARTS = 3  # then it is the code that does not do the same twice

log = structlog.get_logger(__name__)


async def restart_workflow(error: Exception, workflow_id: str, name: str, queue: str, *arguments: object) -> str:
    """Queue the work of a workflow under another id, beside it: within it nothing can be journaled any more.

    That is so after an update that changed its steps, while it waited. What it did is done again, which every step
    has to bear anyhow. May be repeated.

    :param error: says so, of DBOS.
    :param arguments: of the workflow; the first tells what must be done in turn.
    :raises Exception: ``error``, if that happened too often.
    """
    log.error("workflow.derailed", workflow=workflow_id, error=str(error))
    if workflow_id.count(_RESTARTED) >= _MAX_RESTARTS:
        raise error
    options: EnqueueOptions = {
        "workflow_name": name,
        "queue_name": queue,
        "workflow_id": f"{workflow_id}{_RESTARTED}",
        "app_version": APP_VERSION,
    }
    if queue != DELIVERIES:
        options["queue_partition_key"] = str(arguments[0])
    enqueued = DBOS.enqueue_workflow_with_options_async(options, *arguments)
    await asyncio.get_running_loop().create_task(enqueued, context=Context())
    return "begun anew"


def is_restart(workflow_id: str) -> bool:
    """Whether a workflow does again what another one began."""
    return workflow_id.endswith(_RESTARTED)
