"""Queues interrupted workflows again, which DBOS does at its start only; the one place that reaches into DBOS."""

from collections.abc import Sequence

from dbos import DBOS
from dbos._dbos import _get_dbos_instance  # pyright: ignore[reportPrivateUsage]

from pipeline.durable.queues import APP_VERSION, RUNS, Workflow


def requeue_work(executor_id: str) -> None:
    """Queue again what another executor left behind."""
    DBOS._recover_pending_workflows([executor_id])  # pyright: ignore[reportPrivateUsage]


def has_work(executor_id: str) -> bool:
    """Whether an executor began workflows that are not over."""
    return bool(_list_begun(executor_id))


def was_work_taken(executor_id: str) -> bool:
    """Whether something that runs in this process, which is this executor, is by the journal no longer its work."""
    return not frozenset(list_active()).issubset(_list_begun(executor_id))


def list_idle(executor_id: str) -> frozenset[str]:
    """Workflows the executor began which do not run in this process."""
    return frozenset(_list_begun(executor_id)).difference(list_active())


def _list_begun(executor_id: str) -> Sequence[str]:
    began = _get_dbos_instance()._sys_db.get_pending_workflows(  # pyright: ignore[reportPrivateUsage]
        executor_id, APP_VERSION
    )
    return [workflow.workflow_id for workflow in began]


def count_in_flight(workflow: Workflow, most: int) -> int:
    """How many executions of a workflow are queued or under way, in whatever process; counted up to ``most``."""
    found = _get_dbos_instance()._sys_db.list_workflows(  # pyright: ignore[reportPrivateUsage]
        name=workflow.name,
        queue_name=workflow.queue,
        status=["ENQUEUED", "PENDING"],
        limit=most,
        load_input=False,
        load_output=False,
    )
    return len(found)


def has_queued() -> bool:
    """Whether work waits in any queue."""
    found = _get_dbos_instance()._sys_db.list_workflows(  # pyright: ignore[reportPrivateUsage]
        status=["ENQUEUED"], limit=1, load_input=False, load_output=False
    )
    return bool(found)


def list_active() -> Sequence[str]:
    """Workflows that run in this process."""
    return _get_dbos_instance()._active_workflows_set.activeList()  # pyright: ignore[reportPrivateUsage]


def requeue(executor_id: str, workflow_id: str) -> None:
    """Queue one workflow of an executor again."""
    dbos = _get_dbos_instance()
    dbos._sys_db.reenqueue_for_recovery(workflow_id, [executor_id], RUNS)  # pyright: ignore[reportPrivateUsage]
