"""The functions that do the work of each durable workflow."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from dbos import DBOS
from dbos._error import DBOSUnexpectedStepError  # not exported

from domain.runs.run import Run, RunState, Trigger
from memory.runs import checkpoints, runs
from pipeline.automation.workflow import AutomationRun
from pipeline.context import Services
from pipeline.deliveries.dispatch import dispatch
from pipeline.deployment.production import ProblemRun, hold_deployment
from pipeline.deployment.workflow import DeploymentRun
from pipeline.durable import queues
from pipeline.durable.journal import WorkflowJournal
from pipeline.feedback.answers.workflow import answer_request
from pipeline.feedback.replies.workflow import ReplyWorkflow
from pipeline.issue.instruction.workflow import InstructionRun
from pipeline.issue.status_comment import is_end_shown
from pipeline.issue.test_command import HeadTest
from pipeline.issue.workflow import IssueRun
from pipeline.learning.consolidation import ConsolidationRun
from pipeline.learning.reflection import ReflectionRun
from pipeline.learning.reflection_input import reflect_if_ended
from pipeline.maintenance import notices
from pipeline.review.workflow import ReviewRun
from pipeline.runs.status import close_run, end_derailed, wake_next, wake_owner

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


Work = Callable[..., Coroutine[Any, Any, str]]
"""Does the work of a workflow, called with the services and what was queued with it; answers how it went."""


def _of_run(work: Work) -> Work:
    """Work that is about a run, which it gets in place of the run's id."""

    async def load_and_work(services: Services, run_id: str, *arguments: Any) -> str:
        run = await runs.get(services.database, run_id)
        return UNKNOWN if run is None else await work(services, run, *arguments)

    return load_and_work


async def _close(services: Services, run: Run) -> str:
    return await close_run(services, _own_id(), run)


async def _automate(services: Services, run: Run, count: int) -> str:
    if run.is_of_issue or run.trigger is Trigger.instruction:
        await queues.enqueue_resume(run, f"look {count}")
        return "looks again"
    return await AutomationRun(services, run, count, _own_id()).execute()


async def _test(services: Services, run: Run, occasion: str) -> str:
    return await HeadTest(services, run, occasion, _own_id()).execute()


async def _read_reply(services: Services, run: Run, guid: str, reply: str) -> str:
    return await ReplyWorkflow(services, run, reply, guid, _own_id()).execute()


async def _answer(services: Services, run: Run, guid: str, request: str) -> str:
    return await answer_request(services, run, request, guid, _own_id())


async def _reflect(services: Services, run: Run, moment: str) -> str:
    return await ReflectionRun(services, run, moment, _own_id()).execute()


async def _consolidate(services: Services, repository_id: int) -> str:
    return await ConsolidationRun(services, repository_id, _own_id()).execute()


async def _tell_of_problem(services: Services, problem_id: str) -> str:
    return await ProblemRun(services, problem_id, _own_id()).execute()


async def _hold(services: Services, problem_id: str, deployment_id: str) -> str:
    return await hold_deployment(services, problem_id, deployment_id, _own_id())


async def _tell(services: Services, target_id: str, event_id: str) -> str:
    return await notices.tell(services, target_id, event_id, _own_id())


def _own_id() -> str:
    return DBOS.workflow_id or ""


WORK: Mapping[queues.Workflow, Work] = {
    queues.DELIVERY: dispatch,
    queues.RUN: work_on_run,
    queues.DEPLOY: work_on_run,
    queues.INSTRUCT: work_on_run,
    queues.CLOSE_RUN: _of_run(_close),
    queues.TEST: _of_run(_test),
    queues.READ_REPLY: _of_run(_read_reply),
    queues.ANSWER: _of_run(_answer),
    queues.AUTOMATE: _of_run(_automate),
    queues.REFLECT: _of_run(_reflect),
    queues.CONSOLIDATE: _consolidate,
    queues.FEEDBACK: _tell_of_problem,
    queues.HOLD: _hold,
    queues.NOTICE: _tell,
}
