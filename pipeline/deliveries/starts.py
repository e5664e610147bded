"""Starts and resumes runs: what an event, a button, a label or a command asks for is admitted, shown and queued."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog

from domain.commands import LabelledIssue, Repeat, ReviewCheckedHead, ReviewPullRequest
from domain.errors import Forbidden, NotAllowed, NotFound, Unprocessable
from domain.github.installations import EventSnapshot
from domain.runs.run import ExecutionMode, NotStarted, RepositoryRef, Run, RunStart, RunState, Started, Trigger
from domain.slash import AskReview, RunIssue
from memory.repositories import permits
from memory.runs import runs
from memory.runs.runs import Admission
from messages import commands as command_texts
from messages import deliveries as texts
from pipeline.config import loading
from pipeline.consistent_reads import read_when_visible
from pipeline.context import DeliveryContext
from pipeline.deliveries import admission
from pipeline.deliveries.cancellation import show_stopped
from pipeline.durable.queues import enqueue_resume, enqueue_run
from pipeline.gates.actor import CommandActor, PermissionCheck, authorise_or_record, give_ok, load_actor, skip_check
from pipeline.issue.test_command import enqueue_test, find_run_on_head
from pipeline.publishing import comments
from pipeline.verdicts.approval import show_admitted
from safety.eligibility import asks_for_run

log = structlog.get_logger(__name__)

_LONG_AGO = datetime.min.replace(tzinfo=UTC)  # if the event has no time, no head existed before it


@dataclass(frozen=True)
class RunStarter:
    """Starts runs for one delivery.

    :param may: asked again in the step that admits the run (T-P15).
    """

    context: DeliveryContext
    may: PermissionCheck = skip_check

    async def start_review(self, command: ReviewPullRequest) -> RunStart:
        """Start a run on the live head, unless that head was reviewed before."""
        admit = partial(admission.admit_review, self.context.services, self.context.guid, command)
        return await self._start(await self._admit("admit", command.number, admit, command.seen))

    async def start_issue_run(
        self,
        repository: RepositoryRef,
        number: int,
        trigger: Trigger,
        seen: EventSnapshot | None,
        mode: ExecutionMode | None = None,
    ) -> RunStart:
        """Start a run of an issue, unless one works on it."""
        where = (self.context.services, self.context.guid, repository, number)
        return await self._start(
            await self._admit("admit", number, partial(admission.admit_issue, *where, trigger, mode), seen)
        )

    async def resume(self, repository: RepositoryRef, number: int, seen: EventSnapshot | None) -> RunStart:
        """Resume the newest run of an issue."""
        where = (self.context.services, self.context.guid, repository, number)
        return await self._take_up(await self._admit("resume", number, partial(admission.resume, *where), seen))

    async def retry(self, repository: RepositoryRef, number: int, seen: EventSnapshot | None) -> RunStart:
        """Repeat the failed phase of the newest run of an issue."""
        where = (self.context.services, self.context.guid, repository, number)
        return await self._take_up(await self._admit("retry", number, partial(admission.retry, *where), seen))

    async def start_tests(self, repository: RepositoryRef, number: int, head: str) -> RunStart:
        """Queue the tests of a head for the newest run on the pull request, if it is about that head."""

        async def find() -> Run | None:
            await self.may()
            return await find_run_on_head(self.context.services, repository, number, head)

        run = await self.context.journal.step("whose head it is", find)
        if run is None:
            return NotStarted("")
        await enqueue_test(run, self.context.guid)
        return Started(run.id)

    async def _admit(
        self,
        key: str,
        number: int,
        admit: Callable[[EventSnapshot | None], Awaitable[Admission]],
        seen: EventSnapshot | None,
    ) -> Admission:
        """:raises NotAllowed: the sender may not any more; not asked if an execution of this that died admitted it."""
        services, guid = self.context.services, self.context.guid

        async def admit_if_allowed(seen: EventSnapshot | None) -> Admission:
            if await runs.find_admission(services.database, f"{guid}#{number}") is None:
                await self.may()
            return await admit(seen)

        return await read_when_visible(services, self.context.journal, key, admit_if_allowed, seen)

    async def _take_up(self, admitted: Admission) -> RunStart:
        """Queue the same run again, with all it has; or start the one that was admitted in its place."""
        if admitted.run is None or admitted.run.state is not RunState.waiting:
            return await self._start(admitted)
        await enqueue_resume(admitted.run, self.context.guid)
        return Started(admitted.run.id)

    async def _start(self, admitted: Admission) -> RunStart:
        """Queue an admitted run, also if another one superseded it meanwhile: it closes its own check.

        Next is :class:`pipeline.review.workflow.ReviewRun`, of an issue :class:`pipeline.issue.workflow.IssueRun`.
        """
        run = admitted.run
        if run is None:
            return NotStarted(admitted.why, admitted.is_at_level_0)
        await self.context.journal.step("first sign", show_admitted, self.context.services, run)
        await enqueue_run(run)
        await show_stopped(self.context, admitted.superseded)
        return Started(run.id)


async def handle_review(context: DeliveryContext, command: ReviewPullRequest) -> RunStart:
    """Review what an event announced, unless it is a draft again that the configuration leaves out anyway."""
    if command.repeat is Repeat.if_begun and not await context.journal.step(
        "is a draft left out", _excludes_drafts, context, command
    ):
        return NotStarted(texts.NO_DRAFT)
    return await RunStarter(context).start_review(command)


async def _excludes_drafts(context: DeliveryContext, command: ReviewPullRequest) -> bool:
    """Whether drafts are not reviewed here, and a run is active that nobody asked for."""
    last = await runs.find_newest(context.services.database, command.repository.id, command.number)
    if last is None or last.state.is_final or last.trigger is not Trigger.pull_request:
        return False
    configuration = await loading.load_configuration(context.services, command.repository)
    return not configuration.review.drafts


async def review_again(context: DeliveryContext, command: ReviewCheckedHead) -> Sequence[RunStart]:
    """Review again every pull request a check belongs to."""
    numbers = await context.journal.step("find", _list_pull_requests, context, command)
    return [await review_number_again(context, command, number) for number in numbers]


async def _list_pull_requests(context: DeliveryContext, command: ReviewCheckedHead) -> list[int]:
    """The pull requests of a check: by its run, by our runs on its head, or as GitHub says."""
    database = context.services.database
    run = await runs.get(database, command.run_id) if command.run_id else None
    if run is not None and run.repository.id == command.repository.id:
        return [run.number]
    known = await runs.list_for_head(database, command.repository.id, command.head_sha)
    if known:
        return sorted({run.number for run in known})
    found = await context.services.host.open_pull_requests(command.repository, command.head_sha)
    return [pull_request.number for pull_request in found]


async def review_number_again(
    context: DeliveryContext, command: ReviewCheckedHead, number: int, seen: EventSnapshot | None = None
) -> RunStart:
    """Review one pull request again, if the sender may ask for that."""
    ask = partial(_find_refusal, context, command, number)
    refused = await read_when_visible(context.services, context.journal, "ask for permission", ask, seen)
    if refused is not None:
        return NotStarted(refused)
    if await context.journal.step("is a review paused", _refuse_paused, context, command, number):
        return NotStarted(texts.PAUSED)
    review = ReviewPullRequest(
        repository=command.repository,
        number=number,
        head_sha=command.head_sha,
        trigger=command.trigger,
        repeat=Repeat.always,
        sender=command.sender,
    )
    return await RunStarter(context, partial(_require, ask, None)).start_review(review)


async def _require(ask: Callable[..., Awaitable[str | None]], *arguments: object) -> None:
    """:raises NotAllowed: the sender may not ask for it any more."""
    why = await ask(*arguments)
    if why is not None:
        raise NotAllowed(why)


async def _find_refusal(
    context: DeliveryContext, command: ReviewCheckedHead, number: int, seen: EventSnapshot | None
) -> str | None:
    """Why the sender may not ask for another review, by the rule of ``/forge review full``; None if they may.

    A comment below the pull request tells them, once for a head.
    """
    actor = await load_actor(context.services, command.repository, number, command.sender, seen, judges=False)
    refused = await authorise_or_record(context.services, context.guid, AskReview(full=True), actor)
    if refused is not None:
        await _comment_below(context, command, number, "", command_texts.refuse(refused, command.sender.login))
        return texts.describe_refusal(refused.needed, refused.held)
    await _give_ok(context, command, number, actor)
    return None


async def _refuse_paused(context: DeliveryContext, command: ReviewCheckedHead, number: int) -> bool:
    """Whether Forge is paused here. A comment below the pull request says so, once for a head."""
    paused_by = await permits.find_pauser(context.services.database, command.repository)
    if paused_by is None:
        return False
    await _comment_below(context, command, number, "-paused", command_texts.already_paused(paused_by))
    return True


async def _comment_below(
    context: DeliveryContext, command: ReviewCheckedHead, number: int, about: str, text: str
) -> None:
    key = f"{command.repository.id}-{number}-{command.head_sha}-{command.sender.id}{about}"
    try:
        await comments.answer_below(context.services, command.repository, number, key, text)
    except (Forbidden, NotFound, Unprocessable) as error:
        log.warning("refusal.unsaid", guid=context.guid, error=str(error))


async def _give_ok(context: DeliveryContext, command: ReviewCheckedHead, number: int, actor: CommandActor) -> None:
    """Asking for a review of a fork's head allows Forge to run that head."""
    head = None if actor.pull_request is None else actor.pull_request.head_sha
    if actor.gives_ok and head == command.head_sha:
        where = (command.repository, number)
        await give_ok(context.services, *where, command.head_sha, command.sender, command.asked_at)


