"""Finds out which checks of a head are red because of its change, and what its own workflows resulted in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from agents.testing import actions
from domain.config.configuration import Configuration
from domain.errors import Forbidden, NotFound, Unprocessable
from domain.github.checks import SLUG, TESTING_EVENTS, FailingCheck, WorkflowRun
from domain.runs.next_step import MAX_SEND_BACKS
from domain.runs.output_lines import pick_telling_line
from domain.runs.patches import RED_CHECK, RequiredFix
from domain.runs.run import Phase, RepositoryRef, Run
from domain.runs.testing import TestRun
from domain.text.redaction import redact_outgoing
from domain.value import Value
from memory.repositories import permits
from memory.runs import checkpoints, model_answers, outbox
from messages import instructions as texts
from pipeline.automation.level import load_level
from pipeline.checkout import find_base
from pipeline.context import Services
from pipeline.publishing import comments
from pipeline.publishing.publisher import NO_ID, write_once
from pipeline.publishing.test_check import HeadTestCheck
from pipeline.run_context import RunContext

log = structlog.get_logger(__name__)

_MAX_LOGS = 10  # of failed jobs
GRACE = timedelta(minutes=10)
"""How long GitHub may take to start a workflow on a new head."""
_PATIENCE = timedelta(hours=6)
_NOT_ENDED = "The workflows of the repository did not end within six hours. Look at them, then write `/forge test`."
_NO_WORKFLOW = (
    "GitHub began no workflow on this head within ten minutes. A workflow has to run `on: pull_request` or `on: push` "
    "for this branch; to have Forge run the tests itself, set `testing: {runner: sandbox}`."
)
_LONGEST_SELECTION = 1_000
_AGAIN = "rerun"  # the kind of write
_MOST_READ = 5  # checks whose log and annotations are read
_LONGEST_SAID = 6_000  # characters of one check
_LONGEST_END = 1_600  # characters of what it demands, beside the line that tells most
_FAILED = "what failed once"  # a key in the database
_NOT_AGAIN = "What failed was not run again to see whether it is flaky: {why}."


@dataclass(frozen=True)
class WorkflowResults:
    """The workflows on one head.

    :param check: its creation is the moment from which the waiting time counts.
    :param is_asked: whether a person asked for the test.
    """

    context: RunContext
    check: HeadTestCheck
    configuration: Configuration
    is_asked: bool = False

    async def load(self) -> TestRun | None:
        """Their results; None while one runs or may still start.

        What failed in its first attempt is run once more, so that flaky jobs are told from failures.
        """
        found = await self.context.services.host.workflow_runs(self.context.run.repository, self.check.head)
        if not actions.find_relevant_runs(found) and await self._has_waited(GRACE):
            return TestRun(not_run=_NO_WORKFLOW)
        ran = await self._read(found)
        if ran is None:
            return TestRun(not_run=_NOT_ENDED) if await self._has_waited(_PATIENCE) else None
        failed = actions.find_failed_once(found)
        if not failed:
            return ran
        why_not = await self._run_again(failed)
        if why_not is None:
            return None
        return ran.model_copy(update={"selection": f"{ran.selection} {why_not}"[:_LONGEST_SELECTION]})

    async def _read(self, found: Sequence[WorkflowRun]) -> TestRun | None:
        host, repository = self.context.services.host, self.context.run.repository
        relevant = actions.find_relevant_runs(found)
        jobs = {each.id: await host.jobs(repository, each.id) for each in relevant}
        flaky = {
            each.id: actions.find_flaky_jobs(jobs[each.id], await host.jobs(repository, each.id, every=True))
            for each in relevant
            if each.attempt > 1
        }
        wanted = [job for each in jobs.values() for job in each if actions.wants_log(job)][:_MAX_LOGS]
        logs = {job.id: await host.job_log(repository, job.id, actions.MOST_LOG) for job in wanted}
        redacted = {number: redact_outgoing(log) for number, log in logs.items() if log is not None}
        return actions.build_test_run(found, jobs, redacted, flaky)

    async def _run_again(self, failed: Sequence[WorkflowRun]) -> str | None:
        """Have the failed jobs run once more; None while that goes on, else why they do not, as a sentence."""
        if not await self._may_run_again():
            return _NOT_AGAIN.format(why="Forge starts nothing here now")
        refused = [await self._find_refusal(each) for each in failed]
        return None if None in refused else _NOT_AGAIN.format(why=refused[0])

    async def _find_refusal(self, failed: WorkflowRun) -> str | None:
        """Ask GitHub once to run it again; None if that begins, else why not."""
        if not failed.attempt:
            return "GitHub does not say how often it ran"
        try:
            in_vain = await self._was_asked_in_vain(failed)
        except (Forbidden, NotFound, Unprocessable) as refused:
            return refused.message.rstrip(".")
        return "GitHub began no second attempt within ten minutes" if in_vain else None

    async def _was_asked_in_vain(self, failed: WorkflowRun) -> bool:
        """Ask GitHub once; whether it began nothing long after that."""
        step = self.check.step_name(f"again {failed.id}")
        await _ask_again(self.context, failed, step)
        return await self._has_waited(GRACE, step, _AGAIN)

    async def _may_run_again(self) -> bool:
        """Nothing is begun in a paused repository, nor unasked at automation level 0."""
        services, repository = self.context.services, self.context.run.repository
        if await permits.find_pauser(services.database, repository) is not None:
            return False
        return self.is_asked or await load_level(services, repository.id, self.configuration.ladder) > 0

    async def _has_waited(self, long: timedelta, step: str = "", kind: str = "check") -> bool:
        """Whether so much time passed since a write, by default the creation of the check."""
        step = step or self.check.step_name("queued")
        started = await outbox.get_done_at(self.context.database, self.context.run.id, step, kind)
        return started is not None and self.context.now() - started >= long


class RedCheck(Value):
    """A check that fails here and not without the change; in journals.

    :param app: the slug of its App; empty for a commit status.
    :param said: its output, its annotations and the end of its log; untrusted.
    :param by: whose words these are: nobody's of a job that tests this head, as they are those of its own code.
    """

    name: str
    app: str = ""
    said: str = ""
    by: tuple[int, ...] = ()

    def build_fix(self) -> RequiredFix:
        """What it demands: the line of it that tells most, and its end."""
        end = self.said[-_LONGEST_END:].strip() or "It is red, and says nothing."
        message = "\n".join(dict.fromkeys([pick_telling_line(self.said.strip() or end), end]))
        return RequiredFix(path="", rule=f"{RED_CHECK}{self.name}", message=message, edited_by=self.by)


class RedChecks(Value):
    """What is red on a head; in journals.

    :param own: without those of ``before``, which fail on the base, too.
    """

    head: str = ""
    own: tuple[RedCheck, ...] = ()
    before: tuple[str, ...] = ()


class FailedOnce(Value):
    """The runs of the repository's own workflows that failed in their first attempt on a head; in the database."""

    runs: tuple[WorkflowRun, ...] = ()


