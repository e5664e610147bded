"""Finds the run for which somebody is answered: the newest on the live head, or one of its own for an issue."""

from pydantic import BaseModel

from domain.commands import Repeat, WrittenComment
from domain.errors import NotFound
from domain.runs.run import Run, Trigger
from domain.slash.verbs import Verb
from memory.repositories import permits
from memory.runs import runs
from memory.runs.questions import admit_question
from memory.runs.runs import Candidate
from messages import code_answers
from messages import commands as texts
from pipeline.config import loading
from pipeline.context import Services
from pipeline.gates.actor import CommandActor
from pipeline.run_context import RunContext
from safety.eligibility import needs_ok


class QueuedAnswer(BaseModel):
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
        return QueuedAnswer(refused=texts.nothing_to_review())
    paused_by = await permits.find_pauser(services.database, repository)
    if paused_by is not None:
        return QueuedAnswer(refused=texts.already_paused(paused_by))
    if pull is None:
        return await _admit_question(services, comment, key)
    loaded = await loading.load(services.host, services.database, repository, services.ceilings.of_configuration)
    if not actor.has_ok and needs_ok(pull, loaded.configuration.review, repository.id) is not None:
        return QueuedAnswer(refused=code_answers.refuse_without_ok(verb))
    past = await runs.list_for_pull_request(services.database, repository.id, comment.number)
    if not past or past[0].run.head_sha != pull.head_sha:
        return QueuedAnswer(refused=code_answers.report_unread_head(verb, pull.head_sha))
    return QueuedAnswer(run_id=past[0].run.id)


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
        return QueuedAnswer(refused=code_answers.report_no_code())
    head = branch.head_sha
    candidate = Candidate(
        f"{key}#{number}", repository, number, head, head, Trigger.question, Repeat.always, base_ref=branch.name
    )
    run = await admit_question(services.database, candidate, services.clock.now())
    return QueuedAnswer(run_id=run.id)
