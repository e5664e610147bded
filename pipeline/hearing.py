"""Hears what people say on the diff without a command: replies to findings, and remarks where there is none (M8).

A reply is read by a model, in a workflow of its own, as far as somebody says it who has a say here. Only who may
dismiss a finding by command dismisses it by words; everybody else's words are hints.
"""

from collections.abc import Awaitable
from functools import partial

import structlog
from dbos import DBOS, EnqueueOptions
from pydantic import BaseModel, JsonValue

from agents.asking import Answer, ask
from agents.hearing import SURE, Heard, Meaning, question
from agents.models import LanguageModel, Task, Unusable
from agents.told import Told
from domain import hearing_texts, replies
from domain.commands import HearComment
from domain.configuration import Configuration
from domain.errors import CodeAccessError, ForgeError
from domain.events import EventType
from domain.findings import Finding
from domain.gates import digest
from domain.globs import matches
from domain.memories import Use
from domain.ports import Purse
from domain.redaction import outgoing
from domain.runs import Phase, Run
from domain.slash import Dismiss
from memory import checkpoints, dismissals, findings, ledger, memories, runs
from pipeline import threads
from pipeline.automation import weigh_here
from pipeline.beginning import configured
from pipeline.dismissing import dismiss
from pipeline.drawing import mirror_of
from pipeline.journal import WorkflowJournal
from pipeline.judged import go_on_where_judged
from pipeline.names import APP_VERSION, HEAR, HEARINGS
from pipeline.paying import Keep, Paying
from pipeline.services import Services
from pipeline.standing import look
from pipeline.steps import noted
from safety.authority import authorise, refusal
from safety.gates import is_grave

log = structlog.get_logger(__name__)

MOST = 3
"""Replies of Forge in one thread during one run: it answers, it does not chat."""
_NEAR = 3  # lines from a finding within which a remark is about it


async def hear(services: Services, journal: WorkflowJournal, command: HearComment, guid: str) -> str:
    """Have a person's words read, if they are about a finding; what became of them."""

    async def weigh() -> JsonValue:
        return await _weighed(services, command, guid)

    found = str(await journal.step("what it is about", weigh))
    if not found.startswith(_RUN):
        return found
    options: EnqueueOptions = {
        "workflow_name": HEAR,
        "queue_name": HEARINGS,  # of its own: a model takes its time, and must keep nothing else waiting
        "workflow_id": f"{found.removeprefix(_RUN)}/hear {guid}",
        "app_version": APP_VERSION,
        "queue_partition_key": f"{command.repository.id}#{command.number}",
    }
    run_id = found.removeprefix(_RUN)
    await noted(partial(DBOS.enqueue_workflow_with_options_async, options, run_id, guid, command.model_dump_json()))
    return "it is being read"


_RUN = "run "


async def _weighed(services: Services, command: HearComment, guid: str) -> str:
    """The run on whose account it is read; or why it is not."""
    past = await runs.of_pull_request(services.database, command.repository.id, command.number)
    if not past:
        return "Forge did not look at this pull request"
    if command.comment.thread is None:
        return await _remarked(services, command, past[0].run, guid)
    carried = await findings.by_comment(services.database, command.repository.id, command.number)
    if command.comment.thread not in carried:
        return "not a thread of a finding"
    role = await services.host.permission(command.repository, command.sender.login, command.sender.id)
    if command.sender.id != command.opened_by and refusal(role, "triage") is not None:
        return "nobody who has a say here"
    return f"{_RUN}{past[0].run.id}"


async def _remarked(services: Services, command: HearComment, run: Run, guid: str) -> str:
    """A person who may write has something to say where Forge looked and found nothing: that is a gap (M8)."""
    review = await checkpoints.latest_review(services.database, command.repository.id, command.number)
    if review is None or review.head_sha != command.head_sha or command.line is None:
        return "Forge did not look at this line"
    role = await services.host.permission(command.repository, command.sender.login, command.sender.id)
    if command.sender.id == command.opened_by or refusal(role, "write") is not None:
        return "nobody who reviews here"
    near = [each for each in review.findings if each.path == command.path and each.line is not None]
    if any(abs((each.line or 0) - command.line) <= _NEAR for each in near):
        return "about a finding"
    payload = {"path": command.path, "line": command.line, "comment": command.comment.id, "by": command.sender.login}
    now = services.clock.now()
    await ledger.note_feedback(services.database, run.id, EventType.feedback_gap, payload, guid, now)
    return "a gap"


class _Known(BaseModel):
    """What is known where a reply is read.

    :param teaches: whether who replies may dismiss the finding.
    """

    configuration: Configuration
    finding: Finding | None
    teaches: bool
    replied: int


