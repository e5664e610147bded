"""The table of durable work: name, queue, id and partition, as the database stores them; and how it is queued.

No name, queue, id or partition ever changes.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass
from functools import partial

import structlog
from dbos import DBOS, EnqueueOptions

from domain.runs.run import Run, RunState, Trigger
from pipeline.durable.journal import call_dbos

APP_VERSION = "forge"  # one for ever: DBOS does not resume a workflow under another version
DELIVERIES = "deliveries"  # short work
RUNS = "runs"
DEPLOYMENTS = "deployments"  # its own: a command that deploys takes long
INSTRUCTIONS = "instructions"  # its own: an agent takes long, and a push is reviewed meanwhile
TESTS = "tests"  # its own: tests take long, and must not delay anything else
HEARINGS = "hearings"  # its own: a model takes its time, and must not delay anything else
LEARNING = "learning"
FEEDBACKS = "feedbacks"  # its own: it may wait for GitHub, and must not delay anything else
NOTICES = "notices"  # its own: who is told may not answer
QUEUES = (DELIVERIES, RUNS, DEPLOYMENTS, INSTRUCTIONS, TESTS, HEARINGS, LEARNING, FEEDBACKS, NOTICES)
_PULL_REQUEST = "{repository}#{number}"
_REPOSITORY = "{repository}"


@dataclass(frozen=True)
class Workflow:
    """One kind of durable work.

    :param id: names one execution; work that is queued twice under one id is done once.
    :param partition: works of one partition run one after the other; None: at the same time.
    :param again: ends the id where the same work is queued once more for another occasion.
    :param restarts: whether it is queued again under another id where its journal does not fit its code any more.
    """

    name: str
    queue: str
    id: str
    partition: str | None = None
    again: str = ""
    restarts: bool = True

    def build_options(self, **key: str | int) -> EnqueueOptions:
        """How DBOS queues it.

        :param key: what the templates of ``id``, ``partition`` and ``again`` name.
        """
        template = self.id + self.again if "occasion" in key else self.id
        partition = None if self.partition is None else self.partition.format(**key)
        return self.build_options_as(template.format(**key), partition)

    def build_options_as(self, workflow_id: str, partition: str | None) -> EnqueueOptions:
        """How DBOS queues it under an id of another form."""
        options: EnqueueOptions = {
            "workflow_name": self.name,
            "queue_name": self.queue,
            "workflow_id": workflow_id,
            "app_version": APP_VERSION,
        }
        if partition is not None:
            options["queue_partition_key"] = partition
        return options


DELIVERY = Workflow("delivery", DELIVERIES, "{guid}")
RUN = Workflow("review_run", RUNS, "{run}", _PULL_REQUEST, again="/{occasion}")
DEPLOY = Workflow("deployment", DEPLOYMENTS, "{run}", "{run}", again="/{occasion}")  # turns: by environment
INSTRUCT = Workflow("instruction", INSTRUCTIONS, "{run}", _PULL_REQUEST, again="/{occasion}")
CLOSE_RUN = Workflow("last_word", DELIVERIES, "{run}/last word", again=" after {occasion}")
TEST = Workflow("test", TESTS, "{run}/test {occasion}", _PULL_REQUEST)
READ_REPLY = Workflow("hear", HEARINGS, "{run}/hear {occasion}", _PULL_REQUEST)
ANSWER = Workflow("answer", HEARINGS, "{run}/answer {occasion}", _PULL_REQUEST)
AUTOMATE = Workflow("acting", DELIVERIES, "{run}/act {occasion}")
REFLECT = Workflow("reflect", LEARNING, "{run}/reflection {occasion}", _REPOSITORY, restarts=False)
CONSOLIDATE = Workflow("consolidate", LEARNING, "consolidate:{occasion}:{repository}", _REPOSITORY, restarts=False)
FEEDBACK = Workflow("feedback", FEEDBACKS, "feedback:{problem}/{occasion}", "{problem}")
HOLD = Workflow("hold", FEEDBACKS, "hold:{problem}/{deployment}", "{problem}/hold")
NOTICE = Workflow("notice", NOTICES, "notice:{cause}/{target}", "{target}")
WORKFLOWS = (
    DELIVERY,
    RUN,
    DEPLOY,
    INSTRUCT,
    CLOSE_RUN,
    TEST,
    READ_REPLY,
    ANSWER,
    AUTOMATE,
    REFLECT,
    CONSOLIDATE,
    FEEDBACK,
    HOLD,
    NOTICE,
)

Listener = Callable[[str], None]
"""Hears of a queue where work was put, or ended and left its place to other work."""


class Bell:
    """Rung on the event loop of this process, after the commit; losing a ring costs seconds, never work."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def ring(self, queue: str) -> None:
        """Say that there may be something to take from a queue."""
        for each in tuple(self._listeners):
            each(queue)

    @contextmanager
    def listen(self, listener: Listener) -> Generator[None]:
        """Have a listener called until the end."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)


BELL = Bell()
"""The bell of this process, which has one engine at most: DBOS keeps its state in globals, too."""


def ring_all() -> None:
    """Say that there may be something to take from any queue."""
    for queue in QUEUES:
        BELL.ring(queue)


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
    """Queue the start of a run: ``ReviewRun``, ``IssueRun``, ``InstructionRun`` or ``DeploymentRun``."""
    await enqueue(_choose_workflow(run), run.id, run=run.id, repository=run.repository.id, number=run.number)


def _choose_workflow(run: Run) -> Workflow:
    return _WORKFLOWS.get(run.trigger, RUN)


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


_RESTARTED = "/anew"  # ends the ids of restarted workflows; stored
_MAX_RESTARTS = 3  # then the fault is in the code

log = structlog.get_logger(__name__)


async def restart_workflow(error: Exception, workflow_id: str, workflow: Workflow, *arguments: object) -> str:
    """Queue the work of a workflow again under another id, because its own journal takes no more steps.

    This happens after an update that changed its steps. Every step may be repeated, so nothing is done twice. May be
    repeated.

    :param error: of DBOS, which says so.
    :param arguments: of the workflow; the first one is the new partition.
    :raises Exception: ``error``, if it was restarted too often.
    """
    log.error("workflow.derailed", workflow=workflow_id, error=str(error))
    if workflow_id.count(_RESTARTED) >= _MAX_RESTARTS:
        raise error
    partition = None if workflow.partition is None else str(arguments[0])
    options = workflow.build_options_as(f"{workflow_id}{_RESTARTED}", partition)
    enqueued = DBOS.enqueue_workflow_with_options_async(options, *arguments)
    await asyncio.get_running_loop().create_task(enqueued, context=Context())  # outside the journal
    BELL.ring(workflow.queue)
    return "begun anew"


def is_restart(workflow_id: str) -> bool:
    """Whether a workflow is a restart of another one."""
    return workflow_id.endswith(_RESTARTED)
