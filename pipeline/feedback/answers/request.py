"""What a person asked a model for, and where the answer goes: to a run, perhaps as an answer to its question.

The run is the newest on the live head, or one of its own for an issue.
"""

from typing import Annotated

from pydantic import Field

from domain.commands import Repeat, WrittenComment
from domain.errors import NotFound
from domain.runs.run import RepositoryRef, Run, Trigger
from domain.slash import Describe, TextCommand, Walkthrough
from domain.value import Value
from domain.verbs import Verb
from memory.db.engine import Database
from memory.repositories import permits
from memory.runs import instructions, model_answers, runs
from memory.runs.instructions import admit_question
from memory.runs.runs import Candidate
from messages import commands as texts
from messages import descriptions
from pipeline.config import loading
from pipeline.context import Services
from pipeline.durable.queues import ANSWER, enqueue
from pipeline.gates.actor import CommandActor, load_actor
from pipeline.publishing import comments
from pipeline.publishing.instructions import Instruction
from pipeline.run_context import RunContext
from safety.authorization import authorise
from safety.eligibility import needs_ok

_MOST = 30  # instructions of a pull request that are looked at


class OpenQuestion(Value):
    """A question of Forge; in journals.

    :param instruction: that ended with it.
    """

    text: str
    instruction: Instruction


async def find_open_question(
    database: Database, repository: RepositoryRef, number: int, *, thread: int | None = None, verb: Verb | None = None
) -> OpenQuestion | None:
    """The question that waits for an answer; None if there is none, or something else was asked for since.

    :param thread: the review thread it is in; None for anywhere on the pull request.
    :param verb: the command that it is about; None for any.
    """
    for run in await instructions.list_newest(database, repository.id, number, _MOST):
        given = await model_answers.find(database, run, model_answers.INSTRUCTION)
        if given is None:  # deleted with what was kept of the run
            continue
        asked = Instruction.model_validate(given)
        written = asked.comment.comment
        is_here = thread is None or (asked.is_in_thread and thread == (written.thread or written.id))
        if is_here and verb in {None, asked.asked.verb}:
            kept = await model_answers.find(database, run, model_answers.QUESTION)
            return None if kept is None else OpenQuestion(text=str(kept["asked"]), instruction=asked)
    return None


class RepliedTo(Value):
    """What of Forge's somebody replied to in words; in journals.

    :param text: its comment; empty if they only mentioned Forge.
    :param passage: what they quoted of it.
    :param path: the file at which they stand, and ``line`` its line; empty outside of review threads.
    :param is_mention: they mention Forge.
    :param question: which they may answer.
    """

    text: str = ""
    passage: str = ""
    path: str = ""
    line: int | None = None
    is_mention: bool = False
    question: OpenQuestion | None = None


class AnswerRequest(Value):
    """One command of a comment, or words that may ask for the same; in journals.

    :param index: which of the comment's lines it is.
    :param replied_to: of words, which a model has to understand as a question first; None for a command.
    """

    comment: WrittenComment
    asked: Annotated[TextCommand | Describe | Walkthrough, Field(discriminator="verb")]
    index: int
    replied_to: RepliedTo | None = None

    def make_key(self, guid: str) -> str:
        return make_key(guid, self.index)

    async def enqueue(self, run_id: str, guid: str) -> None:
        """Queue the answer; a repeated call changes nothing."""
        where = {"repository": self.comment.repository.id, "number": self.comment.number}
        occasion = f"{guid} {self.index}"
        await enqueue(ANSWER, run_id, guid, self.model_dump_json(), run=run_id, occasion=occasion, **where)

    async def load_actor(self, services: Services) -> CommandActor:
        """Who asks, with their role at this moment."""
        number = self.comment.number if self.comment.is_pull_request else None
        return await load_actor(services, self.comment.repository, number, self.comment.sender, judges=False)

    async def may_still_ask(self, services: Services) -> bool:
        """Whether they may at this moment: the model took its time, so permissions may be lost (T-P15)."""
        return authorise(self.asked, (await self.load_actor(services)).facts) is None

    async def answer(self, services: Services, guid: str, text: str) -> None:
        """Answer once: in the command's thread, or below the pull request."""
        answers = [texts.Answer(texts.name_command(self.asked), text)]
        await comments.answer(services, self.comment, self.make_key(guid), answers)


def make_key(guid: str, index: int) -> str:
    """The key of an answer: one per line of a comment.

    :param index: which of the comment's lines it answers.
    """
    return f"{guid}.{index}"


class QueuedAnswer(Value):
    """The run for which something is answered; in journals.

    :param run_id: None if it is not.
    :param refused: then, why, as an answer.
    """

    run_id: str | None = None
    refused: str = ""


async def find_run(
    services: Services, comment: WrittenComment, actor: CommandActor, verb: Verb, key: str
) -> QueuedAnswer:
    """The run for which somebody is answered, if Forge may work on what they ask about; may be repeated.

    :param verb: the command, or the one that asks for the same.
    :param key: names the answer.
    """
    pull, repository = actor.pull_request, comment.repository
    if comment.is_pull_request and (pull is None or not pull.is_open):
        return QueuedAnswer(refused=texts.NOTHING_TO_REVIEW)
    paused_by = await permits.find_pauser(services.database, repository)
    if paused_by is not None:
        return QueuedAnswer(refused=texts.already_paused(paused_by))
    if pull is None:
        return await _admit_question(services, comment, key)
    configuration = await loading.load_configuration(services, repository)
    if not actor.has_ok and needs_ok(pull, configuration.review, repository.id) is not None:
        return QueuedAnswer(refused=descriptions.refuse_without_ok(verb))
    newest = await runs.find_newest(services.database, repository.id, comment.number)
    if newest is None or newest.head_sha != pull.head_sha:
        return QueuedAnswer(refused=descriptions.report_unread_head(verb, pull.head_sha))
    return QueuedAnswer(run_id=newest.id)


async def open_account(context: RunContext, key: str) -> RunContext:
    """What a model works with that only reads what words mean: a run of its own holds the cost, and no review does.

    :param key: names the words.
    """
    if context.run.is_of_issue:
        return context
    run = await context.journal.step("open an account", _admit_reading, context, key)
    return RunContext(context.services, run, context.journal)


async def _admit_reading(context: RunContext, key: str) -> Run:
    run = context.run
    where = (run.repository, run.number, run.head_sha, run.base_sha)
    candidate = Candidate(
        f"{key}#{run.repository.id}#{run.number} read", *where, Trigger.question, Repeat.always, base_ref=run.base_ref
    )
    return await admit_question(context.database, candidate, context.now())


async def _admit_question(services: Services, comment: WrittenComment, key: str) -> QueuedAnswer:
    """A run for the code of the default branch as it is now."""
    repository, number = comment.repository, comment.number
    try:
        branch = await services.host.default_branch(repository)
    except NotFound:  # it was there a moment ago
        return QueuedAnswer(refused=descriptions.NO_CODE)
    head = branch.head_sha
    candidate = Candidate(
        f"{key}#{number}", repository, number, head, head, Trigger.question, Repeat.always, base_ref=branch.name
    )
    run = await admit_question(services.database, candidate, services.clock.now())
    return QueuedAnswer(run_id=run.id)