class Hearing:
    """The reading of one reply."""

    def __init__(self, services: Services, run: Run, command: HearComment, guid: str, workflow_id: str) -> None:
        self._services = services
        self._run = run
        self._command = command
        self._guid = guid
        self._journal = WorkflowJournal(services, workflow_id)

    async def execute(self) -> str:
        """Read it and do what follows; what that was."""
        try:
            known = _Known.model_validate(await self._journal.step("what is known", self._known))
            model = self._services.models.choose(Task.fast)
            if known.finding is None or isinstance(model, Unusable) or not known.configuration.review.model:
                return "not read"
            heard = await self._heard(known, known.finding, model)
            if heard is None:
                return "not understood"
            meaning = str(await self._journal.step("act on it", partial(self._act, known, known.finding, heard)))
            if heard.meaning is Meaning.disagreement:
                await self._judged()
            return meaning
        except ForgeError as error:
            log.warning("hearing.failed", run=self._run.id, error=str(error))
            return f"failed: {error.message}"

    async def _judged(self) -> None:
        """Let who waits for this judgement go on, as after a command."""
        services, repository, number = self._services, self._command.repository, self._command.number
        await go_on_where_judged(services, self._journal, self._guid, repository, number, is_judged=True)
        await self._journal.step("weigh the level", lambda: weigh_here(services, repository, number))

    async def _known(self) -> JsonValue:
        services, command = self._services, self._command
        carried = await findings.by_comment(services.database, command.repository.id, command.number)
        finding = carried.get(command.comment.thread or 0)
        standing = await look(services, command.repository, command.number, command.sender)
        known = _Known(
            configuration=(await configured(services, self._run)).configuration,
            finding=finding,
            teaches=authorise(Dismiss(reason="said in words"), standing.facts) is None,
            replied=await ledger.replies_in(services.database, self._run.id, command.comment.thread or 0),
        )
        return known.model_dump(mode="json")

    async def _heard(self, known: _Known, finding: Finding, model: LanguageModel) -> Heard | None:
        key = f"hear {self._command.comment.id}"
        asked = question(key, finding, self._command.words, await self._lines(known, finding), outgoing)

        def call(money: Purse, told: Told, keep: Keep[Answer]) -> Awaitable[Answer]:
            return ask(told.above(asked, outgoing), Heard, model, money, keep=keep)

        paying = Paying(self._services, self._journal, self._run, Phase.review, known.configuration)
        name = digest("hear", asked.model_dump_json(), model.name)
        answer = await paying.ask_alone(key, name, Answer, call)
        return None if answer.value is None else Heard.model_validate(answer.value)

    async def _lines(self, known: _Known, finding: Finding) -> list[str]:
        """The file at head; nothing where it must not be sent, or cannot be had."""
        if matches(finding.path, known.configuration.review.never_send):
            return []
        try:
            mirror = await mirror_of(self._services, self._run)
            content = (await mirror.read(self._run.head_sha, [finding.path])).get(finding.path, b"")
        except CodeAccessError:
            return []
        return content.decode(errors="replace").split("\n")

    async def _act(self, known: _Known, finding: Finding, heard: Heard) -> JsonValue:
        text = await self._follows(known, finding, heard)
        if text and known.replied < MOST:
            root = self._command.comment.thread or 0
            await self._services.publisher.reply_in_thread(
                self._command.repository, self._command.number, root, self._guid, text
            )
        payload = {
            "thread": self._command.comment.thread or 0,
            "finding": finding.id,
            "rule": finding.rule,
            "meaning": heard.meaning.value,
            "by": self._command.sender.login,
            "replied": bool(text),
        }
        kind, now = EventType.feedback_replied, self._services.clock.now()
        await ledger.note_feedback(self._services.database, self._run.id, kind, payload, self._guid, now)
        return heard.meaning.value

    async def _follows(self, known: _Known, finding: Finding, heard: Heard) -> str:
        """Do what a reply means; what is answered, empty for nothing."""
        match heard.meaning:
            case Meaning.agreement:
                cause, now = f"agreed {self._command.comment.id}", self._services.clock.now()
                if known.teaches:
                    await memories.use(self._services.database, finding.memories, Use.confirmed, cause, now)
                return ""
            case Meaning.question:
                return hearing_texts.answered(heard.told) if heard.told else ""
            case Meaning.disagreement:
                return await self._disagreed(known, finding, heard)
            case Meaning.other:
                return ""

    async def _disagreed(self, known: _Known, finding: Finding, heard: Heard) -> str:
        services, command = self._services, self._command
        standing = await dismissals.among(services.database, command.repository, [finding.fingerprint])
        if standing:
            return ""
        if not known.teaches:
            return hearing_texts.a_hint(finding)
        if is_grave(finding) or finding.is_credential:
            return hearing_texts.needs_a_command(finding)
        if heard.confidence < SURE or not heard.why:
            return hearing_texts.is_it_a_dismissal(finding)
        where = (command.repository, command.number)
        taught = await dismiss(services, *where, finding, command.sender, heard.why, self._guid)
        await threads.resolve(services, *where, finding)
        return hearing_texts.taken_for_a_dismissal(replies.dismissed(finding, heard.why, memory=taught))