async def load_red_checks(services: Services, repository: RepositoryRef, head: str, *bases: str) -> RedChecks:
    """What is red on a head, and what of it says why.

    :param bases: the commits that the change stands on: what fails on one of them is not of the change.
    """
    host = services.host
    failing = await host.failures(repository, head)
    if not failing:
        return RedChecks(head=head)
    known = {each.name for base in dict.fromkeys(bases) for each in await host.failures(repository, base)}
    own = [each for each in failing if each.name not in known]
    jobs = await _list_jobs(services, repository, head) if any(each.app == SLUG for each in own) else ()
    red = [RedCheck(name=each.name, app=each.app, by=() if each.id in jobs else (each.by,)) for each in own]
    pairs = zip(red, own[:_MOST_READ], strict=False)
    read = [each.model_copy(update={"said": await _read(services, repository, shown)}) for each, shown in pairs]
    rest = red[_MOST_READ:]
    before = dict.fromkeys(each.name for each in failing if each.name in known)
    return RedChecks(head=head, own=(*read, *rest), before=tuple(before))


async def load_red_checks_of_run(services: Services, run: Run, number: int, head: str) -> Sequence[RedCheck]:
    """The red checks of a pull request that an issue's run opened; none until all have ended.

    :param number: of the pull request.
    """
    try:
        if await services.host.awaits_checks(run.repository, head):
            return ()
        live = await services.host.pull_request(run.repository, number)
        bases = (run.base_sha, await find_base(services.host, run.repository, live))
        return (await load_red_checks(services, run.repository, head, *bases)).own
    except Forbidden as error:  # an installation that did not accept to show them
        log.warning("red_checks.hidden", run=run.id, error=str(error))
        return ()


