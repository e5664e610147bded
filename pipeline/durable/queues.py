"""Queues the work of a run: its beginning, and its going on after an answer. A repeated call changes nothing."""

from functools import partial

from dbos import DBOS, EnqueueOptions

from domain.runs.run import Run, RunState
from pipeline.durable.names import APP_VERSION, RUN, RUNS
from pipeline.steps import call_dbos


async def enqueue_run(run: Run) -> None:
    """Queue the beginning of a run, within a workflow."""
    await call_dbos(partial(DBOS.enqueue_workflow_with_options_async, _build_options(run, run.id), run.id))


async def enqueue_resume(run: Run, cause: str, *, is_judged: bool = False) -> None:
    """Queue a run that waits for people, or has something left to ask them: it finds what was answered.

    :param cause: the gate or delivery that makes it go on; the same cause does so once.
    :param is_judged: a finding was judged: the verdict may be on its way without that, so the run draws it once more
        even if it is over by then.
    """
    asks_again = is_judged or run.state is RunState.completed
    await call_dbos(
        partial(DBOS.enqueue_workflow_with_options_async, _build_options(run, f"{run.id}/{cause}"), run.id, asks_again)
    )


def _build_options(run: Run, workflow_id: str) -> EnqueueOptions:
    return {
        "workflow_name": RUN,
        "queue_name": RUNS,
        "workflow_id": workflow_id,
        "app_version": APP_VERSION,
        "queue_partition_key": f"{run.repository.id}#{run.number}",
    }
