"""What a delivery asks for, done: a short durable workflow that admits, supersedes and ends runs."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import cast

import structlog
from dbos._error import DBOSUnexpectedStepError  # not exported
from pydantic import JsonValue, ValidationError
from structlog.contextvars import bound_contextvars

from domain.commands import (
    COMMAND,
    AnyCommand,
    ChangesRequested,
    ChecksEnded,
    DecideGate,
    EndInstallation,
    EndIssue,
    EndPullRequest,
    ExecuteComment,
    FollowRepository,
    LabelledIssue,
    ReadMemoryFile,
    ReadReply,
    RecordThread,
    Repeat,
    ReportMergeGroup,
    ResumeInstallation,
    ReviewCheckedHead,
    ReviewPullRequest,
)
from domain.errors import (
    Behind,
    CodeHostError,
    Forbidden,
    ForgeError,
    Halted,
    NotAllowed,
    NotFound,
    RateLimited,
    Superseded,
    Unprocessable,
)
from domain.gates import Choice, Gate
from domain.github.seen import EventSnapshot
from domain.importance import Importance, use_importance
from domain.review.review import Conclusion, Review
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState, Trigger
from domain.slash.commands import AskReview
from domain.slash.verbs import Verb
from memory.deliveries import deliveries, pushes
from memory.gates import gates
from memory.reports.retention import DELIVERY_RETENTION
from memory.repositories import addresses
from memory.runs import checkpoints, runs, waits
from memory.runs.runs import Candidate
from messages import automation as automation_texts
from messages import commands as command_texts
from messages import gate_answers
from messages import review as review_texts
from pipeline.automation.level import try_update_level
from pipeline.config import loading
from pipeline.config.memory_file import import_memory_file
from pipeline.consistent_reads import read_when_visible
from pipeline.context import Services
from pipeline.deliveries import change_requests
from pipeline.deliveries.admission import Admitted, admit_issue, choose_check_name, find_label_refusal, load_with_fence
from pipeline.deliveries.admission import build_admitted as admitted_
from pipeline.deliveries.cancellation import Cancellation
from pipeline.deliveries.checks_ended import wake_owners
from pipeline.deliveries.commands.executor import CommandExecutor, is_read_only
from pipeline.deliveries.retry import resume, retry
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_resume, enqueue_run
from pipeline.durable.restart import is_restart
from pipeline.feedback.replies.intake import handle_reply
from pipeline.gates.actor import PermissionCheck, give_ok, load_actor, record_refusal, skip_check
from pipeline.gates.ask import refresh_gate
from pipeline.gates.decide import GateAnswer, decide_gate
from pipeline.issue.test_command import enqueue_test, find_run_on_head
from pipeline.maintenance.purge import list_lost_repositories
from pipeline.publishing import checks, comments
from pipeline.runs.status import open_status
from pipeline.verdicts.approval import withdraw_approvals
from pipeline.verdicts.resume import resume_judged_run
from pipeline.verdicts.thread_decisions import record_resolution
from safety.authorization import authorise

log = structlog.get_logger(__name__)


REVIEWED = "this head was reviewed before"
IN_PROGRESS = "this head is being reviewed"
AT_GATE = "this head was reviewed and waits for a person's decision"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)  # where an event does not say when: no head was there to be meant


async def dispatch(services: Services, guid: str, stored: str, workflow_id: str) -> str:
    """Do what a delivery asks for; what became of it.

    :param stored: the GUID under which the command was stored; another one where a delivery is repeated.
    :param workflow_id: in which this is done.
    """
    row = await deliveries.find(services.database, stored)
    if row is None:
        return "unknown delivery"
    try:
        command = COMMAND.validate_python(row.command)
    except ValidationError:
        outcome = "failed: it was stored by another version of Forge; ask again with a comment"
        await deliveries.finish(services.database, guid, outcome, services.clock.now())
        return outcome
    by_github = row.guid == guid == deliveries.strip_replay_mark(guid)  # not by `forge replay`
    if by_github and isinstance(command, ExecuteComment) and row.received_at - command.written_at > DELIVERY_RETENTION:
        outcome = "ignored: the comment is older than any delivery that GitHub repeats"
        await deliveries.finish(services.database, guid, outcome, services.clock.now())
        return outcome
    return await Dispatch(services, guid, command, workflow_id).execute()


class Dispatch:
    """One delivery on its way. Its outcome, in a few words, ends up in the deliveries table."""

    def __init__(self, services: Services, guid: str, command: AnyCommand, workflow_id: str) -> None:
        self._services = services
        self._guid = guid
        self._command = command
        # GitHub will not send it again
        self._journal = WorkflowJournal(services, workflow_id, pauses=services.long_pauses)
        self._ending = Cancellation(services, self._journal, guid)

    async def execute(self) -> str:
        """Do what the command asks and record what became of it."""
        with bound_contextvars(delivery=self._guid):
            return await self._execute()

    async def _execute(self) -> str:
        try:
            outcome = await self._handle(self._command)
        except NotAllowed as refused:
            outcome = refused.message
        except (Forbidden, NotFound) as error:  # uninstalled, suspended, deleted: there is nobody to tell
            log.warning("delivery.ignored", guid=self._guid, error=str(error))
            outcome = f"ignored: {error.message}"
        except ForgeError as error:
            log.warning("delivery.failed", guid=self._guid, error=str(error))
            outcome = f"failed: {error.message}"
        except DBOSUnexpectedStepError:
            raise
        except Exception:
            log.exception("delivery.unexpected", guid=self._guid)
            outcome = "failed: Forge made a mistake of its own; its log has the details."

        # No steps of their own: they are the last, and repeating them changes nothing.
        if await self._had_no_effect(outcome):
            await deliveries.allow_repeat(self._services.database, self._guid)
        await deliveries.finish(self._services.database, self._guid, outcome, self._services.clock.now())
        return outcome

    async def _had_no_effect(self, outcome: str) -> bool:
        """Whether a button was pressed and nothing came of it: GitHub tells the next press in the same words."""
        match self._command:
            case ReviewCheckedHead():
                return not any(each.startswith("run ") for each in outcome.split(", "))
            case DecideGate():
                gate = await gates.get(self._services.database, self._command.gate_id)
                return gate is None or gate.decision is None or gate.decision.cause != self._guid
            case _:
                return False

    async def _handle(self, command: AnyCommand) -> str:
        match command:
            case ReviewPullRequest():
                return await self.start_review(command)
            case ReviewCheckedHead():
                return await self._review_again(command)
            case EndPullRequest() | EndIssue() | EndInstallation() | ResumeInstallation():
                return await self._ending.carry_out(command)
            case FollowRepository():
                return await self._follow_repository(command.repository)
            case LabelledIssue():
                return await self._handle_label(command)
            case ReportMergeGroup():
                return str(await self._journal.step("report", lambda: self._report_merge_group(command)))
            case ExecuteComment() if is_restart(self._journal.workflow_id) and not is_read_only(command):
                return await self._ask_to_repeat(command)
            case ExecuteComment():
                return await CommandExecutor(self._services, self._journal, self, self._guid, command).execute()
            case DecideGate():
                return await self._handle_button(command)
            case RecordThread() | ChangesRequested() | ReadReply() | ReadMemoryFile() | ChecksEnded():
                return await self._handle_note(command)

    async def _ask_to_repeat(self, command: ExecuteComment) -> str:
        """What this comment asks for may have been done before: hours later, that could undo what came since."""

        async def tell() -> JsonValue:
            answers = [command_texts.Answer("", command_texts.ask_to_repeat())]
            await comments.answer(self._services, command, self._guid, answers)
            return None

        await self._journal.step("reply", tell)
        return "failed: Forge was updated while it waited, and cannot go on where it was"

    async def _handle_note(
        self, command: RecordThread | ChangesRequested | ReadReply | ReadMemoryFile | ChecksEnded
    ) -> str:
        """Take note of what somebody let be known without asking for anything."""
        match command:
            case RecordThread():
                outcome = await self._record_resolution(command)
                await self.resume_run(command.repository, command.number, is_judged=True)
                await self._update_level(command.repository, command.number)
                return str(outcome)
            case ChangesRequested():
                return await change_requests.forward(self._services, self._journal, command, self._guid)
            case ReadReply():
                return await handle_reply(self._services, self._journal, command, self._guid)
            case ReadMemoryFile():
                return await self._read_memory_file(command)
            case ChecksEnded():
                return await wake_owners(self._services, self._journal, command, self._guid)

    async def _record_resolution(self, command: RecordThread) -> JsonValue:
        async def look(root: int | None) -> JsonValue:
            return await record_resolution(self._services, self._guid, command, is_early=root is not None)

        return await read_when_visible(self._services, self._journal.step, "note the thread", look, command.root)

    async def start_review(self, command: ReviewPullRequest, may: PermissionCheck = skip_check) -> str:
        """Admit a run on the live head, unless this head was reviewed before; what became of it."""
        if command.repeat is Repeat.if_begun and not await self._journal.step(
            "is a draft left out", lambda: self._excludes_drafts(command)
        ):
            return "nothing is under way that a draft ends"

        async def admit(seen: EventSnapshot | None) -> JsonValue:
            await self._require_authorised(may, command.number)
            return await self._admit(command, seen)

        answer = await self._read_when_visible("admit", admit, command.seen)
        admitted = Admitted.model_validate(answer)
        if admitted.run is None:
            return admitted.why
        await self._start(admitted.run, admitted.superseded)
        return f"run {admitted.run.id}"

    async def _require_authorised(self, may: PermissionCheck, number: int) -> None:
        """Ask whether somebody still may, unless it was admitted by a process that died before it could say so.

        :raises NotAllowed: they may not.
        """
        if await runs.find_admission(self._services.database, f"{self._guid}#{number}") is None:
            await may()

    async def start_issue_run(
        self,
        repository: RepositoryRef,
        number: int,
        trigger: Trigger,
        seen: EventSnapshot | None,
        may: PermissionCheck = skip_check,
    ) -> str:
        """Admit a run of an issue, unless one works on it; what became of it."""

        async def admit(seen: EventSnapshot | None) -> JsonValue:
            await self._require_authorised(may, number)
            admitted = await admit_issue(self._services, self._guid, repository, number, trigger, seen)
            return admitted.model_dump(mode="json")

        answer = await self._read_when_visible("admit", admit, seen)
        found = Admitted.model_validate(answer)
        if found.run is None:
            return found.why
        await self._start(found.run, found.superseded)
        return f"run {found.run.id}"

    async def resume_or_retry(
        self,
        repository: RepositoryRef,
        number: int,
        verb: Verb,
        seen: EventSnapshot | None,
        may: PermissionCheck = skip_check,
    ) -> str:
        """Take up the newest run of an issue again, or begin another with its plan; what became of it."""

        async def take_up(seen: EventSnapshot | None) -> JsonValue:
            await self._require_authorised(may, number)
            how = resume if verb is Verb.resume else retry
            return (await how(self._services, self._guid, repository, number, seen)).model_dump(mode="json")

        found = Admitted.model_validate(await self._read_when_visible(verb.value, take_up, seen))
        if found.run is None:
            return found.why
        if found.run.state is RunState.waiting:  # the same run, with all that it has
            await enqueue_resume(found.run, self._guid)
        else:
            await self._start(found.run, found.superseded)
        return f"run {found.run.id}"

    async def _handle_label(self, command: LabelledIssue) -> str:
        refused = await self._journal.step("ask for permission", lambda: self._find_label_refusal(command))
        if refused is not None:
            return str(refused)
        if command.head_sha is None:

            async def may() -> None:
                why = await self._find_label_refusal(command)
                if why is not None:
                    raise NotAllowed(str(why))

            return await self._start_labelled_run(command, may)
        asked = ReviewCheckedHead(
            repository=command.repository,
            head_sha=command.head_sha,
            run_id=None,
            trigger=Trigger.command,
            sender=command.sender,
            asked_at=_LONG_AGO if command.seen is None else command.seen.updated_at,
        )
        return await self._review_one_again(asked, command.number, command.seen)

    async def _start_labelled_run(self, command: LabelledIssue, may: PermissionCheck) -> str:
        outcome = await self.start_issue_run(command.repository, command.number, Trigger.issue, command.seen, may)
        if outcome.startswith(automation_texts.AT_LEVEL_0):  # who put it there waits for something that does not come
            text = command_texts.not_begun(outcome)
            await self._journal.step(
                "say why not", lambda: self._comment_once(command.repository, command.number, text)
            )
        return outcome

    async def _comment_once(self, repository: RepositoryRef, number: int, text: str) -> JsonValue:
        await comments.answer_below(self._services, repository, number, self._guid, text)
        return None

    async def start_tests(
        self, repository: RepositoryRef, number: int, head: str, may: PermissionCheck = skip_check
    ) -> bool:
        """Have the head tested that the newest run here is about; whether there is one."""

        async def find() -> JsonValue:
            await may()
            run = await find_run_on_head(self._services, repository, number, head)
            return None if run is None else run.model_dump(mode="json")

        found = await self._journal.step("whose head it is", find)
        if found is not None:
            await enqueue_test(Run.model_validate(found), self._guid)
        return found is not None

    async def resume_run(self, repository: RepositoryRef, number: int, is_judged: bool) -> None:
        """See :func:`pipeline.verdicts.resume.resume_judged_run`."""
        await resume_judged_run(self._services, self._journal, self._guid, repository, number, is_judged=is_judged)

    async def _handle_button(self, command: DecideGate) -> str:
        """Do what a button of a gate's check says."""
        gate = await gates.get(self._services.database, command.gate_id)
        if gate is None or gate.repository.id != command.repository.id:
            return "ignored: there is no such gate"
        if command.choice is Choice.view:
            await self._journal.step("show the gate", lambda: self._refresh_gate(gate.id))
            return "shown"
        saying = GateAnswer(command.sender, command.choice, seen_head=command.head_sha)
        answer = str(await self._journal.step("decide", lambda: self._decide_gate(gate, saying)))
        await self.resume_run(gate.repository, gate.number, is_judged=False)
        note_ = gate_answers.report_button(command.sender.login, answer)
        await self._journal.step("show the gate", lambda: self._refresh_gate(gate.id, note_))
        await self._update_level(gate.repository, gate.number)
        return answer

    async def _follow_repository(self, repository: RepositoryRef) -> str:
        """Keep the address GitHub says the repository has now: the event may be late, or sent once more."""

        async def follow(told: RepositoryRef | None) -> JsonValue:
            now = await self._load_address(repository, told)
            if await list_lost_repositories(self._services, now.installation_id, (now.id,)):
                return "ignored: this installation does not cover the repository any more"
            return f"{await addresses.update_address(self._services.database, now)} addresses changed"

        return str(await read_when_visible(self._services, self._journal.step, "follow", follow, repository))

    async def _load_address(self, repository: RepositoryRef, told: RepositoryRef | None) -> RepositoryRef:
        """:raises Behind: it is not where the event says that it is."""
        try:
            now = await self._services.host.address(repository)
        except NotFound as error:
            if told is None:
                raise
            raise Behind(error.message, error.advice) from error
        if told is not None and now != told:
            raise Behind(f"GitHub does not show yet that it is {told.full_name} now.", "Forge looks again.")
        return now

    async def _excludes_drafts(self, command: ReviewPullRequest) -> JsonValue:
        """Whether something is under way that nobody asked for, where drafts are not reviewed."""
        past = await runs.list_for_pull_request(self._services.database, command.repository.id, command.number)
        if not past or past[0].run.state.is_final or past[0].run.trigger is not Trigger.pull_request:
            return False
        ceilings = self._services.ceilings.of_configuration
        host, database = self._services.host, self._services.database
        loaded = await loading.load(host, database, command.repository, ceilings)
        return not loaded.configuration.review.drafts

    async def _update_level(self, repository: RepositoryRef, number: int) -> None:
        """Weigh the automation level after a person decided something."""
        await self._journal.step("weigh the level", lambda: try_update_level(self._services, repository, number))

    async def _decide_gate(self, gate: Gate, saying: GateAnswer) -> JsonValue:
        """A button says its answer now or never: nobody expects it to be carried out hours later."""
        try:
            return (await decide_gate(self._services, self._guid, gate, saying)).text
        except RateLimited:
            raise
        except CodeHostError:
            return command_texts.cannot_ask(saying.sender.login)

    async def _refresh_gate(self, gate_id: str, note_: str = "") -> JsonValue:
        gate = await gates.get(self._services.database, gate_id)
        if gate is not None and (gate.is_waiting or not note_):
            looked = None if note_ else self._services.clock.now()
            await refresh_gate(self._services, gate, note_, looked)
        return None

    async def _review_again(self, command: ReviewCheckedHead) -> str:
        numbers = cast(list[int], await self._journal.step("find", lambda: self._list_pull_requests(command)))
        outcomes = [await self._review_one_again(command, number) for number in numbers]
        return ", ".join(outcomes) or "no open pull request has this head"

    async def _review_one_again(
        self, command: ReviewCheckedHead, number: int, seen: EventSnapshot | None = None
    ) -> str:
        async def ask(seen: EventSnapshot | None) -> JsonValue:
            return await self._find_refusal(command, number, seen)

        refused = await self._read_when_visible("ask for permission", ask, seen)
        if refused is not None:
            return str(refused)

        async def may() -> None:
            why = await self._find_refusal(command, number, None)
            if why is not None:
                raise NotAllowed(str(why))

        again = ReviewPullRequest(
            repository=command.repository,
            number=number,
            head_sha=command.head_sha,
            trigger=command.trigger,
            repeat=Repeat.always,
            sender=command.sender,
        )
        return await self.start_review(again, may)

    async def end(self, repository: RepositoryRef, number: int, reason: ReasonCode) -> Sequence[Run]:
        """End what runs on a pull request; the runs that were stopped."""
        return await self._ending.end(repository, number, reason)

    async def end_all(self, repository: RepositoryRef, reason: ReasonCode) -> int:
        """End what runs in a repository; how many runs that were."""
        return await self._ending.end_all(repository, reason)

    async def _start(self, run: Run, superseded: Sequence[Run]) -> None:
        """Show the first sign, queue the run's work, and stop what it supersedes.

        A run that was superseded itself meanwhile is queued all the same: it closes its own check.
        """
        await self._journal.step("first sign", lambda: self._open_check(run))
        await enqueue_run(run)
        await self._ending.show_stopped(superseded)

    async def _read_when_visible(
        self, key: str, look: Callable[[EventSnapshot | None], Awaitable[JsonValue]], seen: EventSnapshot | None
    ) -> JsonValue:
        return await read_when_visible(self._services, self._journal.step, key, look, seen)

    async def _admit(self, command: ReviewPullRequest, seen: EventSnapshot | None) -> JsonValue:
        return (await self._admit_live_head(command, seen)).model_dump(mode="json")

    async def _admit_live_head(self, command: ReviewPullRequest, seen: EventSnapshot | None) -> Admitted:
        """Admit what GitHub says is the live head; look again if somebody else may have seen a newer one meanwhile."""
        database, admitted_by = self._services.database, f"{self._guid}#{command.number}"
        if command.pushed_at is not None:
            pushed = (command.number, command.head_sha, command.sender, command.pushed_at)
            await pushes.note(database, command.repository, *pushed)
        while True:
            look = await load_with_fence(self._services, command.repository, command.number, seen)
            if not look.pull_request.is_open:
                earlier = await runs.find_admission(
                    database, admitted_by
                )  # by a process that died before it could say so
                return admitted_(earlier, "the pull request is closed")
            candidate = Candidate(
                admitted_by=admitted_by,
                repository=command.repository,
                number=command.number,
                head_sha=look.pull_request.head_sha,
                base_sha=look.pull_request.base_sha,
                trigger=command.trigger,
                repeat=command.repeat,
                base_ref=look.pull_request.base_ref,
                check_name=await choose_check_name(self._services, command.repository, look.pull_request),
            )
            admission = await runs.admit(database, candidate, look.fence, self._services.clock.now())
            if not admission.stale:
                return admitted_(admission, _explain_not_admitted(admission.known))

    async def _find_label_refusal(self, command: LabelledIssue) -> JsonValue:
        return await find_label_refusal(self._services, self._guid, command)

    async def _read_memory_file(self, command: ReadMemoryFile) -> str:
        async def read(pushed: str | None) -> JsonValue:
            return await import_memory_file(self._services, command.repository, self._guid, pushed)

        step, key = self._journal.step, "read the memory file"
        return str(await read_when_visible(self._services, step, key, read, command.head_sha))

    async def _report_merge_group(self, command: ReportMergeGroup) -> JsonValue:
        """Let the queue's head have the verdict of the head that was reviewed, if that is still the live one."""
        services, number = self._services, command.number
        live = await services.host.pull_request(command.repository, number)
        past = await runs.list_for_pull_request(services.database, command.repository.id, number)
        base = command.base_ref or live.base_ref
        last, review = await self._find_newest_verdict([each.run for each in past], live.head_sha, base)
        is_excluded = last is not None and last.reason is ReasonCode.excluded
        if review is not None:
            conclusion = review.conclusion
        else:
            conclusion = Conclusion.neutral if is_excluded else Conclusion.action_required
        text = review_texts.render_merge_group(number, live.head_sha, review, is_excluded=is_excluded)
        name = review_texts.CHECK_NAME if last is None else last.check_name
        await checks.report(services, command.repository, self._guid, command.head_sha, name, conclusion, text)
        return f"reported {conclusion}"

    async def _find_newest_verdict(self, past: Sequence[Run], head: str, base: str) -> tuple[Run | None, Review | None]:
        """The newest run on a head and its verdict; one that has only begun says nothing against the one before.

        :param past: newest first. The verdict of one with another base is about another merge.
        """
        for run in past:
            if run.head_sha != head or run.base_ref not in {"", base}:
                continue
            review = await checkpoints.load_review(self._services.database, run)
            if review is not None or run.state.is_final:
                return run, review
        return None, None

    async def _open_check(self, run: Run) -> JsonValue:
        """Show the first sign if GitHub allows it now; otherwise the run does, which also says why it waits.

        Whatever still waits on the pull request would keep this run waiting, too, so it is woken.
        """
        await waits.end_for_pull_request(
            self._services.database, run.repository.id, run.number, self._services.clock.now()
        )
        if not run.is_of_issue:
            await self._withdraw_approvals(run)
        try:
            with use_importance(Importance.informing):
                await open_status(self._services, run)
        except (CodeHostError, Halted, Superseded) as error:
            log.info("first_sign.put_off", run=run.id, error=str(error))
        return None

    async def _withdraw_approvals(self, run: Run) -> None:
        """Before the first sign, which is left out where there is much to write: an approval is not to outlast that."""
        try:
            await withdraw_approvals(self._services, run)
        except (CodeHostError, Halted) as error:
            log.info("approval.withdrawn_later", run=run.id, error=str(error))

    async def _find_refusal(self, command: ReviewCheckedHead, number: int, seen: EventSnapshot | None) -> JsonValue:
        """Why the sender may not ask for another review; a button says the same as the command.

        Whoever is refused is told so below the pull request, once for a head.
        """
        standing = await load_actor(self._services, command.repository, number, command.sender, seen)
        refused = authorise(AskReview(full=True), standing.facts)
        if refused is not None:
            await record_refusal(self._services, self._guid, command.sender, refused)
            key = f"{command.repository.id}-{number}-{command.head_sha}-{command.sender.id}"
            text = command_texts.refuse(refused, command.sender.login)
            try:
                await comments.answer_below(self._services, command.repository, number, key, text)
            except (Forbidden, NotFound, Unprocessable) as error:
                log.warning("refusal.unsaid", guid=self._guid, error=str(error))
            return f"refused: it needs the role {refused.needed}, the sender has {refused.held}"
        head = None if standing.pull_request is None else standing.pull_request.head_sha
        if standing.gives_ok and head == command.head_sha:
            where = (command.repository, number)
            await give_ok(self._services, *where, command.head_sha, command.sender, command.asked_at)
        return None

    async def _list_pull_requests(self, command: ReviewCheckedHead) -> JsonValue:
        """The pull requests a check belongs to: by its run, by our runs on its head, or by asking GitHub."""
        run = await runs.get(self._services.database, command.run_id) if command.run_id else None
        if run is not None and run.repository.id == command.repository.id:
            return [run.number]
        known = await runs.list_for_head(self._services.database, command.repository.id, command.head_sha)
        if known:
            return [*sorted({run.number for run in known})]
        found = await self._services.host.open_pull_requests(command.repository, command.head_sha)
        return [pull_request.number for pull_request in found]


def _explain_not_admitted(known: Run | None) -> str:
    if known is None or known.state.is_final:
        return REVIEWED
    return AT_GATE if known.reason is ReasonCode.gate else IN_PROGRESS
