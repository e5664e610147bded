"""The durable workflows: what each is called in the database, and what does its work."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
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
from pipeline.durable.names import (
    ACTING,
    CONSOLIDATE,
    DELIVERIES,
    DELIVERY,
    HEAR,
    HEARINGS,
    LAST_WORD,
    REFLECT,
    RUN,
    RUNS,
    TEST,
    TESTS,
)
from pipeline.durable.queues import enqueue_resume
from pipeline.feedback.replies import ReplyHandler
from pipeline.issue.test_command import HeadTest
from pipeline.issue.workflow import IssueRun, has_ended
from pipeline.learning.consolidation import ConsolidationRun
from pipeline.learning.reflection import ReflectionRun, reflect_if_ended
from pipeline.review.workflow import ReviewRun
from pipeline.runs.closing import close_run, end_derailed
from safety.reflection_triggers import Moment

_UNKNOWN = "unknown run"


@dataclass(frozen=True)
class Workflow:
    """One kind of durable work.

    :param name: in the database; it outlives any version of the code.
    :param run: does the work, and answers how it went; called with the services and what was queued with it.
    :param queue: where it is begun anew if its journal does not fit its code; None: nobody waits for it.
    """

    name: str
    run: Callable[..., Coroutine[Any, Any, str]]
    queue: str | None = None


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


WORKFLOWS = (
    Workflow(DELIVERY, _deliver, DELIVERIES),
    Workflow(RUN, _work, RUNS),
    Workflow(LAST_WORD, _close, DELIVERIES),
    Workflow(TEST, _test, TESTS),
    Workflow(HEAR, _read_reply, HEARINGS),
    Workflow(ACTING, _automate, DELIVERIES),
    Workflow(REFLECT, _reflect),
    Workflow(CONSOLIDATE, _consolidate),
)


def _own_id() -> str:
    return DBOS.workflow_id or ""


async def _is_over(services: Services, run: Run, *, asks_again: bool) -> bool:
    """Whether nothing is left to do for a run. The answer lasts: who ended it has more to do, also after a crash."""

    async def look() -> bool:
        is_ended = run.state is RunState.failed or (
            run.state is RunState.completed and not (asks_again and await _has_verdict_to_redraw(services, run))
        )
        return is_ended or await has_ended(services, run)

    return await WorkflowJournal(services, _own_id()).step("is it over", look)


async def _has_verdict_to_redraw(services: Services, run: Run) -> bool:
    """Whether there is a verdict to be drawn once more."""
    return run.is_of_issue or await checkpoints.load_review(services.database, run) is not None
