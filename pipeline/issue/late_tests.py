"""Takes up the draft of an issue's run that could not be tested, once its tests pass: it becomes ready, with new texts.

Whatever was lacking may have been mended by anybody: by a setting on the default branch, by a commit on the draft.
"""

from domain.runs.run import ReasonCode, Run, RunState
from domain.runs.testing import SuiteVerdict
from memory.runs import checkpoints, outbox, runs
from messages.plan import StepState
from messages.pull_request import Progress
from pipeline.automation.level import find_opening_obstacle
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.issue.pull_request_result import PullRequestResult
from pipeline.issue.pull_request_state import PullRequestStateLoader
from pipeline.issue.status_comment import name_final_step
from pipeline.issue.test_result import HeadTestResult
from pipeline.issue.verification import build_result
from pipeline.run_context import RunContext


async def take_up_untested(services: Services, journal: WorkflowJournal, reviewed: Run, tested: HeadTestResult) -> bool:
    """Whether a draft became ready that had waited for these tests. May be repeated.

    :param reviewed: a run on the pull request.
    :param tested: how the tests of its head ended.
    :raises Superseded: another run owns the issue.
    """
    if tested.verdict is not SuiteVerdict.passed or tested.weakened or tested.needs_person:
        return False
    run = await _find_untested(services, reviewed)
    if run is None or await find_opening_obstacle(services, run.repository) is not None:
        return False
    context = RunContext(services, run, journal)
    state = PullRequestStateLoader(context, reviewed.number)
    if not await state.is_approved(tested.head):
        return False
    send_backs = len(await checkpoints.load_send_backs(services.database, run))
    result = await build_result(state, tested.head, tested, send_backs)
    text = await context.status.render_progress(await _load_progress(context, reviewed.number, send_backs))
    step = name_final_step(ReasonCode.proposed)
    if not await PullRequestResult(context, reviewed.number).mark_ready(tested.head, result, step, text):
        return False
    await runs.hand_in(services.database, run.id)
    return True


async def _find_untested(services: Services, reviewed: Run) -> Run | None:
    """The run of an issue that opened a pull request and ended because it could not be tested."""
    owner = await outbox.find_proposing_run(services.database, reviewed.repository.id, reviewed.number)
    run = None if owner is None else await runs.get(services.database, owner)
    is_untested = run is not None and run.state is RunState.completed and run.reason is ReasonCode.untested
    return run if is_untested else None


async def _load_progress(context: RunContext, number: int, send_backs: int) -> Progress:
    plan, done = await checkpoints.load_plan(context.database, context.run), StepState.done
    tasks = 0 if plan is None else len(plan.plan.tasks)
    return Progress(done, None, done, tasks, tasks, done, number, done, done, send_backs)
