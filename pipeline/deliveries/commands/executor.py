"""Does what a comment's ``/forge`` lines say, one after the other, and answers it once."""

import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog
from pydantic import BaseModel, JsonValue

from domain.commands import ObeyComment, Repeat, ReviewPullRequest
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
from domain.gates import SLICED
from domain.github.conversation import Reaction
from domain.github.seen import Seen
from domain.importance import Importance, writing
from domain.money import Use
from domain.runs.run import ReasonCode, RepositoryRef, Run, Trigger
from domain.slash import (
    ENTRIES,
    AboutGate,
    Level,
    Mistake,
    Plain,
    Refused,
    SlashCommand,
    Tell,
    Verb,
)
from memory.budgets import model_answers
from memory.deliveries import command_counts
from memory.findings import dismissals
from memory.gates import gates
from memory.ledger import ledger
from memory.repositories import permits
from memory.reservations import reservations
from memory.reservations.reservations import StoredPurse
from memory.runs import checkpoints, runs, waits
from messages import automation as automation_texts
from messages import commands as command_texts
from messages import gates as gate_texts
from messages import history as history_texts
from messages import plan as plan_texts
from messages.commands import Answer, Past
from pipeline.automation import level
from pipeline.config import loading
from pipeline.consistent_reads import caught_up
from pipeline.context import Services
from pipeline.deliveries.commands import teaching
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.actor import May, Standing, give_ok, look, note_refusal
from pipeline.gates.ask import asked_at
from pipeline.gates.decide import AtGates, Reply, named_gate
from pipeline.publishing.publisher import Publisher
from safety.authorization import authorise, refusal
from safety.budgets import limits_of
from safety.review_quota import OUTSIDERS, turned_away

log = structlog.get_logger(__name__)


class Runs(Protocol):
    """What starting and ending runs is asked of: the dispatcher, which has the one way to do it.

    ``may`` is asked in the step that acts: it raises ``NotAllowed`` where somebody may not any more.
    """

    async def review(self, command: ReviewPullRequest, may: May) -> str:
        """Admit a run on the live head; what became of it."""
        ...

    async def issue(self, repository: RepositoryRef, number: int, trigger: Trigger, seen: Seen | None, may: May) -> str:
        """Admit a run of an issue; what became of it."""
        ...

    async def again(self, repository: RepositoryRef, number: int, verb: Verb, seen: Seen | None, may: May) -> str:
        """Take up a run of an issue again, or do its failed phase anew; what became of it."""
        ...

    async def end(self, repository: RepositoryRef, number: int, reason: ReasonCode) -> Sequence[Run]:
        """End what runs on a pull request; the runs that were stopped."""
        ...

    async def end_all(self, repository: RepositoryRef, reason: ReasonCode) -> int:
        """End what runs in a repository; how many runs that were."""
        ...

    async def test(self, repository: RepositoryRef, number: int, head: str, may: May) -> bool:
        """Have a head tested; whether a run knows it."""
        ...

    async def go_on(self, repository: RepositoryRef, number: int, is_judged: bool) -> None:
        """Let a run that waits for people look whether it still has to.

        :param is_judged: a finding was judged; an answered gate is found in any case.
        """
        ...


@dataclass(frozen=True)
class _Head:
    """A head that a command is about, or why there is none."""

    sha: str = ""
    refused: str = ""


_AT_GATES = frozenset({Verb.approve, Verb.reject, Verb.delegate, Verb.more, Verb.accept})
_OUTCOMES = frozenset({Verb.approve, Verb.reject, Verb.missed})
"""What the automation level is decided from."""


_SHOWING = frozenset({Verb.help, Verb.status, Verb.cost, Verb.history, Verb.view})


def only_shows(command: ObeyComment) -> bool:
    """Whether nothing that a comment asks for changes anything."""
    return all(isinstance(asked, Mistake) or asked.verb in _SHOWING for asked in command.asked)


class Away(BaseModel):
    """Why a comment is not heeded at all.

    :param role: the live one of who wrote it.
    """

    role: str
    why: str


