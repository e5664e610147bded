"""Does what a comment's ``/forge`` lines say, one after the other, and answers it once."""

import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog
from pydantic import BaseModel, JsonValue

from domain.commands import ExecuteComment, Repeat, ReviewPullRequest
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
from domain.gates import BUDGET_GATES
from domain.github.conversation import Reaction
from domain.github.seen import EventSnapshot
from domain.money import LimitUse
from domain.runs.run import ReasonCode, RepositoryRef, Run, Trigger
from domain.slash.commands import AboutGate, Level, PlainCommand, SlashCommand, TextCommand
from domain.slash.mistakes import SlashMistake
from domain.slash.verbs import VERBS, Verb
from memory.budgets import model_answers
from memory.deliveries import command_counts
from memory.findings import dismissals
from memory.gates import gates
from memory.ledger import ledger
from memory.repositories import permits
from memory.reservations import reservations
from memory.runs import checkpoints, runs, waits
from messages import automation as automation_texts
from messages import commands as command_texts
from messages import gates as gate_texts
from messages import history as history_texts
from messages import plan as plan_texts
from messages.commands import Answer, PastRun
from pipeline.automation import level
from pipeline.config import loading
from pipeline.consistent_reads import read_when_visible
from pipeline.context import Services
from pipeline.deliveries.commands import teaching
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.actor import CommandActor, PermissionCheck, give_ok, load_actor, record_refusal
from pipeline.gates.ask import list_gates
from pipeline.gates.decide import GateCommands, Reply, find_gate
from pipeline.publishing import comments
from safety.authorization import CommandRefusal, authorise, refuse_role
from safety.budgets import limits_of
from safety.review_quota import OUTSIDERS, over_comment_quota

log = structlog.get_logger(__name__)


class RunStarter(Protocol):
    """What starting and ending runs is asked of: the dispatcher, which has the one way to do it.

    ``may`` is asked in the step that acts: it raises ``NotAllowed`` where somebody may not any more.
    """

    async def start_review(self, command: ReviewPullRequest, may: PermissionCheck) -> str:
        """Admit a run on the live head; what became of it."""
        ...

    async def start_issue_run(
        self, repository: RepositoryRef, number: int, trigger: Trigger, seen: EventSnapshot | None, may: PermissionCheck
    ) -> str:
        """Admit a run of an issue; what became of it."""
        ...

    async def resume_or_retry(
        self, repository: RepositoryRef, number: int, verb: Verb, seen: EventSnapshot | None, may: PermissionCheck
    ) -> str:
        """Take up a run of an issue again, or do its failed phase anew; what became of it."""
        ...

    async def end(self, repository: RepositoryRef, number: int, reason: ReasonCode) -> Sequence[Run]:
        """End what runs on a pull request; the runs that were stopped."""
        ...

    async def end_all(self, repository: RepositoryRef, reason: ReasonCode) -> int:
        """End what runs in a repository; how many runs that were."""
        ...

    async def start_tests(self, repository: RepositoryRef, number: int, head: str, may: PermissionCheck) -> bool:
        """Have a head tested; whether a run knows it."""
        ...

    async def resume_run(self, repository: RepositoryRef, number: int, is_judged: bool) -> None:
        """Let a run that waits for people look whether it still has to.

        :param is_judged: a finding was judged; an answered gate is found in any case.
        """
        ...


@dataclass(frozen=True)
class _TargetHead:
    """A head that a command is about, or why there is none."""

    sha: str = ""
    refused: str = ""


_GATE_VERBS = frozenset({Verb.approve, Verb.reject, Verb.delegate, Verb.more, Verb.accept})
_LEVEL_VERBS = frozenset({Verb.approve, Verb.reject, Verb.missed})
"""What the automation level is decided from."""


_READ_ONLY_VERBS = frozenset({Verb.help, Verb.status, Verb.cost, Verb.history, Verb.view})


def is_read_only(command: ExecuteComment) -> bool:
    """Whether nothing that a comment asks for changes anything."""
    return all(isinstance(asked, SlashMistake) or asked.verb in _READ_ONLY_VERBS for asked in command.asked)


class TurnedAway(BaseModel):
    """Why a comment is not heeded at all.

    :param role: the live one of who wrote it.
    """

    role: str
    why: str


