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
    FollowRepository,
    HearComment,
    LabelledIssue,
    NoteThread,
    ObeyComment,
    ReadMemoryFile,
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
from domain.github.seen import Seen
from domain.importance import Importance, writing
from domain.review.review import Conclusion, Review
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState, Trigger
from domain.slash import AskReview, Verb
from memory.deliveries import deliveries, pushes
from memory.gates import gates
from memory.reports.retention import LEAST
from memory.repositories import addresses
from memory.runs import checkpoints, runs, waits
from memory.runs.runs import Candidate
from messages import automation as automation_texts
from messages import commands as command_texts
from messages import gate_answers
from messages import review as review_texts
from messages.commands import Answer
from pipeline.automation.level import weigh_here
from pipeline.config import loading
from pipeline.config.memory_file import take_over
from pipeline.consistent_reads import caught_up
from pipeline.context import Services
from pipeline.deliveries import change_requests
from pipeline.deliveries.admission import Admitted, admit_issue, check_of, look_at, refusal_of_label
from pipeline.deliveries.admission import admitted as admitted_
from pipeline.deliveries.cancellation import Ending
from pipeline.deliveries.checks_ended import checks_ended
from pipeline.deliveries.commands.executor import Obedience, only_shows
from pipeline.deliveries.retry import resume, retry
from pipeline.durable.anew import is_anew
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import go_on, queue
from pipeline.feedback.replies import hear
from pipeline.gates.actor import May, asked_before, give_ok, look, note_refusal
from pipeline.gates.ask import refresh
from pipeline.gates.decide import Saying, decide
from pipeline.issue.test_command import queue_test, run_of
from pipeline.maintenance.purge import still_lost
from pipeline.publishing.publisher import Publisher
from pipeline.runs.status import open_sign
from pipeline.verdicts.approval import withdraw
from pipeline.verdicts.resume import go_on_where_judged
from pipeline.verdicts.threads import note
from safety.authorization import authorise

log = structlog.get_logger(__name__)


