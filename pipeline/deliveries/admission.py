"""Admits runs: of pull requests on their live head, of issues on the code as it is now; or resumes one."""

from dataclasses import replace

import structlog

from domain.commands import Repeat, ReviewPullRequest
from domain.errors import CodeAccessError, NotFound
from domain.github.commits import Push, Pusher
from domain.github.conversation import AskedIssue
from domain.github.installations import EventSnapshot, is_edited
from domain.github.pull_requests import PullRequest
from domain.runs.run import ExecutionMode, ReasonCode, RepositoryRef, Run, RunState, Trigger
from domain.text.redaction import redact_outgoing
from memory.deliveries import pushes
from memory.repositories import permits
from memory.runs import checkpoints, model_answers, outbox, runs, transitions
from memory.runs.runs import Admission
from messages import deliveries as texts
from pipeline import consistent_reads
from pipeline.automation.level import find_opening_obstacle
from pipeline.checkout import find_base, has_same_merge_base
from pipeline.context import Services
from pipeline.verdicts.settings import refresh_configuration
from safety.allowed_actions import check_name

log = structlog.get_logger(__name__)


async def admit_review(
    services: Services, guid: str, command: ReviewPullRequest, seen: EventSnapshot | None
) -> Admission:
    """Admit a run on the live head. If somebody else may have seen a newer head meanwhile, look again.

    :raises Behind: if GitHub shows a state from before ``seen``.
    """
    database, admitted_by = services.database, f"{guid}#{command.number}"
    if command.pushed_at is not None:
        by = Pusher.app if command.sender.is_app else Pusher.person
        pushed = Push(command.head_sha, command.before_sha, command.sender.id, by, command.pushed_at)
        await pushes.note(database, command.repository, [pushed])
    while True:
        look = await consistent_reads.load_with_fence(services, command.repository, command.number, seen)
        if not look.pull_request.is_open:
            return await _find_or_refuse(services, admitted_by, texts.CLOSED_PULL_REQUEST)
        if await _keeps_verdict(services, command.repository, look.pull_request):
            return await _find_or_refuse(services, admitted_by, texts.PAUSED)
        candidate = runs.Candidate(
            admitted_by=admitted_by,
            repository=command.repository,
            number=command.number,
            head_sha=look.pull_request.head_sha,
            base_sha=await _choose_base(services, command.repository, look.pull_request),
            trigger=command.trigger,
            repeat=command.repeat,
            base_ref=look.pull_request.base_ref,
            check_name=await _choose_check_name(services, command.repository, look.pull_request),
            title=look.pull_request.title,
            kept=None if command.effort is None else (model_answers.EFFORT, {"effort": command.effort.value}),
        )
        admission = await runs.admit(database, candidate, look.fence, services.clock.now())
        if not admission.stale:
            return replace(admission, why=_explain_known(admission.known))


async def admit_issue(
    services: Services,
    guid: str,
    repository: RepositoryRef,
    number: int,
    trigger: Trigger,
    mode: ExecutionMode | None,
    seen: EventSnapshot | None,
) -> Admission:
    """Admit a run of an open issue, unless one works on it. A plan that waits for people is replaced.

    The run is about what is said there when somebody asked: whoever edits it later may lack the permission to.

    :param mode: that was asked for; None for the configuration's.
    :raises Behind: if GitHub shows a state from before ``seen``.
    """
    admitted_by = f"{guid}#{number}"
    if trigger is Trigger.issue and (why := await find_opening_obstacle(services, repository)) is not None:
        return await _find_or_refuse(services, admitted_by, why, is_at_level_0=True)
    while True:
        fence = await runs.get_fence(services.database, repository.id, number)
        issue = await consistent_reads.load_issue(services, repository, number, seen)
        if not issue.is_open or is_edited(issue, seen):
            why = texts.EDITED if issue.is_open else texts.CLOSED_ISSUE
            return await _find_or_refuse(services, admitted_by, why)
        try:
            head = (await services.host.default_branch(repository)).head_sha
        except NotFound:  # the issue was there a moment ago
            return Admission(None, why=texts.NO_COMMIT)
        asked = AskedIssue(title=issue.title, body=issue.body, asked_at=seen.updated_at if seen else None)
        kept = (model_answers.ISSUE, asked.model_dump(mode="json"))
        candidate = runs.Candidate(
            admitted_by, repository, number, head, head, trigger, Repeat.anew, kept=kept, mode=mode, title=issue.title
        )
        admission = await runs.admit(services.database, candidate, fence, services.clock.now())
        if not admission.stale:  # else another run began on the issue meanwhile
            return replace(admission, why=texts.IN_PROGRESS)