class CommandExecutor:
    """One comment and its answer. Permission is asked before each command, and again in the step that acts (T-P15)."""

    def __init__(
        self, services: Services, journal: WorkflowJournal, runs_: RunStarter, guid: str, command: ExecuteComment
    ) -> None:
        self._services = services
        self._journal = journal
        self._runs = runs_
        self._guid = guid
        self._command = command
        self._teaching = teaching.FindingCommands(services, guid, command, self._record_refusal)
        self._is_judged = False
        self._refusals = 0  # of what somebody without a role asked

    async def execute(self) -> str:
        """Carry everything out; how many commands were obeyed, in a few words."""
        away = await self._journal.step("react", self._receive)
        if away is not None:
            return await self._turn_away(TurnedAway.model_validate(away))
        answers = [
            Answer(command_texts.name_command(asked), await self._try_execute(asked)) for asked in self._command.asked
        ]
        if self._is_judged or self._has_verb(_GATE_VERBS):
            await self._runs.resume_run(self._command.repository, self._command.number, self._is_judged)
        unsaid = await self._journal.step("reply", lambda: self._reply(answers))
        if self._is_judged or self._has_verb(_LEVEL_VERBS):
            await self._journal.step("weigh the level", self._update_level)
        return f"{len(answers)} obeyed, unanswered: {unsaid}" if unsaid else f"{len(answers)} answered"

    def _has_verb(self, verbs: Collection[Verb]) -> bool:
        return any(not isinstance(asked, SlashMistake) and asked.verb in verbs for asked in self._command.asked)

    async def _try_execute(self, asked: SlashCommand | SlashMistake) -> str:
        """Carry one line out; the answer to it, also where it failed: what follows is carried out all the same."""
        try:
            return await self._execute_line(asked)
        except Superseded:
            raise
        except NotAllowed as refused:
            return refused.message
        except ForgeError as error:
            log.warning("command.failed", guid=self._guid, error=str(error))
            return command_texts.report_failure(str(error))

    async def _execute_line(self, asked: SlashCommand | SlashMistake) -> str:
        """Carry one line out; the answer to it."""
        if isinstance(asked, SlashMistake):
            return command_texts.explain_mistake(asked)
        if not VERBS[asked.verb].works:
            return command_texts.not_available(asked.verb)
        if asked.verb in _GATE_VERBS:
            said = _parse_gate_reply(await self._journal.step(asked.verb, lambda: self._answer_gate(asked)))
            self._refusals += said.is_outsider
            return said.text
        known = await read_when_visible(
            self._services, self._journal.step, "ask for permission", self._load_actor, self._command.seen
        )
        if known is None:
            return command_texts.cannot_ask(self._command.sender.login)
        standing = CommandActor.model_validate(known)
        refused = authorise(asked, standing.facts)
        if refused is not None:
            await self._journal.step("note the refusal", lambda: self._record_refusal(refused))
            self._refusals += refused.held in OUTSIDERS
            return command_texts.refuse(refused, self._command.sender.login)
        return await self._carry_out(asked, standing)

    async def _carry_out(self, asked: SlashCommand, standing: CommandActor) -> str:
        match asked.verb:
            case Verb.review:
                return await self._review(asked, asked.full, standing)
            case Verb.test:
                return await self._test(asked, standing)
            case Verb.plan | Verb.run:
                return await self._start_issue_run(asked)
            case Verb.retry | Verb.resume:
                return await self._resume_or_retry(asked, standing)
            case Verb.cancel | Verb.abort:
                return await self._cancel(asked)
            case Verb.pause:
                return await self._pause(asked)
            case Verb.unpause:
                return str(await self._run_authorised("unpause", asked, self._unpause))
            case verb if verb in teaching.VERBS:
                self._is_judged |= verb in teaching.JUDGING
                return str(await self._run_authorised(verb, asked, lambda: self._teaching.answer(asked)))
            case verb if verb in _READ_ONLY_VERBS:
                if isinstance(asked, AboutGate):
                    return str(await self._journal.step(asked.verb, lambda: self._view_gate(asked.gate)))
                return str(await self._journal.step(asked.verb, lambda: self._show(asked.verb)))
            case Verb.level | Verb.missed:
                return str(await self._run_authorised(asked.verb, asked, lambda: self._handle_level(asked)))
            case _:
                return command_texts.not_available(asked.verb)

    # --- who commands -------------------------------------------------------------------------------------------

    async def _load_actor(self, seen: EventSnapshot | None = None) -> JsonValue:
        """Who commands, asked at this moment; None if GitHub did not say."""
        command = self._command
        number = command.number if command.is_pull_request else None
        try:
            standing = await load_actor(self._services, command.repository, number, command.sender, seen)
            return standing.model_dump(mode="json")
        except (RateLimited, Behind):
            raise
        except CodeHostError:
            return None

    async def _run_authorised(
        self, key: str, asked: SlashCommand, call: Callable[[], Awaitable[JsonValue]]
    ) -> JsonValue:
        """A step that acts, in which the permission is asked once more: it may have waited for hours since."""

        async def act() -> JsonValue:
            await self._require_authorised(asked)
            return await call()

        return await self._journal.step(key, act)

    async def _require_authorised(self, asked: SlashCommand) -> None:
        """:raises NotAllowed: they may not, or GitHub does not say."""
        known = await self._load_actor()
        if known is None:
            raise NotAllowed(command_texts.cannot_ask(self._command.sender.login))
        refused = authorise(asked, CommandActor.model_validate(known).facts)
        if refused is not None:
            await self._record_refusal(refused)
            raise NotAllowed(command_texts.refuse(refused, self._command.sender.login))

    async def _record_refusal(self, refused: CommandRefusal) -> JsonValue:
        """A refusal is part of the audit."""
        await record_refusal(self._services, self._guid, self._command.sender, refused)
        return None

    # --- gates --------------------------------------------------------------------------------------------------

    async def _answer_gate(self, asked: SlashCommand) -> JsonValue:
        command = self._command
        if asked.verb is Verb.reject and await self._is_merge_rejection():
            return _GateReply(text=automation_texts.confirm_merge_stop()).model_dump(mode="json")
        answering = GateCommands(self._services, self._guid, command.repository, command.number, command.sender)
        try:
            reply = await answering.answer(asked, command.written_at)
        except RateLimited:
            raise
        except CodeHostError:
            reply = Reply(command_texts.cannot_ask(command.sender.login))
        is_outsider = reply.refused is not None and reply.refused.held in OUTSIDERS
        return _GateReply(text=reply.text, is_outsider=is_outsider).model_dump(mode="json")

    async def _is_merge_rejection(self) -> bool:
        """Whether a rejection is meant for an announced merge, where no gate waits for one."""
        command = self._command
        if await list_gates(self._services, command.repository, command.number, waiting=True):
            return False
        if await level.find_announced_merge(self._services, command.repository, command.number) is None:
            return False
        standing = await self._load_actor()
        if (
            standing is None
            or authorise(PlainCommand(verb=Verb.cancel), CommandActor.model_validate(standing).facts) is not None
        ):
            return False
        return bool(await self._stop_merge("rejected it"))

    async def _view_gate(self, name: str | None) -> JsonValue:
        """A gate that waits or is named; where none waits, the last verdict."""
        database, command = self._services.database, self._command
        there = await list_gates(self._services, command.repository, command.number, waiting=name is None)
        if name is None and not there:
            return await self._show_verdict()
        found = there[0] if name is None and len(there) == 1 else None
        found = found or await find_gate(self._services, command.repository, command.number, name)
        if isinstance(found, str):
            return found
        spent_ = (await reservations.sum_run(database, found.run_id)).amount
        return gate_texts.render_comment(found, spent_, "").rstrip()

    # --- runs ---------------------------------------------------------------------------------------------------

    async def _review(self, asked: SlashCommand, full: bool, standing: CommandActor) -> str:
        command, meant = self._command, await self._find_head(asked, standing)
        if meant.refused:
            return meant.refused
        head = meant.sha
        if await self._journal.step("does a budget wait", self._is_budget_waiting):
            refused = refuse_role(standing.role, "write")
            if refused is not None:
                return command_texts.budget_waits()
        outcome = await self._runs.start_review(
            ReviewPullRequest(
                repository=command.repository,
                number=command.number,
                head_sha=head,
                trigger=Trigger.command,
                repeat=Repeat.always if full or standing.gives_ok else Repeat.unless_reviewed,
                sender=command.sender,
            ),
            partial(self._require_authorised, asked),
        )
        if not outcome.startswith("run "):
            return command_texts.not_reviewed_again(head, outcome)
        return command_texts.confirm_review(head, full, standing.gives_ok)

    async def _test(self, asked: SlashCommand, standing: CommandActor) -> str:
        head = await self._find_head(asked, standing)
        if head.refused:
            return head.refused
        paused_by = await self._journal.step("is it paused", self._find_pauser)
        if paused_by is not None:
            return command_texts.already_paused(str(paused_by))
        may = partial(self._require_authorised, asked)
        is_known = await self._runs.start_tests(self._command.repository, self._command.number, head.sha, may)
        return (
            command_texts.confirm_test(head.sha, standing.gives_ok)
            if is_known
            else command_texts.not_looked_at(head.sha)
        )

    async def _find_head(self, asked: SlashCommand, standing: CommandActor) -> _TargetHead:
        """The head that is meant, which has the ok of whoever asks where it needs one."""
        pull_request = standing.pull_request
        if pull_request is None:
            return _TargetHead(refused=command_texts.only_on_pull_requests(asked.verb))
        if not pull_request.is_open:
            return _TargetHead(refused=command_texts.nothing_to_review())
        head = pull_request.head_sha
        is_meant = self._command.head_sha in {None, head}
        if is_meant and standing.gives_ok:
            is_meant = bool(await self._run_authorised("give the ok", asked, lambda: self._give_ok(head)))
        return _TargetHead(head) if is_meant else _TargetHead(refused=command_texts.head_moved(head))

    async def _start_issue_run(self, asked: SlashCommand) -> str:
        """Begin a run of the issue: all of it, or only the plan."""
        verb, may = asked.verb, partial(self._require_authorised, asked)
        if self._command.is_pull_request:
            return command_texts.only_on_issues(verb)
        if verb is not Verb.plan and not await self._are_runs_enabled():
            return command_texts.runs_are_off()
        trigger = Trigger.plan if verb is Verb.plan else Trigger.issue
        where = (self._command.repository, self._command.number)
        outcome = await self._runs.start_issue_run(*where, trigger, self._command.seen, may)
        return command_texts.NO_ANSWER if outcome.startswith("run ") else command_texts.not_begun(outcome)

    async def _resume_or_retry(self, asked: SlashCommand, standing: CommandActor) -> str:
        """On a pull request, a review that ended without a verdict is simply begun again."""
        verb, may = asked.verb, partial(self._require_authorised, asked)
        if self._command.is_pull_request:
            return await self._review(asked, False, standing)
        if not await self._are_runs_enabled():
            return command_texts.runs_are_off()
        where = (self._command.repository, self._command.number)
        outcome = await self._runs.resume_or_retry(*where, verb, self._command.seen, may)
        if not outcome.startswith("run "):
            return command_texts.not_begun(outcome)
        return command_texts.confirm_resume() if verb is Verb.resume else command_texts.NO_ANSWER

    async def _are_runs_enabled(self) -> bool:
        """Whether the repository lets issues be carried out."""
        key = "are runs wanted"
        return not await self._journal.has_patch(key) or bool(await self._journal.step(key, self._load_runs_enabled))

    async def _load_runs_enabled(self) -> JsonValue:
        services, ceilings = self._services, self._services.ceilings.of_configuration
        loaded = await loading.load(services.host, services.database, self._command.repository, ceilings)
        return loaded.configuration.issues.run

    async def _is_budget_waiting(self) -> JsonValue:
        """Whether a guard or a budget waits here for a person: to begin anew would be a way around it."""
        command = self._command
        there = await gates.list_for_pull_request(
            self._services.database, command.repository.id, command.number, waiting=True
        )
        return any(gate.name in BUDGET_GATES for gate in there)

    async def _give_ok(self, head_sha: str) -> JsonValue:
        command = self._command
        where = (command.repository, command.number)
        return await give_ok(self._services, *where, head_sha, command.sender, command.written_at)

    async def _cancel(self, asked: SlashCommand) -> str:
        stopped = await self._run_authorised("stop the merge", asked, lambda: self._stop_merge("cancelled it"))
        ended = await self._runs.end(self._command.repository, self._command.number, ReasonCode.aborted)
        if not ended:
            return automation_texts.confirm_merge_stop() if stopped else command_texts.nothing_to_cancel()
        return command_texts.confirm_cancel(ended[0])

    async def _pause(self, asked: SlashCommand) -> str:
        by = await self._run_authorised("pause", asked, self._begin_pause)
        if by is not None:
            return command_texts.already_paused(str(by))
        return command_texts.confirm_pause(await self._runs.end_all(self._command.repository, ReasonCode.paused))

    async def _begin_pause(self) -> JsonValue:
        """Whoever had paused the repository before; None if this does it."""
        database, command = self._services.database, self._command
        by = await permits.find_pauser(database, command.repository)
        if by is None:
            await permits.pause(database, command.repository, command.sender, self._services.clock.now())
        await level.stop_automation(self._services, command.repository, f"{command.sender.login} paused Forge")
        return by

    async def _find_pauser(self) -> JsonValue:
        return await permits.find_pauser(self._services.database, self._command.repository)

    async def _unpause(self) -> JsonValue:
        by = await permits.find_pauser(self._services.database, self._command.repository)
        command, now = self._command, self._services.clock.now()
        await permits.unpause(self._services.database, command.repository, command.sender, now)
        return command_texts.not_paused() if by is None else command_texts.confirm_unpause()

    # --- automation ---------------------------------------------------------------------------------------------

    async def _handle_level(self, asked: SlashCommand) -> JsonValue:
        services, command = self._services, self._command
        match asked:
            case Level(level=int(wanted)):
                return await level.set_level(services, command.repository, wanted, command.sender, self._guid)
            case TextCommand():
                where = (command.repository, command.number)
                return await level.record_miss(services, *where, command.sender, asked.text, self._guid)
            case _:
                return await level.describe_level(services, command.repository)

    async def _update_level(self) -> JsonValue:
        return await level.try_update_level(self._services, self._command.repository, self._command.number)

    async def _stop_merge(self, did: str) -> JsonValue:
        """Whether there was an announced merge here to be stopped."""
        command = self._command
        why = f"{command.sender.login} {did}"
        return await level.stop_merge(self._services, command.repository, command.number, why)

    # --- showing ------------------------------------------------------------------------------------------------

    async def _show(self, verb: Verb) -> JsonValue:
        database, repository, number = self._services.database, self._command.repository, self._command.number
        past = await runs.list_for_pull_request(database, repository.id, number)
        match verb:
            case Verb.help:
                return command_texts.render_help()
            case Verb.history:
                return await self._show_history(past)
            case Verb.cost:
                return await self._show_cost()
            case Verb.view:
                return await self._show_verdict()
            case _:
                last = past[0] if past else None
                until = None if last is None else await waits.get_until(database, last.run.id)
                doing = "" if last is None else last.run.detail if not last.run.state.is_final else ""
                open_ = await list_gates(self._services, repository, number, waiting=True)
                waits_ = gate_texts.describe_waiting(open_) if open_ else ""
                return command_texts.render_status(
                    last, doing, until, await permits.find_pauser(database, repository), waits_
                )

    async def _show_history(self, past: Sequence[PastRun]) -> str:
        """Every run, and what the newest one tried."""
        if not past:
            return command_texts.render_history(past)
        newest = past[0].run.id
        tried, count = await model_answers.load_newest(self._services.database, newest, history_texts.MOST)
        return "\n\n".join(
            part
            for part in (command_texts.render_history(past), history_texts.render_turns(newest, tried, count))
            if part
        )

    async def _show_cost(self) -> str:
        database, repository = self._services.database, self._command.repository
        past = await runs.list_for_pull_request(database, repository.id, self._command.number)
        budgets = await self._list_budgets(past[0].run) if past else ()
        shares = [share for each in past for share in await reservations.list_shares(database, run_id=each.run.id)]
        return command_texts.render_cost(
            [
                command_texts.Spending(
                    share.phase, share.model, share.spent.calls, share.spent.usage, share.spent.amount
                )
                for share in shares
            ],
            budgets,
        )

    async def _list_budgets(self, run: Run) -> Sequence[LimitUse]:
        """How far the limits are used that hold for the last run."""
        services = self._services
        ceilings = services.ceilings
        loaded = await loading.load(services.host, services.database, run.repository, ceilings.of_configuration)
        limits = limits_of(loaded.configuration.budgets)
        purse = reservations.PhaseBudget(services.database, run, run.budget_phase, limits, services.clock, ceilings)
        return await purse.uses()

    async def _show_verdict(self) -> str:
        repository, number = self._command.repository, self._command.number
        if not self._command.is_pull_request:
            return plan_texts.render_summary(
                await checkpoints.load_latest_plan(self._services.database, repository.id, number)
            )
        review = await checkpoints.load_latest_review(self._services.database, repository.id, number)
        if review is None:
            return command_texts.render_verdict(None, {})
        everything = review.all_findings
        known = await dismissals.find_by_fingerprint(
            self._services.database, repository, [f.fingerprint for f in everything]
        )
        return command_texts.render_verdict(
            review, {f.id: known[f.fingerprint] for f in everything if f.fingerprint in known}
        )

    # --- how much is obeyed -------------------------------------------------------------------------------------

    async def _receive(self) -> JsonValue:
        """Why the comment is not heeded at all; otherwise show that it was seen."""
        away = await self._check_quota()
        if away is not None:
            return away.model_dump(mode="json")
        return await self._react(Reaction.seen)

    async def _check_quota(self) -> TurnedAway | None:
        """Whether this is too much. Who it is is asked only where it may be, so that nobody waits for that."""
        services, command = self._services, self._command
        now = services.clock.now()
        commented = await command_counts.count_comment(
            services.database, self._guid, command.repository.id, command.sender.id, now
        )
        if not commented.is_much:
            return None
        role = await services.host.permission(command.repository, command.sender.login, command.sender.id)
        reason = over_comment_quota(commented, role)
        return None if reason is None else TurnedAway(role=role, why=reason.text)

    async def _turn_away(self, away: TurnedAway) -> str:
        """Tell them once, then nothing; the audit has each."""
        await self._journal.step("note the refusal", lambda: self._record_turned_away(away))
        await self._journal.step("reply", lambda: self._reply_turned_away(away))
        return f"turned away: {away.why}"

    async def _record_turned_away(self, away: TurnedAway) -> JsonValue:
        sender = self._command.sender
        payload = {"code": "quota", "account": sender.id, "by_login": sender.login, "held": away.role}
        await ledger.record_refusal(self._services.database, self._guid, payload, self._services.clock.now())
        return None

    async def _reply_turned_away(self, away: TurnedAway) -> JsonValue:
        if await command_counts.claim_notice(self._services.database, self._guid, "quota"):
            text = command_texts.too_many_comments(self._command.sender.login, away.why)
            await comments.answer(self._services, self._command, self._guid, [Answer("", text)])
        return None

    async def _was_refused_before(self, said: int) -> bool:
        """Whether all that is to be said is what somebody without a role was told before: that they may not."""
        if self._refusals < said:
            return False
        return not await command_counts.claim_notice(self._services.database, self._guid, "refusal")

    # --- answering ----------------------------------------------------------------------------------------------

    async def _react(self, reaction: Reaction) -> JsonValue:
        """Show that the comment was seen. Nothing waits for that: not for a halt, and a decision may have a deadline.

        GitHub takes no reaction where a conversation is locked, or where the comment is gone or not there yet.
        """
        with contextlib.suppress(Halted, CodeHostError):
            await comments.react(self._services, self._command.repository, self._command.comment, reaction)
        return None

    async def _reply(self, answers: Sequence[Answer]) -> JsonValue:
        """Answer; why that cannot be, e.g. in a locked conversation: what was asked for is done all the same."""
        said = [answer for answer in answers if answer.text != command_texts.NO_ANSWER]
        try:
            if said and not await self._was_refused_before(len(answers)):
                await comments.answer(self._services, self._command, self._guid, said)
        except (Forbidden, NotFound, Unprocessable) as error:
            log.warning("command.unanswered", guid=self._guid, number=self._command.number, error=str(error))
            return error.message
        return None


class _GateReply(BaseModel):
    """What was answered at a gate, and whether that is the refusal of somebody without a role."""

    text: str
    is_outsider: bool = False


def _parse_gate_reply(answer: JsonValue) -> _GateReply:
    """What a step answered; in an earlier version only the text."""
    return _GateReply.model_validate(answer if isinstance(answer, dict) else {"text": answer})