async def must_mend(services: Services, run: Run, number: int, head: str) -> bool:
    """Whether a run that is over has to mend what is red on its proposal; if it tried enough, that is said."""
    red = await load_red_checks_of_run(services, run, number, head)
    if not red:
        return False
    sent_back = await checkpoints.load_send_backs(services.database, run)
    if sum(each.phase is Phase.testing for each in sent_back) < MAX_SEND_BACKS[Phase.testing]:
        return True
    text = texts.report_still_red(list(dict.fromkeys(each.name for each in red)))
    await comments.answer_below(services, run.repository, number, f"{run.id} {head} still red", text)
    return False


async def _list_jobs(services: Services, repository: RepositoryRef, head: str) -> Collection[int]:
    """The jobs of workflows that test a head. Other checks of GitHub Actions may be of anybody who may push."""
    found = await services.host.workflow_runs(repository, head)
    tests = [each.id for each in found if each.event in TESTING_EVENTS and each.conclusion != "success"]
    return {job.id for run in tests for job in await services.host.jobs(repository, run)}


async def _read(services: Services, repository: RepositoryRef, check: FailingCheck) -> str:
    details = await services.host.check_details(repository, check, actions.MOST_LOG)
    said = redact_outgoing("\n".join(part for part in (check.said[:_LONGEST_SAID], actions.trim_log(details)) if part))
    return said[-_LONGEST_SAID:]


async def run_again(context: RunContext, head: str) -> tuple[str, ...]:
    """Have the repository's own workflows that failed in their first attempt run their failed jobs again; their names.

    What GitHub does not run again is left out.
    """
    found = await context.services.host.workflow_runs(context.run.repository, head)
    return await _begin_all_again(context, actions.find_failed_once(found))


async def run_again_once(context: RunContext, head: str) -> tuple[str, ...]:
    """The same for a run that works on one head. May be repeated: what runs again by then is named as well."""
    failed = await _find_failed(context, head)
    return await _begin_all_again(context, failed.runs)


async def _begin_all_again(context: RunContext, failed: Sequence[WorkflowRun]) -> tuple[str, ...]:
    return tuple([each.name for each in failed if await _begin_again(context, each)])


async def _find_failed(context: RunContext, head: str) -> FailedOnce:
    """Found once: what was run again since looks as if it had not failed."""
    database, run = context.database, context.run
    kept = await model_answers.find(database, run, _FAILED)
    if kept is not None:
        return FailedOnce.model_validate(kept)
    found = await context.services.host.workflow_runs(run.repository, head)
    failed = FailedOnce(runs=actions.find_failed_once(found))
    await model_answers.keep(database, run, _FAILED, failed.model_dump(mode="json"), context.now())
    return failed


async def _begin_again(context: RunContext, failed: WorkflowRun) -> bool:
    try:
        await _ask_again(context, failed, f"run {failed.id} again")
    except (Forbidden, NotFound, Unprocessable):
        return False
    return True


async def _ask_again(context: RunContext, failed: WorkflowRun, step: str) -> None:
    """Ask GitHub once to run the failed jobs of a workflow again.

    :raises CodeHostError: it refuses.
    """
    services, run = context.services, context.run

    async def find() -> int | None:
        return NO_ID if (await services.host.workflow_run(run.repository, failed.id)).attempt > 1 else None

    async def ask() -> int:
        await services.host.rerun_failed_jobs(run.repository, failed.id)
        return NO_ID

    await write_once(services, run, step, _AGAIN, ask, find=find)
