"""Finds out which checks of a pull request are red because of its change, what they say, and runs some once more."""

from collections.abc import Collection, Sequence

import structlog
from pydantic import BaseModel

from agents.testing import actions
from domain.errors import Forbidden, NotFound, Unprocessable
from domain.github.failing_checks import FailingCheck
from domain.github.workflow_runs import SLUG, TESTING_EVENTS, WorkflowRun
from domain.runs.run import RepositoryRef, Run
from domain.text.redaction import redact_outgoing
from memory.budgets import model_answers
from pipeline.checkout import find_base
from pipeline.context import Services
from pipeline.publishing.publisher import NO_ID, write_once
from pipeline.run_context import RunContext

log = structlog.get_logger(__name__)

_MOST_READ = 5  # checks whose log and annotations are read
_LONGEST_SAID = 6_000  # characters of one check
_FAILED = "what failed once"  # a key in the database


class RedCheck(BaseModel):
    """A check that fails here and not without the change; in journals.

    :param app: the slug of its App; empty for a commit status.
    :param said: its output, its annotations and the end of its log; untrusted.
    :param by: whose words these are: nobody's of a job that tests this head, as they are those of its own code.
    """

    name: str
    app: str = ""
    said: str = ""
    by: tuple[int, ...] = ()


class RedChecks(BaseModel):
    """What is red on a head; in journals.

    :param own: without those of ``before``, which fail on the base, too.
    """

    head: str = ""
    own: tuple[RedCheck, ...] = ()
    before: tuple[str, ...] = ()


class FailedOnce(BaseModel):
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
    services, run = context.services, context.run

    async def find() -> int | None:
        return NO_ID if (await services.host.workflow_run(run.repository, failed.id)).attempt > 1 else None

    async def ask() -> int:
        await services.host.rerun_failed_jobs(run.repository, failed.id)
        return NO_ID

    try:
        await write_once(services, run, f"run {failed.id} again", "rerun", ask, find=find)
    except (Forbidden, NotFound, Unprocessable):
        return False
    return True
