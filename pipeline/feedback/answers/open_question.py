"""Finds the question with which the newest instruction in a place ended: what people say next may answer it."""

from pydantic import BaseModel

from domain.runs.run import RepositoryRef
from domain.slash.verbs import Verb
from memory.budgets import model_answers
from memory.db.engine import Database
from memory.runs import instructions
from pipeline.publishing.instructions import Instruction

_MOST = 30  # instructions of a pull request that are looked at


class OpenQuestion(BaseModel):
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