async def _keeps_verdict(services: Services, repository: RepositoryRef, pull_request: PullRequest) -> bool:
    """Whether Forge is paused, and a run would only take away the verdict that the head has."""
    if await permits.find_pauser(services.database, repository) is None:
        return False
    last = await _find_run_on_head(services, repository, pull_request)
    return last is not None and last.state is RunState.completed


async def _find_run_on_head(services: Services, repository: RepositoryRef, pull_request: PullRequest) -> Run | None:
    """The newest run on the head, if it was about a merge into the same branch."""
    head = pull_request.head_sha
    last = await runs.find_newest(services.database, repository.id, pull_request.number, head_sha=head)
    return last if last is not None and last.base_ref == pull_request.base_ref else None


async def _choose_base(services: Services, repository: RepositoryRef, pull_request: PullRequest) -> str:
    """The commit that the head is compared with.

    If the base branch only moved on since the newest run on this head, that run's base: the change is the same, and so
    is its verdict.
    """
    base = await find_base(services.host, repository, pull_request)
    last = await _find_run_on_head(services, repository, pull_request)
    if last is None:
        return base
    try:
        is_same = await has_same_merge_base(services, last, base)
    except CodeAccessError as error:  # the run itself says what is wrong with the code
        log.warning("base.not_compared", repository=repository.id, number=pull_request.number, error=str(error))
        is_same = False
    return last.base_sha if is_same else base


async def _choose_check_name(services: Services, repository: RepositoryRef, pull_request: PullRequest) -> str:
    """The name of the check with the verdict on a pull request; it depends on the base branch."""
    base, default = pull_request.base_ref, pull_request.default_branch
    if base == default:
        return check_name(base, default, ())
    try:
        required = await services.host.required_checks(repository, base)
    except NotFound:  # the branch is gone
        required = None
    return redact_outgoing(check_name(base, default, required))


async def _find_or_refuse(services: Services, admitted_by: str, why: str, *, is_at_level_0: bool = False) -> Admission:
    """None, unless an execution of this that died admitted one."""
    found = await runs.find_admission(services.database, admitted_by)
    return found or Admission(None, why=why, is_at_level_0=is_at_level_0)


def _explain_known(known: Run | None) -> str:
    """Why the head is not reviewed again."""
    if known is None or known.state.is_final:
        return texts.REVIEWED
    return texts.AT_GATE if known.reason is ReasonCode.gate else texts.IN_REVIEW


async def resume(
    services: Services, guid: str, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> Admission:
    """Resume the newest run if it failed or was stopped. It keeps what it has, so nothing is paid for again."""
    found = await _find_unfinished_run(services, repository, number, seen)
    if isinstance(found, Admission):
        return found
    await refresh_configuration(services, found)
    resumed = await transitions.resume(services.database, found, guid, services.clock.now())
    return Admission(resumed, why=texts.STILL_RUNNING)


async def retry(
    services: Services, guid: str, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> Admission:
    """Start a run that repeats the phase in which the newest one failed.

    It takes over its mode, and its plan, if there is one.
    """
    found = await _find_unfinished_run(services, repository, number, seen)
    if isinstance(found, Admission):
        return found
    if await outbox.find_proposal(services.database, found.id) is not None:  # it failed after that: resume there
        return await resume(services, guid, repository, number, seen)
    admitted = await admit_issue(services, guid, repository, number, Trigger.issue, found.mode, seen)
    plan = await checkpoints.load_plan(services.database, found)
    if admitted.run is not None and plan is not None and admitted.run.base_sha == found.base_sha:
        await checkpoints.save_plan(services.database, admitted.run, plan, services.clock.now())
    return admitted


async def _find_unfinished_run(
    services: Services, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> Run | Admission:
    """The newest run of an open issue that was to change code and ended early; or why there is none."""
    try:
        if not (await consistent_reads.load_issue(services, repository, number, seen)).is_open:
            return Admission(None, why=texts.CLOSED_ISSUE)
    except NotFound:
        return Admission(None, why=texts.NOTHING_TO_RETRY)
    past = await runs.list_for_pull_request(services.database, repository.id, number)
    newest = next((each.run for each in past if each.run.trigger is Trigger.issue), None)
    if newest is None or newest.state is RunState.completed:
        is_untested = newest is not None and newest.reason is ReasonCode.untested
        return Admission(None, why=texts.NOT_TESTED_YET if is_untested else texts.NOTHING_TO_RETRY)
    if await outbox.find_proposal(services.database, newest.id) is None:
        why = await find_opening_obstacle(services, repository)
        if why is not None:
            return Admission(None, why=why, is_at_level_0=True)
    return newest
