"""The functions that do the work of each durable workflow."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from dbos import DBOS

from domain.commands import ReadReply
from domain.runs.run import Trigger
from memory.runs import runs
from pipeline.automation.workflow import AutomationRun
from pipeline.context import Services
from pipeline.deliveries.dispatch import dispatch
from pipeline.deployment.production.workflow import ProblemRun, hold_deployment
from pipeline.durable.queues import enqueue_resume
from pipeline.durable.workflows import (
    ANSWER,
    AUTOMATE,
    CLOSE_RUN,
    CONSOLIDATE,
    DELIVERY,
    DEPLOY,
    FEEDBACK,
    HOLD,
    INSTRUCT,
    READ_REPLY,
    REFLECT,
    RUN,
    TEST,
    Workflow,
)
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.feedback.answers.workflow import answer_request
from pipeline.feedback.replies.workflow import ReplyWorkflow
from pipeline.issue.test_command import HeadTest
from pipeline.learning.consolidation import ConsolidationRun
from pipeline.learning.reflection import ReflectionRun
from pipeline.runs.closing import close_run
from pipeline.worker.run_work import UNKNOWN, work_on_run
from safety.learning_screening import Moment

Work = Callable[..., Coroutine[Any, Any, str]]
"""Does the work of a workflow, called with the services and what was queued with it; answers how it went."""


async def _close(services: Services, run_id: str) -> str:
    run = await runs.get(services.database, run_id)
    return UNKNOWN if run is None else await close_run(services, _own_id(), run)


async def _automate(services: Services, run_id: str, count: int) -> str:
    run = await runs.get(services.database, run_id)
    if run is None:
        return UNKNOWN
    if run.is_of_issue or run.trigger is Trigger.instruction:
        await enqueue_resume(run, f"look {count}")
        return "looks again"
    return await AutomationRun(services, run, count, _own_id()).execute()


async def _test(services: Services, run_id: str, occasion: str) -> str:
    run = await runs.get(services.database, run_id)
    return UNKNOWN if run is None else await HeadTest(services, run, occasion, _own_id()).execute()


async def _read_reply(services: Services, run_id: str, guid: str, reply: str) -> str:
    run = await runs.get(services.database, run_id)
    if run is None:
        return UNKNOWN
    return await ReplyWorkflow(services, run, ReadReply.model_validate_json(reply), guid, _own_id()).execute()


async def _answer(services: Services, run_id: str, guid: str, request: str) -> str:
    run = await runs.get(services.database, run_id)
    if run is None:
        return UNKNOWN
    return await answer_request(services, run, AnswerRequest.model_validate_json(request), guid, _own_id())


async def _reflect(services: Services, run_id: str, moment: str) -> str:
    run = await runs.get(services.database, run_id)
    return UNKNOWN if run is None else await ReflectionRun(services, run, Moment(moment), _own_id()).execute()


async def _consolidate(services: Services, repository_id: int) -> str:
    return await ConsolidationRun(services, repository_id, _own_id()).execute()


async def _tell_of_problem(services: Services, problem_id: str) -> str:
    return await ProblemRun(services, problem_id, _own_id()).execute()


async def _hold(services: Services, problem_id: str, deployment_id: str) -> str:
    return await hold_deployment(services, problem_id, deployment_id, _own_id())


WORK: Mapping[Workflow, Work] = {
    DELIVERY: dispatch,
    RUN: work_on_run,
    DEPLOY: work_on_run,
    INSTRUCT: work_on_run,
    CLOSE_RUN: _close,
    TEST: _test,
    READ_REPLY: _read_reply,
    ANSWER: _answer,
    AUTOMATE: _automate,
    REFLECT: _reflect,
    CONSOLIDATE: _consolidate,
    FEEDBACK: _tell_of_problem,
    HOLD: _hold,
}


def _own_id() -> str:
    return DBOS.workflow_id or ""