class Obedience:
    """One comment and its answer. Permission is asked before each command, and again in the step that acts (T-P15)."""

    def __init__(
        self, services: Services, journal: WorkflowJournal, runs_: Runs, guid: str, command: ObeyComment
    ) -> None:
        self._services = services
        self._journal = journal
        self._runs = runs_
        self._guid = guid
        self._command = command
        self._teaching = teaching.Teaching(services, guid, command, self._note)
        self._is_judged = False
        self._refusals = 0  # of what somebody without a role asked

    async def execute(self) -> str:
        """Carry everything out; how many commands were obeyed, in a few words."""
        away = await self._journal.step("react", self._receive)
        if away is not None:
            return await self._turn_away(Away.model_validate(away))
        answers = [Answer(command_texts.written(asked), await self._answer(asked)) for asked in self._command.asked]
        if self._is_judged or self._asked_one_of(_AT_GATES):
            await self._runs.go_on(self._command.repository, self._command.number, self._is_judged)
        unsaid = await self._journal.step("reply", lambda: self._reply(answers))
        if self._is_judged or self._asked_one_of(_OUTCOMES):
            await self._journal.step("weigh the level", self._weigh)
        return f"{len(answers)} obeyed, unanswered: {unsaid}" if unsaid else f"{len(answers)} answered"

    def _asked_one_of(self, verbs: Collection[Verb]) -> bool:
        return any(not isinstance(asked, Mistake) and asked.verb in verbs for asked in self._command.asked)

    async def _answer(self, asked: SlashCommand | Mistake) -> str:
        """Carry one line out; the answer to it, also where it failed: what follows is carried out all the same."""
        try:
            return await self._obey(asked)
        except Superseded:
            raise
        except NotAllowed as refused:
            return refused.message
        except ForgeError as error:
            log.warning("command.failed", guid=self._guid, error=str(error))
            return command_texts.went_wrong(str(error))

    async def _obey(self, asked: SlashCommand | Mistake) -> str:
        """Carry one line out; the answer to it."""
        if isinstance(asked, Mistake):
            return command_texts.mistake(asked)
        if not ENTRIES[asked.verb].works:
            return command_texts.not_available(asked.verb)
        if asked.verb in _AT_GATES:
            said = _said(await self._journal.step(asked.verb, lambda: self._at_gate(asked)))
            self._refusals += said.is_outsider
            return said.text
        known = await caught_up(
            self._services, self._journal.step, "ask for permission", self._look, self._command.seen
        )
        if known is None:
            return command_texts.cannot_ask(self._command.sender.login)
        standing = Standing.model_validate(known)
        refused = authorise(asked, standing.facts)
        if refused is not None:
            await self._journal.step("note the refusal", lambda: self._note(refused))
            self._refusals += refused.held in OUTSIDERS
            return command_texts.refused(refused, self._command.sender.login)
        return await self._carry_out(asked, standing)

    async def _carry_out(self, asked: SlashCommand, standing: Standing) -> str:
        match asked.verb:
            case Verb.review:
                return await self._review(asked, asked.full, standing)
            case Verb.test:
                return await self._test(asked, standing)
            case Verb.plan | Verb.run:
                return await self._on_issue(asked)
            case Verb.retry | Verb.resume:
                return await self._again(asked, standing)
            case Verb.cancel | Verb.abort:
                return await self._cancel(asked)
            case Verb.pause:
                return await self._pause(asked)
            case Verb.unpause:
                return str(await self._act("unpause", asked, self._unpause))
            case verb if verb in teaching.VERBS:
                self._is_judged |= verb in teaching.JUDGING
                return str(await self._act(verb, asked, lambda: self._teaching.answer(asked)))
            case verb if verb in _SHOWING:
                if isinstance(asked, AboutGate):
                    return str(await self._journal.step(asked.verb, lambda: self._view_gate(asked.gate)))
                return str(await self._journal.step(asked.verb, lambda: self._show(asked.verb)))
            case Verb.level | Verb.missed:
                return str(await self._act(asked.verb, asked, lambda: self._about_level(asked)))
            case _:
                return command_texts.not_available(asked.verb)

    # --- who commands -------------------------------------------------------------------------------------------

    async def _look(self, seen: Seen | None = None) -> JsonValue:
        """Who commands, asked at this moment; None if GitHub did not say."""
        command = self._command
        number = command.number if command.is_pull_request else None
        try:
            standing = await look(self._services, command.repository, number, command.sender, seen)
            return standing.model_dump(mode="json")
        except (RateLimited, Behind):
            raise
        except CodeHostError:
            return None

    async def _act(self, key: str, asked: SlashCommand, call: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        """A step that acts, in which the permission is asked once more: it may have waited for hours since."""

        async def act() -> JsonValue:
            await self._still(asked)
            return await call()

        return await self._journal.step(key, act)

    async def _still(self, asked: SlashCommand) -> None:
        """:raises NotAllowed: they may not, or GitHub does not say."""
        known = await self._look()
        if known is None:
            raise NotAllowed(command_texts.cannot_ask(self._command.sender.login))
        refused = authorise(asked, Standing.model_validate(known).facts)
        if refused is not None:
            await self._note(refused)
            raise NotAllowed(command_texts.refused(refused, self._command.sender.login))

    async def _note(self, refused: Refused) -> JsonValue:
        """A refusal is part of the audit."""
        await note_refusal(self._services, self._guid, self._command.sender, refused)
        return None

    # --- gates --------------------------------------------------------------------------------------------------

    async def _at_gate(self, asked: SlashCommand) -> JsonValue:
        command = self._command
        if asked.verb is Verb.reject and await self._rejects_merge():
            return _Said(text=automation_texts.merge_stopped()).model_dump(mode="json")
        answering = AtGates(self._services, self._guid, command.repository, command.number, command.sender)
        try:
            reply = await answering.answer(asked, command.written_at)
        except RateLimited:
            raise
        except CodeHostError:
            reply = Reply(command_texts.cannot_ask(command.sender.login))
        is_outsider = reply.refused is not None and reply.refused.held in OUTSIDERS
        return _Said(text=reply.text, is_outsider=is_outsider).model_dump(mode="json")

    async def _rejects_merge(self) -> bool:
        """Whether a rejection is meant for an announced merge, where no gate waits for one."""
        command = self._command
        if await asked_at(self._services, command.repository, command.number, waiting=True):
            return False
        if await level.pending(self._services, command.repository, command.number) is None:
            return False
        standing = await self._look()
        if standing is None or authorise(Plain(verb=Verb.cancel), Standing.model_validate(standing).facts) is not None:
            return False
        return bool(await self._stop_merge("rejected it"))

    async def _view_gate(self, name: str | None) -> JsonValue:
        """A gate that waits or is named; where none waits, the last verdict."""
        database, command = self._services.database, self._command
        there = await asked_at(self._services, command.repository, command.number, waiting=name is None)
        if name is None and not there:
            return await self._view()
        found = there[0] if name is None and len(there) == 1 else None
        found = found or await named_gate(self._services, command.repository, command.number, name)
        if isinstance(found, str):
            return found
        spent_ = (await reservations.of_run(database, found.run_id)).amount
        return gate_texts.comment(found, spent_, "").rstrip()

    # --- runs ---------------------------------------------------------------------------------------------------

    async def _review(self, asked: SlashCommand, full: bool, standing: Standing) -> str:
        command, meant = self._command, await self._head(asked, standing)
        if meant.refused:
            return meant.refused
        head = meant.sha
        if await self._journal.step("does a budget wait", self._is_stopped):
            refused = refusal(standing.role, "write")
            if refused is not None:
                return command_texts.budget_waits()
        outcome = await self._runs.review(
            ReviewPullRequest(
                repository=command.repository,
                number=command.number,
                head_sha=head,
                trigger=Trigger.command,
                repeat=Repeat.always if full or standing.gives_ok else Repeat.unless_reviewed,
                sender=command.sender,
            ),
            partial(self._still, asked),
        )
        if not outcome.startswith("run "):
            return command_texts.not_reviewed_again(head, outcome)
        return command_texts.reviewing(head, full, standing.gives_ok)

    async def _test(self, asked: SlashCommand, standing: Standing) -> str:
        head = await self._head(asked, standing)
        if head.refused:
            return head.refused
        paused_by = await self._journal.step("is it paused", self._paused_by)
        if paused_by is not None:
            return command_texts.already_paused(str(paused_by))
        may = partial(self._still, asked)
        is_known = await self._runs.test(self._command.repository, self._command.number, head.sha, may)
        return (
            command_texts.begun_testing(head.sha, standing.gives_ok)
            if is_known
            else command_texts.not_looked_at(head.sha)
        )

    async def _head(self, asked: SlashCommand, standing: Standing) -> _Head:
        """The head that is meant, which has the ok of whoever asks where it needs one."""
        pull_request = standing.pull_request
        if pull_request is None:
            return _Head(refused=command_texts.only_on_pull_requests(asked.verb))
        if not pull_request.is_open:
            return _Head(refused=command_texts.nothing_to_review())
        head = pull_request.head_sha
        is_meant = self._command.head_sha in {None, head}
        if is_meant and standing.gives_ok:
            is_meant = bool(await self._act("give the ok", asked, lambda: self._give_ok(head)))
        return _Head(head) if is_meant else _Head(refused=command_texts.head_moved(head))

    async def _on_issue(self, asked: SlashCommand) -> str:
        """Begin a run of the issue: all of it, or only the plan."""
        verb, may = asked.verb, partial(self._still, asked)
        if self._command.is_pull_request:
            return command_texts.only_on_issues(verb)
        if verb is not Verb.plan and not await self._are_runs_wanted():
            return command_texts.runs_are_off()
        trigger = Trigger.plan if verb is Verb.plan else Trigger.issue
        where = (self._command.repository, self._command.number)
        outcome = await self._runs.issue(*where, trigger, self._command.seen, may)
        return command_texts.SHOWN if outcome.startswith("run ") else command_texts.not_begun(outcome)

    async def _again(self, asked: SlashCommand, standing: Standing) -> str:
        """On a pull request, a review that ended without a verdict is simply begun again."""
        verb, may = asked.verb, partial(self._still, asked)
        if self._command.is_pull_request:
            return await self._review(asked, False, standing)
        if not await self._are_runs_wanted():
            return command_texts.runs_are_off()
        where = (self._command.repository, self._command.number)
        outcome = await self._runs.again(*where, verb, self._command.seen, may)
        if not outcome.startswith("run "):
            return command_texts.not_begun(outcome)
        return command_texts.taken_up() if verb is Verb.resume else command_texts.SHOWN

    async def _are_runs_wanted(self) -> bool:
        """Whether the repository lets issues be carried out."""
        key = "are runs wanted"
        return not await self._journal.does(key) or bool(await self._journal.step(key, self._runs_wanted))

    async def _runs_wanted(self) -> JsonValue:
        services, ceilings = self._services, self._services.ceilings.of_configuration
        loaded = await loading.load(services.host, services.database, self._command.repository, ceilings)
        return loaded.configuration.issues.run

    async def _is_stopped(self) -> JsonValue:
        """Whether a guard or a budget waits here for a person: to begin anew would be a way around it."""
        command = self._command
        there = await gates.of_pull_request(
            self._services.database, command.repository.id, command.number, waiting=True
        )
        return any(gate.name in SLICED for gate in there)

    async def _give_ok(self, head_sha: str) -> JsonValue:
        command = self._command
        where = (command.repository, command.number)
        return await give_ok(self._services, *where, head_sha, command.sender, command.written_at)

    async def _cancel(self, asked: SlashCommand) -> str:
        stopped = await self._act("stop the merge", asked, lambda: self._stop_merge("cancelled it"))
        ended = await self._runs.end(self._command.repository, self._command.number, ReasonCode.aborted)
        if not ended:
            return automation_texts.merge_stopped() if stopped else command_texts.nothing_to_cancel()
        return command_texts.cancelled(ended[0])

    async def _pause(self, asked: SlashCommand) -> str:
        by = await self._act("pause", asked, self._begin_pause)
        if by is not None:
            return command_texts.already_paused(str(by))
        return command_texts.paused(await self._runs.end_all(self._command.repository, ReasonCode.paused))

    async def _begin_pause(self) -> JsonValue:
        """Whoever had paused the repository before; None if this does it."""
        database, command = self._services.database, self._command
        by = await permits.paused_by(database, command.repository)
        if by is None:
            await permits.pause(database, command.repository, command.sender, self._services.clock.now())
        await level.stop_all(self._services, command.repository, f"{command.sender.login} paused Forge")
        return by

    async def _paused_by(self) -> JsonValue:
        return await permits.paused_by(self._services.database, self._command.repository)

    async def _unpause(self) -> JsonValue:
        by = await permits.paused_by(self._services.database, self._command.repository)
        command, now = self._command, self._services.clock.now()
        await permits.unpause(self._services.database, command.repository, command.sender, now)
        return command_texts.not_paused() if by is None else command_texts.unpaused()

    # --- automation ---------------------------------------------------------------------------------------------

    async def _about_level(self, asked: SlashCommand) -> JsonValue:
        services, command = self._services, self._command
        match asked:
            case Level(level=int(wanted)):
                return await level.set_level(services, command.repository, wanted, command.sender, self._guid)
            case Tell():
                where = (command.repository, command.number)
                return await level.miss(services, *where, command.sender, asked.text, self._guid)
            case _:
                return await level.show(services, command.repository)

    async def _weigh(self) -> JsonValue:
        return await level.weigh_here(self._services, self._command.repository, self._command.number)

    async def _stop_merge(self, did: str) -> JsonValue:
        """Whether there was an announced merge here to be stopped."""
        command = self._command
        why = f"{command.sender.login} {did}"
        return await level.stop(self._services, command.repository, command.number, why)

    # --- showing ------------------------------------------------------------------------------------------------

    async def _show(self, verb: Verb) -> JsonValue:
        database, repository, number = self._services.database, self._command.repository, self._command.number
        past = await runs.of_pull_request(database, repository.id, number)
        match verb:
            case Verb.help:
                return command_texts.help_table()
            case Verb.history:
                return await self._history(past)
            case Verb.cost:
                return await self._cost()
            case Verb.view:
                return await self._view()
            case _:
                last = past[0] if past else None
                until = None if last is None else await waits.until(database, last.run.id)
                doing = "" if last is None else last.run.detail if not last.run.state.is_final else ""
                open_ = await asked_at(self._services, repository, number, waiting=True)
                waits_ = gate_texts.waits(open_) if open_ else ""
                return command_texts.status(last, doing, until, await permits.paused_by(database, repository), waits_)

    async def _history(self, past: Sequence[Past]) -> str:
        """Every run, and what the newest one tried."""
        if not past:
            return command_texts.history(past)
        newest = past[0].run.id
        tried, count = await model_answers.tried(self._services.database, newest, history_texts.MOST)
        return "\n\n".join(
            part for part in (command_texts.history(past), history_texts.turns(newest, tried, count)) if part
        )

    async def _cost(self) -> str:
        database, repository = self._services.database, self._command.repository
        past = await runs.of_pull_request(database, repository.id, self._command.number)
        budgets = await self._budgets(past[0].run) if past else ()
        shares = [share for each in past for share in await reservations.shares(database, run_id=each.run.id)]
        return command_texts.cost(
            [
                command_texts.Spending(
                    share.phase, share.model, share.spent.calls, share.spent.usage, share.spent.amount
                )
                for share in shares
            ],
            budgets,
        )

    async def _budgets(self, run: Run) -> Sequence[Use]:
        """How far the limits are used that hold for the last run."""
        services = self._services
        ceilings = services.ceilings
        loaded = await loading.load(services.host, services.database, run.repository, ceilings.of_configuration)
        limits = limits_of(loaded.configuration.budgets)
        purse = StoredPurse(services.database, run, run.budgeted, limits, services.clock, ceilings)
        return await purse.uses()

    async def _view(self) -> str:
        repository, number = self._command.repository, self._command.number
        if not self._command.is_pull_request:
            return plan_texts.view(await checkpoints.latest_plan(self._services.database, repository.id, number))
        review = await checkpoints.latest_review(self._services.database, repository.id, number)
        if review is None:
            return command_texts.view(None, {})
        everything = review.found
        known = await dismissals.among(self._services.database, repository, [f.fingerprint for f in everything])
        return command_texts.view(review, {f.id: known[f.fingerprint] for f in everything if f.fingerprint in known})

    # --- how much is obeyed -------------------------------------------------------------------------------------

    async def _receive(self) -> JsonValue:
        """Why the comment is not heeded at all; otherwise show that it was seen."""
        away = await self._away()
        if away is not None:
            return away.model_dump(mode="json")
        return await self._react(Reaction.seen)

    async def _away(self) -> Away | None:
        """Whether this is too much. Who it is is asked only where it may be, so that nobody waits for that."""
        services, command = self._services, self._command
        now = services.clock.now()
        commented = await command_counts.note(
            services.database, self._guid, command.repository.id, command.sender.id, now
        )
        if not commented.is_much:
            return None
        role = await services.host.permission(command.repository, command.sender.login, command.sender.id)
        reason = turned_away(commented, role)
        return None if reason is None else Away(role=role, why=reason.text)

    async def _turn_away(self, away: Away) -> str:
        """Tell them once, then nothing; the audit has each."""
        await self._journal.step("note the refusal", lambda: self._note_away(away))
        await self._journal.step("reply", lambda: self._reply_away(away))
        return f"turned away: {away.why}"

    async def _note_away(self, away: Away) -> JsonValue:
        sender = self._command.sender
        payload = {"code": "quota", "account": sender.id, "by_login": sender.login, "held": away.role}
        await ledger.note_refusal(self._services.database, self._guid, payload, self._services.clock.now())
        return None

    async def _reply_away(self, away: Away) -> JsonValue:
        if await command_counts.tell_once(self._services.database, self._guid, "quota"):
            text = command_texts.too_many_comments(self._command.sender.login, away.why)
            await Publisher.of(self._services).answer(self._command, self._guid, [Answer("", text)])
        return None

    async def _is_told_again(self, said: int) -> bool:
        """Whether all that is to be said is what somebody without a role was told before: that they may not."""
        if self._refusals < said:
            return False
        return not await command_counts.tell_once(self._services.database, self._guid, "refusal")

    # --- answering ----------------------------------------------------------------------------------------------

    async def _react(self, reaction: Reaction) -> JsonValue:
        """Show that the comment was seen. Nothing waits for that: not for a halt, and a decision may have a deadline.

        GitHub takes no reaction where a conversation is locked, or where the comment is gone or not there yet.
        """
        with contextlib.suppress(Halted, CodeHostError), writing(Importance.informing):
            await self._services.host.react(self._command.repository, self._command.comment, reaction)
        return None

    async def _reply(self, answers: Sequence[Answer]) -> JsonValue:
        """Answer; why that cannot be, e.g. in a locked conversation: what was asked for is done all the same."""
        said = [answer for answer in answers if answer.text != command_texts.SHOWN]
        try:
            if said and not await self._is_told_again(len(answers)):
                await Publisher.of(self._services).answer(self._command, self._guid, said)
        except (Forbidden, NotFound, Unprocessable) as error:
            log.warning("command.unanswered", guid=self._guid, number=self._command.number, error=str(error))
            return error.message
        return None


class _Said(BaseModel):
    """What was answered at a gate, and whether that is the refusal of somebody without a role."""

    text: str
    is_outsider: bool = False


def _said(answer: JsonValue) -> _Said:
    """What a step answered; in an earlier version only the text."""
    return _Said.model_validate(answer if isinstance(answer, dict) else {"text": answer})
