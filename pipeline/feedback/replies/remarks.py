"""Decides whether words of people are for Forge, in a finding's thread or elsewhere, and queues their reading.

In the thread of a finding the replies of people with a say about it are read; a remark where Forge found nothing is
recorded as a gap. Other words are for Forge if they quote what it wrote, mention it, or follow directly on its comment.
"""

from collections.abc import Sequence

from agents.prompts import flatten_markdown
from agents.syntax.quotes import asks_something, call_reviewer, find_mentions, find_source, split_quotes
from domain.commands import ReadRemark, ReadReply
from domain.events import EventType
from domain.github.conversation import Remark
from domain.runs.run import ReasonCode, RepositoryRef, Run
from domain.slash import LONGEST_WORDS, TextCommand
from domain.value import Value
from domain.verbs import Verb
from memory import findings, ledger
from memory.deliveries.deliveries import claim_notice
from memory.runs import checkpoints, runs
from messages import instructions as instruction_texts
from pipeline.context import DeliveryContext, Services
from pipeline.durable.queues import READ_REPLY, enqueue
from pipeline.feedback.answers.request import AnswerRequest, OpenQuestion, RepliedTo, find_open_question, find_run
from pipeline.gates.actor import check_comment_quota, load_actor
from pipeline.publishing import comments
from safety.authorization import authorise, refuse_role

_NEAR_LINES = 3  # lines from a finding within which a remark is about it


class WordsTarget(Value):
    """The run for which words are read; in journals.

    :param run_id: None if they are not read; ``outcome`` says why.
    :param is_remark: they are about no finding, but may be for Forge all the same.
    :param refused: what is answered then, if they look like a question.
    :param request: the question, where they are about no finding.
    """

    run_id: str | None = None
    outcome: str = ""
    is_remark: bool = False
    refused: str = ""
    request: AnswerRequest | None = None


async def handle_reply(context: DeliveryContext, command: ReadReply) -> str:
    """Queue the reading of a person's words, if they are about a finding or for Forge; the outcome."""
    guid = context.guid
    target = await context.journal.step("what it is about", _find_reply_target, context.services, command, guid)
    if target.is_remark:
        return await handle_remark(context, command)
    if target.run_id is None:
        return target.outcome
    where = {"repository": command.repository.id, "number": command.number}
    run_id = target.run_id
    await enqueue(READ_REPLY, run_id, guid, command.model_dump_json(), run=run_id, occasion=guid, **where)
    return "it is being read"


async def _find_reply_target(services: Services, command: ReadReply, guid: str) -> WordsTarget:
    newest = await runs.find_newest(services.database, command.repository.id, command.number)
    if newest is None:
        return WordsTarget(outcome="Forge did not look at this pull request")
    if command.comment.thread is None and not await is_mentioned(services, command):
        return WordsTarget(outcome=await _record_gap(services, command, newest, guid))
    carried = await findings.load_by_comment(services.database, command.repository.id, command.number)
    thread = command.comment.thread
    asks = await find_open_question(services.database, command.repository, command.number, thread=thread)
    if thread not in carried or asks is not None:
        return WordsTarget(is_remark=True)
    role = await services.host.permission(command.repository, command.sender.login, command.sender.id)
    if command.sender.id != command.opened_by and refuse_role(role, "triage") is not None:
        return WordsTarget(outcome="nobody who has a say here")
    if await is_mentioned(services, command):
        await comments.show_seen(services, command)
    return WordsTarget(run_id=newest.id)


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


async def handle_remark(context: DeliveryContext, command: ReadRemark | ReadReply) -> str:
    """Queue the reading of a person's words, if they are for Forge and may be; the outcome."""
    services, guid = context.services, context.guid
    target = await context.journal.step("whom it is for", _find_target, services, command, guid)
    if target.request is None:
        return target.outcome
    if target.run_id is not None:
        await target.request.enqueue(target.run_id, guid)
        return "it is being read"
    if target.refused:
        await context.journal.step("say why not", target.request.answer, services, guid, target.refused)
    return target.outcome


