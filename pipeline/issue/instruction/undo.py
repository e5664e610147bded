"""Keeps the commit of an instruction under the id of a checkpoint, and takes it back by another one."""

from pydantic import BaseModel

from domain.ids import shorten_id
from domain.runs.patches import NO_CHANGES
from domain.runs.run import Run
from domain.runs.work_checkpoint import CheckpointCause, CheckpointDetails, WorkKey
from domain.text.redaction import redact_outgoing
from memory.budgets import model_answers
from memory.db.engine import Database
from memory.runs import runs, work_checkpoints
from messages import instructions as texts
from messages import updates as update_texts
from pipeline.issue.instruction.start import Start
from pipeline.publishing.instructions import COMMITTED, Instruction
from pipeline.run_context import RunContext
from workspace.merges import merge_onto

_COMMIT = "what an instruction put on the branch"  # stored


class KeptCommit(BaseModel):
    """What an instruction put on the branch; in the database.

    :param commit: empty if it put none there.
    :param merges: the head of the base that it takes in; empty for any other commit.
    """

    commit: str = ""
    merges: str = ""


class Undo(BaseModel):
    """A commit that takes another one back, on top of the head; in journals.

    :param commit: that is taken back.
    :param tip: empty if it cannot be, and ``why`` says why, as an answer.
    """

    commit: str = ""
    tip: str = ""
    title: str = ""
    message: str = ""
    why: str = ""


async def keep_commit(context: RunContext, start: Start, commit: str, said: str) -> str:
    """Keep a commit on the branch, so that people can take it back; the short id by which they do. May be repeated."""
    database, run, now = context.database, context.run, context.now()
    await model_answers.keep(database, run, _COMMIT, KeptCommit(commit=commit, merges=start.base).model_dump(), now)
    key = WorkKey(run_id=run.id, work=COMMITTED, base=start.head)
    known = await work_checkpoints.find_newest(database, key)
    if known is None:
        details = CheckpointDetails(said=said, spent_usd=await context.load_cost() / 1_000_000)
        done = CheckpointCause.done
        known = await work_checkpoints.add(database, key, None, done, NO_CHANGES, details, now)
    return shorten_id("C", known.id)


async def find_commit(database: Database, run: Run) -> KeptCommit:
    """What an instruction put on the branch."""
    return KeptCommit.model_validate(await model_answers.find(database, run, _COMMIT) or {})


async def prepare_undo(context: RunContext, asked: Instruction, start: Start, trailer: str) -> Undo:
    """The commit that takes back what an earlier instruction put on the branch."""
    earlier = await runs.get(context.database, asked.undoes)
    kept = KeptCommit() if earlier is None else await find_commit(context.database, earlier)
    commit = kept.commit
    if not commit:
        return Undo(why=texts.refuse_uncommitted())
    mirror, stamp = await context.fetch_mirror(), await context.load_stamp()
    before = await mirror.first_parent(commit) if await mirror.follows(start.head, commit) else None
    if before is None:
        return Undo(why=texts.report_no_undo(commit))
    if kept.merges:
        return Undo(why=update_texts.refuse_undo(before))
    subject = (await mirror.describe(commit)).message.partition("\n")[0]
    title, message = texts.render_undo_message(commit, subject, context.run.id, trailer)
    message = redact_outgoing(message)
    without = await mirror.commit_tree(commit, await mirror.tree_of(before), message, *stamp)
    tree = await merge_onto(mirror, start.head, without)
    if tree is None or tree == await mirror.tree_of(start.head):
        return Undo(why=texts.report_no_undo(commit))
    tip = await mirror.commit_tree(start.head, tree, message, *stamp)
    return Undo(commit=commit, tip=tip, title=title, message=message)