async def handle_label(context: DeliveryContext, command: LabelledIssue) -> RunStart:
    """Start the run that a label asks for, of an issue or a review, if the person who set it may ask."""
    refused = await context.journal.step("ask for permission", _find_label_refusal, context, command)
    if refused is not None:
        return NotStarted(refused)
    if command.head_sha is None:
        return await _start_labelled_issue(context, command)
    review = ReviewCheckedHead(
        repository=command.repository,
        head_sha=command.head_sha,
        run_id=None,
        trigger=Trigger.command,
        sender=command.sender,
        asked_at=_LONG_AGO if command.seen is None else command.seen.updated_at,
    )
    return await review_number_again(context, review, command.number, command.seen)


async def _start_labelled_issue(context: DeliveryContext, command: LabelledIssue) -> RunStart:
    starter = RunStarter(context, partial(_require, _find_label_refusal, context, command))
    start = await starter.start_issue_run(command.repository, command.number, Trigger.issue, command.seen)
    if isinstance(start, NotStarted) and start.is_at_level_0:  # the person would wait in vain
        where = (context.services, command.repository, command.number, context.guid)
        await context.journal.step("say why not", comments.answer_below, *where, command_texts.not_begun(start.why))
    return start


async def _find_label_refusal(context: DeliveryContext, command: LabelledIssue) -> str | None:
    """Why a label starts nothing; None if it asks for a run and the sender may ask.

    :raises CodeHostError: if GitHub does not say who the sender is; that is never a permission.
    """
    services = context.services
    configuration = await loading.load_configuration(services, command.repository)
    if not asks_for_run(command.label, configuration.labels):
        return texts.OTHER_LABEL
    if command.head_sha is not None:  # on a pull request it asks what the button asks, and is checked there
        return None
    if not configuration.issues.run:
        return texts.ISSUES_OFF
    actor = await load_actor(services, command.repository, None, command.sender)
    refused = await authorise_or_record(services, context.guid, RunIssue(), actor)
    return None if refused is None else texts.describe_refusal(refused.needed, refused.held)