async def _find_target(services: Services, command: ReadRemark | ReadReply, guid: str) -> WordsTarget:
    if await check_comment_quota(services, guid, command.repository, command.sender) is not None:
        return WordsTarget(outcome="too many comments")
    replied_to = await _find_replied_to(services, command)
    said = call_reviewer(_select_words(command), await load_name(services, command.repository))
    words = flatten_markdown(said, LONGEST_WORDS)
    if replied_to is None or not words:
        return WordsTarget(outcome="not for Forge")
    if replied_to.is_mention:
        await comments.show_seen(services, command)
    replied_to = replied_to.model_copy(update={"question": await _find_question(services, command, replied_to)})
    asked = TextCommand(verb=Verb.ask, text=words)
    number = command.number if command.is_pull_request else None
    actor = await load_actor(services, command.repository, number, command.sender, judges=False)
    request = AnswerRequest(comment=command, asked=asked, index=0, replied_to=replied_to)
    if authorise(asked, actor.facts) is not None:
        is_told = replied_to.is_mention and await claim_notice(services.database, guid, "stranger")
        told = instruction_texts.refuse_stranger(command.sender.login) if is_told else ""
        return WordsTarget(outcome="nobody who may ask here", refused=told, request=request)
    if not asks_something(words) and await _answers_issue(services, command):
        told = instruction_texts.ISSUE_ANSWER
        return WordsTarget(outcome="an answer to the questions of a run", refused=told, request=request)
    queued = await find_run(services, command, actor, asked.verb, request.make_key(guid))
    refused = queued.refused if asks_something(words) else ""
    return WordsTarget(run_id=queued.run_id, outcome="not read now", refused=refused, request=request)


async def _answers_issue(services: Services, command: ReadRemark | ReadReply) -> bool:
    """Whether the newest run of an issue ended with questions: its planner reads what people say since."""
    if command.is_pull_request:
        return False
    newest = await runs.find_newest(services.database, command.repository.id, command.number)
    return newest is not None and newest.reason is ReasonCode.questions


def _select_words(command: ReadRemark | ReadReply) -> str:
    """What the person says, without what they quote."""
    return command.words if isinstance(command, ReadRemark) else split_quotes(command.words)[1]


async def _find_replied_to(services: Services, command: ReadRemark | ReadReply) -> RepliedTo | None:
    """What of Forge's the words are about; None if they are not for Forge."""
    if isinstance(command, ReadReply):
        return await _find_in_thread(services, command)
    is_mention = await load_name(services, command.repository) in command.mentioned
    if command.quoted:
        mine = await services.host.own_remarks(command.repository, command.number, with_reviews=command.is_pull_request)
        source = find_source(command.quoted, [split_quotes(each.body)[1] for each in mine])
        if source is not None:
            return RepliedTo(passage=source[0], text=source[1], is_mention=is_mention)
    return RepliedTo(is_mention=True) if is_mention else None


async def _find_in_thread(services: Services, command: ReadReply) -> RepliedTo | None:
    """The comment right before them in their thread, if Forge wrote it; or that they mention Forge."""
    earlier = await _list_earlier(services, command)
    is_mention = await is_mentioned(services, command)
    if not is_mention and not (earlier and earlier[-1].is_own):
        return None
    text = earlier[-1].body if earlier else ""
    return RepliedTo(text=text, path=command.path, line=command.line, is_mention=is_mention)


async def _find_question(
    services: Services, command: ReadRemark | ReadReply, replied_to: RepliedTo
) -> OpenQuestion | None:
    """The question that the words may answer: of their thread, or the newest, which they quote or mention Forge for."""
    if not command.is_pull_request:
        return None
    where = (services.database, command.repository, command.number)
    if isinstance(command, ReadReply):
        return await find_open_question(*where, thread=command.comment.thread or command.comment.id)
    found = await find_open_question(*where)
    if found is None or replied_to.is_mention or find_source([found.text], [replied_to.text]):
        return found
    return found if find_source(command.quoted, [found.text]) else None


async def _list_earlier(services: Services, command: ReadReply) -> Sequence[Remark]:
    """The comments before this one in its thread, oldest first."""
    root = command.comment.thread
    if root is None:
        return []
    listed = await services.host.thread_remarks(command.repository, command.number, root)
    return [each for each in listed if each.id < command.comment.id]


async def is_mentioned(services: Services, command: ReadReply) -> bool:
    """Whether a person mentions Forge in a review thread."""
    mentioned = find_mentions(split_quotes(command.words)[1])
    return bool(mentioned) and await load_name(services, command.repository) in mentioned


async def load_name(services: Services, repository: RepositoryRef) -> str:
    """The App's name as people mention it."""
    return (await services.host.signature(repository)).name.removesuffix("[bot]").lower()
