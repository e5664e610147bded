"""Keeps the commit of an instruction under the id of a checkpoint, and takes it back by another one."""

from domain.ids import shorten_id
from domain.runs.patches import NO_CHANGES
from domain.runs.work_checkpoint import CheckpointCause, CheckpointDetails, WorkKey
from domain.text.redaction import redact_outgoing
from domain.value import Value
from memory.runs import model_answers, runs, work_checkpoints
from messages import instructions as texts
from messages import updates as update_texts
from pipeline.issue.instruction.delivery import Delivered, Proposal
from pipeline.issue.instruction.kept_commits import COMMIT, KeptCommit, find_commit
from pipeline.issue.instruction.start import Start
from pipeline.publishing.instructions import COMMITTED, Instruction
from pipeline.run_context import RunContext
from workspace.merges import merge_onto


class Undo(Value):
    """A commit that takes another one back, on top of the head; in journals.

    :param commit: that is taken back.
    :param tip: empty if it cannot be, and ``why`` says why, as an answer.
    """

    commit: str = ""
    tip: str = ""
    title: str = ""
    message: str = ""
    why: str = ""


async def keep_commit(context: RunContext, start: Start, delivered: Delivered, proposal: Proposal) -> str:
    """Keep where a change is; the short id by which people take it back from the branch. May be repeated.

    :returns: empty if it is not on the branch.
    """
    database, run, now, commit = context.database, context.run, context.now(), delivered.commit
    made = KeptCommit(commit=commit, merges=start.base, number=delivered.number, fixed=dict(proposal.fixed))
    await model_answers.keep(database, run, COMMIT, made.model_dump(), now)
    if not commit:
        return ""
    key = WorkKey(run_id=run.id, work=COMMITTED, base=start.head)
    known = await work_checkpoints.find_newest(database, key)
    if known is None:
        details = CheckpointDetails(said=proposal.summary, spent_usd=await context.load_cost() / 1_000_000)
        done = CheckpointCause.done
        known = await work_checkpoints.add(database, key, None, done, NO_CHANGES, details, now)
    return shorten_id("C", known.id)


async def prepare_undo(context: RunContext, asked: Instruction, start: Start, trailer: str) -> Undo:
    """The commit that takes back what an earlier instruction put on the branch."""
    earlier = await runs.get(context.database, asked.undoes)
    kept = KeptCommit() if earlier is None else await find_commit(context.database, earlier)
    commit = kept.commit
    if not commit:
        return Undo(why=texts.UNCOMMITTED)
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
