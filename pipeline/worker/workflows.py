"""The functions that do the work of each durable workflow."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from dbos import DBOS

from domain.commands import ReadReply
from domain.runs.run import Run, Trigger
from memory.runs import runs
from pipeline.automation.workflow import AutomationRun
from pipeline.context import Services
from pipeline.deliveries.dispatch import dispatch
from pipeline.deployment.production import ProblemRun, hold_deployment
from pipeline.durable import queues
from pipeline.durable.queues import (
    Workflow,
    enqueue_resume,
)
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.feedback.answers.workflow import answer_request
from pipeline.feedback.replies.workflow import ReplyWorkflow
from pipeline.issue.test_command import HeadTest
from pipeline.learning.consolidation import ConsolidationRun
from pipeline.learning.reflection import ReflectionRun
from pipeline.runs.status import close_run
from pipeline.worker.run_work import UNKNOWN, work_on_run
from safety.learning_screening import Moment

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
        await enqueue_resume(run, f"look {count}")
        return "looks again"
    return await AutomationRun(services, run, count, _own_id()).execute()


async def _test(services: Services, run: Run, occasion: str) -> str:
    return await HeadTest(services, run, occasion, _own_id()).execute()


async def _read_reply(services: Services, run: Run, guid: str, reply: str) -> str:
    return await ReplyWorkflow(services, run, ReadReply.model_validate_json(reply), guid, _own_id()).execute()


async def _answer(services: Services, run: Run, guid: str, request: str) -> str:
    return await answer_request(services, run, AnswerRequest.model_validate_json(request), guid, _own_id())


async def _reflect(services: Services, run: Run, moment: str) -> str:
    return await ReflectionRun(services, run, Moment(moment), _own_id()).execute()


async def _consolidate(services: Services, repository_id: int) -> str:
    return await ConsolidationRun(services, repository_id, _own_id()).execute()


async def _tell_of_problem(services: Services, problem_id: str) -> str:
    return await ProblemRun(services, problem_id, _own_id()).execute()


async def _hold(services: Services, problem_id: str, deployment_id: str) -> str:
    return await hold_deployment(services, problem_id, deployment_id, _own_id())


def _own_id() -> str:
    return DBOS.workflow_id or ""


WORK: Mapping[Workflow, Work] = {
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
}
