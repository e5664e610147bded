"""Hears what people say on the diff without a command: replies to findings, and remarks where there is none.

A reply is read by a model, in a workflow of its own, as far as somebody says it who has a say here. Only who may
dismiss a finding by command dismisses it by words; everybody else's words are hints.
"""

from functools import partial
from typing import TypeVar

import structlog
from pydantic import BaseModel, JsonValue

from agents.llm.ask import Question
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.reply_reader import (
    KEY,
    Meaning,
    QuestionAnswer,
    ReplyReading,
    build_answer_question,
    build_meaning_question,
)
from agents.review.model.questions import flatten_markdown
from domain.commands import ReadReply
from domain.config.configuration import Configuration
from domain.errors import CodeAccessError, ForgeError
from domain.events import EventType
from domain.gates import digest
from domain.globs import matches
from domain.memories.memory import Use
from domain.review.findings import Finding, Severity
from domain.runs.run import Phase, Run
from domain.slash.commands import LONGEST_TEXT, Dismiss
from domain.text.redaction import redact_outgoing
from memory.findings import dismissals, findings
from memory.learned import memories
from memory.ledger import ledger
from memory.runs import checkpoints, runs
from messages import commands as command_texts
from messages import thread_replies as reply_texts
from pipeline.automation.level import try_update_level
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue
from pipeline.durable.workflows import READ_REPLY
from pipeline.gates.actor import load_actor
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.publishing import comments
from pipeline.run_context import RunContext
from pipeline.verdicts import threads
from pipeline.verdicts.dismissal import dismiss
from pipeline.verdicts.resume import resume_judged_run
from pipeline.verdicts.settings import load_configuration
from safety.authorization import authorise, refuse_role
from safety.gates import needs_security_gate

log = structlog.get_logger(__name__)

S = TypeVar("S", bound=BaseModel)

MAX_REPLIES = 3
"""Replies of Forge in one thread during one run: it answers, it does not chat."""
_NEAR_LINES = 3  # lines from a finding within which a remark is about it


async def handle_reply(services: Services, journal: WorkflowJournal, command: ReadReply, guid: str) -> str:
    """Have a person's words read, if they are about a finding; what became of them."""

    async def find_run() -> JsonValue:
        return await _find_run_for_reply(services, command, guid)

    found = str(await journal.step("what it is about", find_run))
    if not found.startswith(_RUN_PREFIX):
        return found
    run_id = found.removeprefix(_RUN_PREFIX)
    where = {"repository": command.repository.id, "number": command.number}
    await enqueue(READ_REPLY, run_id, guid, command.model_dump_json(), run=run_id, occasion=guid, **where)
    return "it is being read"


_RUN_PREFIX = "run "


async def _find_run_for_reply(services: Services, command: ReadReply, guid: str) -> str:
    """The run on whose account it is read; or why it is not."""
    past = await runs.list_for_pull_request(services.database, command.repository.id, command.number)
    if not past:
        return "Forge did not look at this pull request"
    if command.comment.thread is None:
        return await _record_gap(services, command, past[0].run, guid)
    carried = await findings.load_by_comment(services.database, command.repository.id, command.number)
    if command.comment.thread not in carried:
        return "not a thread of a finding"
    role = await services.host.permission(command.repository, command.sender.login, command.sender.id)
    if command.sender.id != command.opened_by and refuse_role(role, "triage") is not None:
        return "nobody who has a say here"
    return f"{_RUN_PREFIX}{past[0].run.id}"


async def _record_gap(services: Services, command: ReadReply, run: Run, guid: str) -> str:
    """A person who may write has something to say where Forge looked and found nothing: that is a gap."""
    review = await checkpoints.load_latest_review(services.database, command.repository.id, command.number)
    if review is None or review.head_sha != command.head_sha or command.line is None:
        return "Forge did not look at this line"
    role = await services.host.permission(command.repository, command.sender.login, command.sender.id)
    if command.sender.id == command.opened_by or refuse_role(role, "write") is not None:
        return "nobody who reviews here"
    near = [each for each in review.findings if each.path == command.path and each.line is not None]
    if any(abs((each.line or 0) - command.line) <= _NEAR_LINES for each in near):
        return "about a finding"
    payload = {"path": command.path, "line": command.line, "comment": command.comment.id, "by": command.sender.login}
    now = services.clock.now()
    await ledger.record_feedback(services.database, run.id, EventType.feedback_gap, payload, guid, now)
    return "a gap"


