"""Works on a run: the review of a pull request, the work on an issue, an instruction, or a deployment."""

from dbos import DBOS
from dbos._error import DBOSUnexpectedStepError  # not exported

from domain.runs.run import Run, RunState, Trigger
from memory.runs import checkpoints, runs
from pipeline.context import Services
from pipeline.deployment.workflow import DeploymentRun
from pipeline.durable.journal import WorkflowJournal
from pipeline.issue.instruction.workflow import InstructionRun
from pipeline.issue.status_comment import is_end_shown
from pipeline.issue.workflow import IssueRun
from pipeline.learning.reflection_input import reflect_if_ended
from pipeline.review.workflow import ReviewRun
from pipeline.runs.status import end_derailed, wake_next, wake_owner

UNKNOWN = "unknown run"


async def work_on_run(services: Services, run_id: str, asks_again: bool = False) -> str:
    """Bring a run to its end or to its next wait, as a workflow; how that went.

    :param asks_again: a completed run may have something left to ask people.
    """
    run, workflow_id = await runs.get(services.database, run_id), DBOS.workflow_id or run_id
    if run is None:
        return UNKNOWN
    journal = WorkflowJournal(services, workflow_id)
    services.toolbox.pool.wake()
    try:
        if await journal.step("is it over", _is_over, services, run, asks_again):
            return "over"
        if run.trigger is Trigger.deployment:
            return await DeploymentRun(services, run, workflow_id).execute()
        if run.trigger is Trigger.instruction:
            ended = await InstructionRun(services, run, workflow_id).execute()
            await wake_next(services, journal, run, workflow_id)
            return await reflect_if_ended(services, run, ended)
        if run.is_of_issue:
            ended = await IssueRun(services, run, workflow_id).execute()
        else:
            ended = await ReviewRun(services, run, workflow_id).execute()
            await wake_owner(services, journal, run.repository, run.number, workflow_id)
        return await reflect_if_ended(services, run, ended)
    except DBOSUnexpectedStepError as error:
        return await end_derailed(services, run, error)


async def _is_over(services: Services, run: Run, asks_again: bool) -> bool:
    """Whether nothing is left to do for a run. Journaled: the execution that ends a run has more to do, also after a
    crash.
    """
    if run.state is RunState.failed:
        return True
    if run.state is RunState.completed:
        has_verdict = run.is_of_issue or await checkpoints.load_review(services.database, run) is not None
        if not (asks_again and has_verdict):
            return True
    return await is_end_shown(services, run)
