"""Decides whether a remark on the diff is read, and queues its reading.

Only replies of people with a say about the finding are read. A remark where Forge found nothing is recorded as a gap.
"""

from domain.commands import ReadReply
from domain.events import EventType
from domain.runs.run import Run
from domain.value import Value
from memory import findings, ledger
from memory.runs import checkpoints, runs
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue
from pipeline.durable.workflows import READ_REPLY
from pipeline.feedback.answers.request import find_open_question
from pipeline.feedback.replies.remarks import handle_remark, is_mentioned
from pipeline.publishing import comments
from safety.authorization import refuse_role

_NEAR_LINES = 3  # lines from a finding within which a remark is about it


class ReplyTarget(Value):
    """The run for which a reply is read; in journals.

    :param run_id: None if it is not read.
    :param outcome: then, why not.
    :param is_remark: whether it is about no finding, but may be for Forge all the same.
    """

    run_id: str | None = None
    outcome: str = ""
    is_remark: bool = False


async def handle_reply(services: Services, journal: WorkflowJournal, command: ReadReply, guid: str) -> str:
    """Queue the reading of a person's words, if they are about a finding or for Forge; the outcome."""
    target = await journal.step("what it is about", _find_target, services, command, guid)
    if target.is_remark:
        return await handle_remark(services, journal, command, guid)
    if target.run_id is None:
        return target.outcome
    where = {"repository": command.repository.id, "number": command.number}
    run_id = target.run_id
    await enqueue(READ_REPLY, run_id, guid, command.model_dump_json(), run=run_id, occasion=guid, **where)
    return "it is being read"


async def _find_target(services: Services, command: ReadReply, guid: str) -> ReplyTarget:
    past = await runs.list_for_pull_request(services.database, command.repository.id, command.number)
    if not past:
        return ReplyTarget(outcome="Forge did not look at this pull request")
    if command.comment.thread is None and not await is_mentioned(services, command):
        return ReplyTarget(outcome=await _record_gap(services, command, past[0].run, guid))
    carried = await findings.load_by_comment(services.database, command.repository.id, command.number)
    thread = command.comment.thread
    asks = await find_open_question(services.database, command.repository, command.number, thread=thread)
    if thread not in carried or asks is not None:
        return ReplyTarget(is_remark=True)
    role = await services.host.permission(command.repository, command.sender.login, command.sender.id)
    if command.sender.id != command.opened_by and refuse_role(role, "triage") is not None:
        return ReplyTarget(outcome="nobody who has a say here")
    if await is_mentioned(services, command):
        await comments.show_seen(services, command)
    return ReplyTarget(run_id=past[0].run.id)


async def _record_gap(services: Services, command: ReadReply, run: Run, guid: str) -> str:
    """Record that a person who may write remarks on a line where Forge found nothing; the outcome."""
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
