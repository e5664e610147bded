"""The functions that do the work of each durable workflow."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from dbos import DBOS
from dbos._error import DBOSUnexpectedStepError  # not exported

from domain.commands import ReadReply
from domain.runs.run import Run, RunState
from memory.runs import checkpoints, runs
from pipeline.automation.workflow import AutomationRun
from pipeline.context import Services
from pipeline.deliveries.dispatch import dispatch
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_resume
from pipeline.durable.workflows import (
    AUTOMATE,
    CLOSE_RUN,
    CONSOLIDATE,
    DELIVERY,
    READ_REPLY,
    REFLECT,
    RUN,
    TEST,
    Workflow,
)
from pipeline.feedback.replies import ReplyHandler
from pipeline.issue.status_comment import is_end_shown
from pipeline.issue.test_command import HeadTest
from pipeline.issue.workflow import IssueRun
from pipeline.learning.consolidation import ConsolidationRun
from pipeline.learning.reflection import ReflectionRun
from pipeline.learning.reflection_queue import reflect_if_ended
from pipeline.review.workflow import ReviewRun
from pipeline.runs.closing import close_run, end_derailed
from safety.reflection_triggers import Moment

_UNKNOWN = "unknown run"


Work = Callable[..., Coroutine[Any, Any, str]]
"""Does the work of a workflow, called with the services and what was queued with it; answers how it went."""


async def _deliver(services: Services, guid: str, repeats: str | None = None) -> str:
    return await dispatch(services, guid, repeats or guid, DBOS.workflow_id or guid)


async def _work(services: Services, run_id: str, asks_again: bool = False) -> str:
    run = await runs.get(services.database, run_id)
    if run is None:
        return _UNKNOWN
    kind = IssueRun if run.is_of_issue else ReviewRun
    try:
        if await _is_over(services, run, asks_again=asks_again):
            return "over"
        return await reflect_if_ended(services, run, await kind(services, run, _own_id()).execute())
    except DBOSUnexpectedStepError as error:
        return await end_derailed(services, run, error)


async def _close(services: Services, run_id: str) -> str:
    run = await runs.get(services.database, run_id)
    return _UNKNOWN if run is None else await close_run(services, _own_id(), run)


async def _automate(services: Services, run_id: str, count: int) -> str:
    run = await runs.get(services.database, run_id)
    if run is None:
        return _UNKNOWN
    if run.is_of_issue:
        await enqueue_resume(run, f"look {count}")
        return "looks again"
    return await AutomationRun(services, run, count, _own_id()).execute()


async def _test(services: Services, run_id: str, occasion: str) -> str:
    run = await runs.get(services.database, run_id)
    return _UNKNOWN if run is None else await HeadTest(services, run, occasion, _own_id()).execute()


async def _read_reply(services: Services, run_id: str, guid: str, reply: str) -> str:
    run = await runs.get(services.database, run_id)
    if run is None:
        return _UNKNOWN
    return await ReplyHandler(services, run, ReadReply.model_validate_json(reply), guid, _own_id()).execute()


async def _reflect(services: Services, run_id: str, moment: str) -> str:
    run = await runs.get(services.database, run_id)
    return _UNKNOWN if run is None else await ReflectionRun(services, run, Moment(moment), _own_id()).execute()


async def _consolidate(services: Services, repository_id: int) -> str:
    return await ConsolidationRun(services, repository_id, _own_id()).execute()


WORK: Mapping[Workflow, Work] = {
    DELIVERY: _deliver,
    RUN: _work,
    CLOSE_RUN: _close,
    TEST: _test,
    READ_REPLY: _read_reply,
    AUTOMATE: _automate,
    REFLECT: _reflect,
    CONSOLIDATE: _consolidate,
}


def _own_id() -> str:
    return DBOS.workflow_id or ""


async def _is_over(services: Services, run: Run, *, asks_again: bool) -> bool:
    """Whether nothing is left to do for a run. The answer lasts: who ended it has more to do, also after a crash."""

    async def look() -> bool:
        is_ended = run.state is RunState.failed or (
            run.state is RunState.completed and not (asks_again and await _has_verdict_to_redraw(services, run))
        )
        return is_ended or await is_end_shown(services, run)

    return await WorkflowJournal(services, _own_id()).step("is it over", look)


async def _has_verdict_to_redraw(services: Services, run: Run) -> bool:
    """Whether there is a verdict to be drawn once more."""
    return run.is_of_issue or await checkpoints.load_review(services.database, run) is not None