REVIEWED = "this head was reviewed before"
IN_WORK = "this head is being reviewed"
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
    by_github = row.guid == guid == deliveries.original(guid)  # not by `forge replay`
    if by_github and isinstance(command, ObeyComment) and row.received_at - command.written_at > LEAST:
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
        self._ending = Ending(services, self._journal, guid)

    async def execute(self) -> str:
        """Do what the command asks and record what became of it."""
        with bound_contextvars(delivery=self._guid):
            return await self._execute()

    async def _execute(self) -> str:
        try:
            outcome = await self._act(self._command)
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
        if await self._was_in_vain(outcome):
            await deliveries.may_come_again(self._services.database, self._guid)
        await deliveries.finish(self._services.database, self._guid, outcome, self._services.clock.now())
        return outcome

    async def _was_in_vain(self, outcome: str) -> bool:
        """Whether a button was pressed and nothing came of it: GitHub tells the next press in the same words."""
        match self._command:
            case ReviewCheckedHead():
                return not any(each.startswith("run ") for each in outcome.split(", "))
            case DecideGate():
                gate = await gates.get(self._services.database, self._command.gate_id)
                return gate is None or gate.decision is None or gate.decision.cause != self._guid
            case _:
                return False

    async def _act(self, command: AnyCommand) -> str:
        match command:
            case ReviewPullRequest():
                return await self.review(command)
            case ReviewCheckedHead():
                return await self._review_again(command)
            case EndPullRequest() | EndIssue() | EndInstallation() | ResumeInstallation():
                return await self._ending.carry_out(command)
            case FollowRepository():
                return await self._follow(command.repository)
            case LabelledIssue():
                return await self._labelled(command)
            case ReportMergeGroup():
                return str(await self._journal.step("report", lambda: self._report(command)))
            case ObeyComment() if is_anew(self._journal.workflow_id) and not only_shows(command):
                return await self._have_it_said_again(command)
            case ObeyComment():
                return await Obedience(self._services, self._journal, self, self._guid, command).execute()
            case DecideGate():
                return await self._answer(command)
            case NoteThread() | ChangesRequested() | HearComment() | ReadMemoryFile() | ChecksEnded():
                return await self._note(command)

    async def _have_it_said_again(self, command: ObeyComment) -> str:
        """What this comment asks for may have been done before: hours later, that could undo what came since."""

        async def tell() -> JsonValue:
            await Publisher.of(self._services).answer(command, self._guid, [Answer("", command_texts.say_it_again())])
            return None

        await self._journal.step("reply", tell)
        return "failed: Forge was updated while it waited, and cannot go on where it was"

    async def _note(self, command: NoteThread | ChangesRequested | HearComment | ReadMemoryFile | ChecksEnded) -> str:
        """Take note of what somebody let be known without asking for anything."""
        match command:
            case NoteThread():
                outcome = await self._noted(command)
                await self.go_on(command.repository, command.number, is_judged=True)
                await self._weigh(command.repository, command.number)
                return str(outcome)
            case ChangesRequested():
                return await change_requests.take(self._services, self._journal, command, self._guid)
            case HearComment():
                return await hear(self._services, self._journal, command, self._guid)
            case ReadMemoryFile():
                return await self._read_memory_file(command)
            case ChecksEnded():
                return await checks_ended(self._services, self._journal, command, self._guid)

    async def _noted(self, command: NoteThread) -> JsonValue:
        async def look(root: int | None) -> JsonValue:
            return await note(self._services, self._guid, command, is_early=root is not None)

        return await caught_up(self._services, self._journal.step, "note the thread", look, command.root)

    async def review(self, command: ReviewPullRequest, may: May = asked_before) -> str:
        """Admit a run on the live head, unless this head was reviewed before; what became of it."""
        if command.repeat is Repeat.if_begun and not await self._journal.step(
            "is a draft left out", lambda: self._leaves_drafts_out(command)
        ):
            return "nothing is under way that a draft ends"

        async def admit(seen: Seen | None) -> JsonValue:
            await self._still(may, command.number)
            return await self._admit(command, seen)

        answer = await self._caught_up("admit", admit, command.seen)
        admitted = Admitted.model_validate(answer)
        if admitted.run is None:
            return admitted.why
        await self._start(admitted.run, admitted.superseded)
        return f"run {admitted.run.id}"

    async def _still(self, may: May, number: int) -> None:
        """Ask whether somebody still may, unless it was admitted by a process that died before it could say so.

        :raises NotAllowed: they may not.
        """
        if await runs.admitted(self._services.database, f"{self._guid}#{number}") is None:
            await may()

    async def issue(
        self, repository: RepositoryRef, number: int, trigger: Trigger, seen: Seen | None, may: May = asked_before
    ) -> str:
        """Admit a run of an issue, unless one works on it; what became of it."""

        async def admit(seen: Seen | None) -> JsonValue:
            await self._still(may, number)
            admitted = await admit_issue(self._services, self._guid, repository, number, trigger, seen)
            return admitted.model_dump(mode="json")

        answer = await self._caught_up("admit", admit, seen)
        found = Admitted.model_validate(answer)
        if found.run is None:
            return found.why
        await self._start(found.run, found.superseded)
        return f"run {found.run.id}"

    async def again(
        self, repository: RepositoryRef, number: int, verb: Verb, seen: Seen | None, may: May = asked_before
    ) -> str:
        """Take up the newest run of an issue again, or begin another with its plan; what became of it."""

        async def take_up(seen: Seen | None) -> JsonValue:
            await self._still(may, number)
            how = resume if verb is Verb.resume else retry
            return (await how(self._services, self._guid, repository, number, seen)).model_dump(mode="json")

        found = Admitted.model_validate(await self._caught_up(verb.value, take_up, seen))
        if found.run is None:
            return found.why
        if found.run.state is RunState.waiting:  # the same run, with all that it has
            await go_on(found.run, self._guid)
        else:
            await self._start(found.run, found.superseded)
        return f"run {found.run.id}"

    async def _labelled(self, command: LabelledIssue) -> str:
        refused = await self._journal.step("ask for permission", lambda: self._refusal_of_label(command))
        if refused is not None:
            return str(refused)
        if command.head_sha is None:

            async def may() -> None:
                why = await self._refusal_of_label(command)
                if why is not None:
                    raise NotAllowed(str(why))

            return await self._begin_labelled(command, may)
        asked = ReviewCheckedHead(
            repository=command.repository,
            head_sha=command.head_sha,
            run_id=None,
            trigger=Trigger.command,
            sender=command.sender,
            asked_at=_LONG_AGO if command.seen is None else command.seen.updated_at,
        )
        return await self._review_one_again(asked, command.number, command.seen)

    async def _begin_labelled(self, command: LabelledIssue, may: May) -> str:
        outcome = await self.issue(command.repository, command.number, Trigger.issue, command.seen, may)
        if outcome.startswith(automation_texts.AT_LEVEL_0):  # who put it there waits for something that does not come
            text = command_texts.not_begun(outcome)
            await self._journal.step("say why not", lambda: self._say(command.repository, command.number, text))
        return outcome

    async def _say(self, repository: RepositoryRef, number: int, text: str) -> JsonValue:
        await Publisher.of(self._services).say_once(repository, number, self._guid, text)
        return None

    async def test(self, repository: RepositoryRef, number: int, head: str, may: May = asked_before) -> bool:
        """Have the head tested that the newest run here is about; whether there is one."""

        async def find() -> JsonValue:
            await may()
            run = await run_of(self._services, repository, number, head)
            return None if run is None else run.model_dump(mode="json")

        found = await self._journal.step("whose head it is", find)
        if found is not None:
            await queue_test(Run.model_validate(found), self._guid)
        return found is not None

    async def go_on(self, repository: RepositoryRef, number: int, is_judged: bool) -> None:
        """See :func:`pipeline.verdicts.resume.go_on_where_judged`."""
        await go_on_where_judged(self._services, self._journal, self._guid, repository, number, is_judged=is_judged)

    async def _answer(self, command: DecideGate) -> str:
        """Do what a button of a gate's check says."""
        gate = await gates.get(self._services.database, command.gate_id)
        if gate is None or gate.repository.id != command.repository.id:
            return "ignored: there is no such gate"
        if command.choice is Choice.view:
            await self._journal.step("show the gate", lambda: self._refresh(gate.id))
            return "shown"
        saying = Saying(command.sender, command.choice, seen_head=command.head_sha)
        answer = str(await self._journal.step("decide", lambda: self._decide(gate, saying)))
        await self.go_on(gate.repository, gate.number, is_judged=False)
        note_ = gate_answers.pressed(command.sender.login, answer)
        await self._journal.step("show the gate", lambda: self._refresh(gate.id, note_))
        await self._weigh(gate.repository, gate.number)
        return answer

    async def _follow(self, repository: RepositoryRef) -> str:
        """Keep the address GitHub says the repository has now: the event may be late, or sent once more."""

        async def follow(told: RepositoryRef | None) -> JsonValue:
            now = await self._address(repository, told)
            if await still_lost(self._services, now.installation_id, (now.id,)):
                return "ignored: this installation does not cover the repository any more"
            return f"{await addresses.follow(self._services.database, now)} addresses changed"

        return str(await caught_up(self._services, self._journal.step, "follow", follow, repository))

    async def _address(self, repository: RepositoryRef, told: RepositoryRef | None) -> RepositoryRef:
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

    async def _leaves_drafts_out(self, command: ReviewPullRequest) -> JsonValue:
        """Whether something is under way that nobody asked for, where drafts are not reviewed."""
        past = await runs.of_pull_request(self._services.database, command.repository.id, command.number)
        if not past or past[0].run.state.is_final or past[0].run.trigger is not Trigger.pull_request:
            return False
        ceilings = self._services.ceilings.of_configuration
        host, database = self._services.host, self._services.database
        loaded = await loading.load(host, database, command.repository, ceilings)
        return not loaded.configuration.review.drafts

    async def _weigh(self, repository: RepositoryRef, number: int) -> None:
        """Weigh the automation level after a person decided something."""
        await self._journal.step("weigh the level", lambda: weigh_here(self._services, repository, number))

    async def _decide(self, gate: Gate, saying: Saying) -> JsonValue:
        """A button says its answer now or never: nobody expects it to be carried out hours later."""
        try:
            return (await decide(self._services, self._guid, gate, saying)).text
        except RateLimited:
            raise
        except CodeHostError:
            return command_texts.cannot_ask(saying.sender.login)

    async def _refresh(self, gate_id: str, note_: str = "") -> JsonValue:
        gate = await gates.get(self._services.database, gate_id)
        if gate is not None and (gate.is_waiting or not note_):
            looked = None if note_ else self._services.clock.now()
            await refresh(self._services, gate, note_, looked)
        return None

    async def _review_again(self, command: ReviewCheckedHead) -> str:
        numbers = cast(list[int], await self._journal.step("find", lambda: self._numbers(command)))
        outcomes = [await self._review_one_again(command, number) for number in numbers]
        return ", ".join(outcomes) or "no open pull request has this head"

    async def _review_one_again(self, command: ReviewCheckedHead, number: int, seen: Seen | None = None) -> str:
        async def ask(seen: Seen | None) -> JsonValue:
            return await self._refusal(command, number, seen)

        refused = await self._caught_up("ask for permission", ask, seen)
        if refused is not None:
            return str(refused)

        async def may() -> None:
            why = await self._refusal(command, number, None)
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
        return await self.review(again, may)

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
        await queue(run)
        await self._ending.stop(superseded)

    async def _caught_up(
        self, key: str, look: Callable[[Seen | None], Awaitable[JsonValue]], seen: Seen | None
    ) -> JsonValue:
        return await caught_up(self._services, self._journal.step, key, look, seen)

    async def _admit(self, command: ReviewPullRequest, seen: Seen | None) -> JsonValue:
        return (await self._admitted(command, seen)).model_dump(mode="json")

    async def _admitted(self, command: ReviewPullRequest, seen: Seen | None) -> Admitted:
        """Admit what GitHub says is the live head; look again if somebody else may have seen a newer one meanwhile."""
        database, admitted_by = self._services.database, f"{self._guid}#{command.number}"
        if command.pushed_at is not None:
            pushed = (command.number, command.head_sha, command.sender, command.pushed_at)
            await pushes.note(database, command.repository, *pushed)
        while True:
            look = await look_at(self._services, command.repository, command.number, seen)
            if not look.pull_request.is_open:
                earlier = await runs.admitted(database, admitted_by)  # by a process that died before it could say so
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
                check_name=await check_of(self._services, command.repository, look.pull_request),
            )
            admission = await runs.admit(database, candidate, look.fence, self._services.clock.now())
            if not admission.stale:
                return admitted_(admission, _why_not(admission.known))

    async def _refusal_of_label(self, command: LabelledIssue) -> JsonValue:
        return await refusal_of_label(self._services, self._guid, command)

    async def _read_memory_file(self, command: ReadMemoryFile) -> str:
        async def read(pushed: str | None) -> JsonValue:
            return await take_over(self._services, command.repository, self._guid, pushed)

        step, key = self._journal.step, "read the memory file"
        return str(await caught_up(self._services, step, key, read, command.head_sha))

    async def _report(self, command: ReportMergeGroup) -> JsonValue:
        """Let the queue's head have the verdict of the head that was reviewed, if that is still the live one."""
        services, number = self._services, command.number
        live = await services.host.pull_request(command.repository, number)
        past = await runs.of_pull_request(services.database, command.repository.id, number)
        base = command.base_ref or live.base_ref
        last, review = await self._newest_verdict([each.run for each in past], live.head_sha, base)
        is_excluded = last is not None and last.reason is ReasonCode.excluded
        if review is not None:
            conclusion = review.conclusion
        else:
            conclusion = Conclusion.neutral if is_excluded else Conclusion.action_required
        text = review_texts.queued_for_merge(number, live.head_sha, review, is_excluded=is_excluded)
        name = review_texts.CHECK_NAME if last is None else last.check_name
        await Publisher.of(services).report(command.repository, self._guid, command.head_sha, name, conclusion, text)
        return f"reported {conclusion}"

    async def _newest_verdict(self, past: Sequence[Run], head: str, base: str) -> tuple[Run | None, Review | None]:
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
        await waits.end_of_pull_request(
            self._services.database, run.repository.id, run.number, self._services.clock.now()
        )
        if not run.is_of_issue:
            await self._withdraw(run)
        try:
            with writing(Importance.informing):
                await open_sign(self._services, run)
        except (CodeHostError, Halted, Superseded) as error:
            log.info("first_sign.put_off", run=run.id, error=str(error))
        return None

    async def _withdraw(self, run: Run) -> None:
        """Before the first sign, which is left out where there is much to write: an approval is not to outlast that."""
        try:
            await withdraw(self._services, run)
        except (CodeHostError, Halted) as error:
            log.info("approval.withdrawn_later", run=run.id, error=str(error))

    async def _refusal(self, command: ReviewCheckedHead, number: int, seen: Seen | None) -> JsonValue:
        """Why the sender may not ask for another review; a button says the same as the command.

        Whoever is refused is told so below the pull request, once for a head.
        """
        standing = await look(self._services, command.repository, number, command.sender, seen)
        refused = authorise(AskReview(full=True), standing.facts)
        if refused is not None:
            await note_refusal(self._services, self._guid, command.sender, refused)
            key = f"{command.repository.id}-{number}-{command.head_sha}-{command.sender.id}"
            text = command_texts.refused(refused, command.sender.login)
            try:
                await Publisher.of(self._services).say_once(command.repository, number, key, text)
            except (Forbidden, NotFound, Unprocessable) as error:
                log.warning("refusal.unsaid", guid=self._guid, error=str(error))
            return f"refused: it needs the role {refused.needed}, the sender has {refused.held}"
        head = None if standing.pull_request is None else standing.pull_request.head_sha
        if standing.gives_ok and head == command.head_sha:
            where = (command.repository, number)
            await give_ok(self._services, *where, command.head_sha, command.sender, command.asked_at)
        return None

    async def _numbers(self, command: ReviewCheckedHead) -> JsonValue:
        """The pull requests a check belongs to: by its run, by our runs on its head, or by asking GitHub."""
        run = await runs.get(self._services.database, command.run_id) if command.run_id else None
        if run is not None and run.repository.id == command.repository.id:
            return [run.number]
        known = await runs.of_head(self._services.database, command.repository.id, command.head_sha)
        if known:
            return [*sorted({run.number for run in known})]
        found = await self._services.host.open_pull_requests(command.repository, command.head_sha)
        return [pull_request.number for pull_request in found]


def _why_not(known: Run | None) -> str:
    if known is None or known.state.is_final:
        return REVIEWED
    return AT_GATE if known.reason is ReasonCode.gate else IN_WORK