class _ReplyContext(BaseModel):
    """What is known where a reply is read.

    :param teaches: whether who replies may dismiss the finding.
    :param is_due: whether it is to be read: not on strangers' heads without an ok, nor where Forge replied enough.
    """

    configuration: Configuration
    finding: Finding | None
    teaches: bool
    is_due: bool


class _ReplyOutcome(BaseModel):
    """What came of a reply. ``dismissed``: the finding does not count any more."""

    text: str = ""
    dismissed: bool = False


class ReplyHandler:
    """The reading of one reply."""

    def __init__(self, services: Services, run: Run, command: ReadReply, guid: str, workflow_id: str) -> None:
        self._services = services
        self._run = run
        self._command = command
        self._guid = guid
        self._journal = WorkflowJournal(services, workflow_id)

    async def execute(self) -> str:
        """Read it and do what follows; what that was."""
        try:
            known = _ReplyContext.model_validate(await self._journal.step("what is known", self._load_context))
            model = self._services.models.choose(ModelTier.fast)
            if known.finding is None or not known.is_due or isinstance(model, Unusable):
                return "not read"
            return await self._read(known, known.finding, model)
        except ForgeError as error:
            log.warning("hearing.failed", run=self._run.id, error=str(error))
            return f"failed: {error.message}"

    async def _read(self, known: _ReplyContext, finding: Finding, model: LanguageModel) -> str:
        key, words = f"{KEY}{self._command.comment.id}", self._command.words
        heard = await self._ask_model(
            known, build_meaning_question(key, finding, words, redact_outgoing), ReplyReading, model
        )
        if heard is None:
            return "not understood"
        told = None
        if heard.meaning is Meaning.question:
            lines = await self._read_lines(known, finding)
            told = await self._ask_model(
                known, build_answer_question(key, finding, words, lines, redact_outgoing), QuestionAnswer, model
            )
        stored = await self._journal.step("act on it", partial(self._act_on_meaning, known, finding, heard, told))
        if _ReplyOutcome.model_validate(stored).dismissed:
            await self._resume_waiting_run()
        return heard.meaning.value

    async def _resume_waiting_run(self) -> None:
        """Let who waits for this judgement go on, as after a command."""
        services, repository, number = self._services, self._command.repository, self._command.number
        await resume_judged_run(services, self._journal, self._guid, repository, number, is_judged=True)
        await self._journal.step("weigh the level", lambda: try_update_level(services, repository, number))

    async def _load_context(self) -> JsonValue:
        services, command = self._services, self._command
        carried = await findings.load_by_comment(services.database, command.repository.id, command.number)
        standing = await load_actor(services, command.repository, command.number, command.sender)
        configuration = (await load_configuration(services, self._run)).configuration
        replied = await ledger.count_replies(services.database, self._run.id, command.comment.thread or 0)
        known = _ReplyContext(
            configuration=configuration,
            finding=next(iter(carried.get(command.comment.thread or 0, ())), None),
            teaches=authorise(Dismiss(reason="said in words"), standing.facts) is None,
            is_due=configuration.review.may_ask_model and not standing.facts.needs_ok and replied < MAX_REPLIES,
        )
        return known.model_dump(mode="json")

    async def _ask_model(self, known: _ReplyContext, asked: Question, kind: type[S], model: LanguageModel) -> S | None:
        """What the model hands in; the money is that for what happens beside a run."""

        context = RunContext(self._services, self._run, self._journal)
        calls = BudgetedCalls(context, Phase.reflection, known.configuration)
        name = digest("hear", asked.model_dump_json(), model.name)
        found = await calls.ask_outside_run(name, asked, kind, model)
        return None if found.value is None else kind.model_validate(found.value)

    async def _read_lines(self, known: _ReplyContext, finding: Finding) -> list[str]:
        """The file at head; nothing where it must not be sent, or cannot be had."""
        if matches(finding.path, known.configuration.review.never_send):
            return []
        try:
            mirror = await fetch_mirror(self._services, self._run)
            content = (await mirror.read(self._run.head_sha, [finding.path])).get(finding.path, b"")
        except CodeAccessError:
            return []
        return content.decode(errors="replace").split("\n")

    async def _may_still_dismiss(self) -> bool:
        """Whether who replied may dismiss: asked where it matters, as a model was waited for since (T-P15)."""
        command = self._command
        standing = await load_actor(self._services, command.repository, command.number, command.sender)
        return authorise(Dismiss(reason="said in words"), standing.facts) is None

    async def _act_on_meaning(
        self, known: _ReplyContext, finding: Finding, heard: ReplyReading, told: QuestionAnswer | None
    ) -> JsonValue:
        if known.teaches:
            known = known.model_copy(update={"teaches": await self._may_still_dismiss()})
        command, root = self._command, self._command.comment.thread or 0
        followed = await self._carry_out(known, finding, heard, told)
        if followed.text:
            await comments.reply_in_thread(
                self._services, command.repository, command.number, root, self._guid, followed.text
            )
        payload = {
            "thread": root,
            "finding": finding.id,
            "rule": finding.rule,
            "meaning": heard.meaning.value,
            "by": command.sender.login,
            "replied": bool(followed.text),
        }
        kind, now = EventType.feedback_replied, self._services.clock.now()
        await ledger.record_feedback(self._services.database, self._run.id, kind, payload, self._guid, now)
        return followed.model_dump(mode="json")

    async def _carry_out(
        self, known: _ReplyContext, finding: Finding, heard: ReplyReading, told: QuestionAnswer | None
    ) -> _ReplyOutcome:
        """Do what a reply means."""
        match heard.meaning:
            case Meaning.agreement:
                if known.teaches and heard.is_sure:
                    cause = f"{self._command.sender.id} agreed with {finding.fingerprint}"
                    now = self._services.clock.now()
                    await memories.record_use(self._services.database, finding.memories, Use.confirmed, cause, now)
                return _ReplyOutcome()
            case Meaning.question:
                return _ReplyOutcome(text="" if told is None else reply_texts.render_answer(told.line))
            case Meaning.disagreement:
                return await self._handle_disagreement(known, finding, heard)
            case Meaning.other:
                return _ReplyOutcome()

    async def _handle_disagreement(self, known: _ReplyContext, finding: Finding, heard: ReplyReading) -> _ReplyOutcome:
        services, command = self._services, self._command
        why = redact_outgoing(flatten_markdown(command.words, LONGEST_TEXT))
        standing = await dismissals.find_by_fingerprint(services.database, command.repository, [finding.fingerprint])
        by_this = standing.get(finding.fingerprint)
        if by_this is not None and (by_this.by, by_this.reason) != (command.sender.login, why):
            return _ReplyOutcome()  # by another; one of this reply's own was cut short before it was said
        if not known.teaches:
            return _ReplyOutcome(text=reply_texts.confirm_hint(finding))
        if needs_security_gate(finding) or finding.is_credential or finding.severity.rank >= Severity.error.rank:
            return _ReplyOutcome(text=reply_texts.ask_for_command(finding))
        if not (heard.is_sure and heard.has_reason):
            return _ReplyOutcome(text=reply_texts.ask_about_dismissal(finding))
        where = (command.repository, command.number)
        taught = await dismiss(services, *where, (finding,), command.sender, why, self._guid)
        await threads.resolve(services, *where, finding)
        receipt = command_texts.confirm_dismissal(finding, why, taught=taught)
        return _ReplyOutcome(text=reply_texts.confirm_dismissal(receipt), dismissed=True)
