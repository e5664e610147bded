"""Queues workflows. A repeated call changes nothing."""

from functools import partial

from dbos import DBOS

from domain.runs.run import Run, RunState, Trigger
from pipeline.durable.bell import BELL
from pipeline.durable.steps import call_dbos
from pipeline.durable.workflows import DEPLOY, INSTRUCT, RUN, Workflow

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
    """Queue the start of a run."""
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
