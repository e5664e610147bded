"""Reads one reply with a model, in a workflow of its own, and does what it means."""

import structlog

from agents.llm.models import LanguageModel
from agents.replies import Meaning, ReplyReading
from agents.syntax.quotes import asks_something, call_reviewer, find_mentions, split_quotes
from domain.commands import ReadReply
from domain.errors import ForgeError
from domain.events import EventType
from domain.review.findings import Finding
from domain.runs.run import Run
from memory import ledger
from pipeline.automation.follow_up import resume_judged_run
from pipeline.automation.level import try_update_level
from pipeline.context import DeliveryContext, Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_instruction
from pipeline.feedback.answers.instruction import RequestInWords, admit_words
from pipeline.feedback.answers.question import choose_reader
from pipeline.feedback.replies.context import ReplyContext, find_dismissal_refusal, load_context
from pipeline.feedback.replies.effects import ReplyOutcome, apply_reply, may_be_said
from pipeline.feedback.replies.questions import NoAnswer, ReplyQuestions, answer_question
from pipeline.publishing import comments
from pipeline.run_context import RunContext

log = structlog.get_logger(__name__)


class ReplyWorkflow:
    """The reading of one reply, which is JSON here."""

    def __init__(self, services: Services, run: Run, reply: str, guid: str, workflow_id: str) -> None:
        self._services = services
        self._run = run
        self._command = ReadReply.model_validate_json(reply)
        self._guid = guid
        self._journal = WorkflowJournal(services, workflow_id)
        self._context = RunContext(services, run, self._journal)

    async def execute(self) -> str:
        """Read the reply and do what it means; the outcome."""
        try:
            known = await self._journal.step("what is known", load_context, self._services, self._run, self._command)
            model = choose_reader(self._services, known.configuration)
            if known.finding is None or not known.is_due:
                return "not read"
            if isinstance(model, str):
                return await self._report_unread(known, known.finding, model)
            return await self._read(known, known.finding, model)
        except ForgeError as error:
            log.warning("hearing.failed", run=self._run.id, error=str(error))
            return f"failed: {error.message}"

    async def _read(self, known: ReplyContext, finding: Finding, model: LanguageModel) -> str:
        asking = ReplyQuestions(self._context, self._command, known, model)
        reading = await asking.ask_meaning(finding)
        if isinstance(reading, NoAnswer):
            return await self._report_unread(known, finding, reading.text)
        answer = ""
        is_mention = known.name in find_mentions(self._command.words)
        if reading.meaning is Meaning.request and not reading.asks_for_review and known.asks and is_mention:
            return await self._hand_over(known, finding)
        if reading.meaning is Meaning.disagreement and not (known.teaches and may_be_said(finding)):
            answer = await asking.weigh_argument(finding) if reading.has_reason else ""
        if reading.meaning is Meaning.question:
            answer = await answer_question(self._context, self._command, self._guid, known, finding, asking)
        outcome = await self._journal.step("act on it", self._act, known, finding, reading, answer)
        if outcome.dismissed:  # as after a command
            services, repository, number = self._services, self._command.repository, self._command.number
            cause = DeliveryContext(services, self._journal, self._guid)
            await resume_judged_run(cause, repository, number, is_judged=True)
            await self._journal.step("weigh the level", try_update_level, services, repository, number)
        return reading.meaning.value

    async def _hand_over(self, known: ReplyContext, finding: Finding) -> str:
        """Carry out what a mention asks for, about the lines of the finding."""
        command = self._command
        words = call_reviewer(split_quotes(command.words)[1], known.name)
        asked = RequestInWords(
            comment=command, words=words, key=f"{self._guid}.do", path=command.path or finding.path, line=command.line
        )
        queued = await self._journal.step("admit it", admit_words, self._services, asked)
        await self._journal.step("say why not", self._reply_unread, finding, queued.refused)
        if queued.run_id is not None:
            await enqueue_instruction(queued.run_id, command.repository.id, command.number)
        return Meaning.request.value

    async def _report_unread(self, known: ReplyContext, finding: Finding, text: str) -> str:
        """Tell whoever seems to ask something why nobody understood it; nobody else is told."""
        if not known.asks or not asks_something(call_reviewer(self._command.words, known.name)):
            return "not read"
        await self._journal.step("say why not", self._reply_unread, finding, text)
        return "not understood"

    async def _reply_unread(self, finding: Finding, text: str) -> None:
        if text:
            await self._reply(text)
        await self._record(finding, "unread" if text else Meaning.request.value, is_replied=bool(text))

    async def _reply(self, text: str) -> None:
        command = self._command
        root = command.comment.thread or 0
        await comments.reply_in_thread(self._services, command.repository, command.number, root, self._guid, text)

    async def _act(self, known: ReplyContext, finding: Finding, reading: ReplyReading, answer: str) -> ReplyOutcome:
        services, command = self._services, self._command
        refused = await find_dismissal_refusal(services, command)
        may_dismiss = known.teaches and refused is None
        outcome = await apply_reply(
            services, command, self._guid, finding, reading, answer, may_dismiss=may_dismiss, refused=refused
        )
        if outcome.text:
            await self._reply(outcome.text)
        await self._record(finding, reading.meaning.value, is_replied=bool(outcome.text))
        return outcome

    async def _record(self, finding: Finding, meaning: str, *, is_replied: bool) -> None:
        command, services = self._command, self._services
        payload = {
            "thread": command.comment.thread or 0,
            "finding": finding.id,
            "rule": finding.rule,
            "meaning": meaning,
            "by": command.sender.login,
            "replied": is_replied,
        }
        kind, now = EventType.feedback_replied, services.clock.now()
        await ledger.record_feedback(services.database, self._run.id, kind, payload, self._guid, now)
