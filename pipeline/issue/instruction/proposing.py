"""Makes the commit of an instruction, whose message names who asked; of new tests, only of those that are proven."""

from agents.testing.reproduction.new_tests import NewTests
from domain.runs.patches import ChangeSet
from domain.runs.plan import Plan, sort_tasks
from domain.runs.run import ReasonCode, RunState
from domain.text.redaction import redact_outgoing
from messages import instructions as texts
from messages import pull_request
from pipeline.context import Services
from pipeline.issue.instruction.delivery import Proposal
from pipeline.issue.instruction.work import InstructionWork, Made, ProvenTests, keep_proven, list_left_out
from pipeline.issue.status_comment import RunEnd
from pipeline.publishing.instructions import Instruction
from pipeline.run_context import RunContext

_MOST_CUTS = 3  # how often what is not proven is taken out, and the rest is run again


async def prepare_proposal(
    context: RunContext, asked: Instruction, work: InstructionWork, made: Made
) -> Proposal | RunEnd:
    """What is handed in; the end of the run where nothing of it may be."""
    trailer = await context.journal.step("who asked", render_trailer, context.services, asked)
    message = _render_message(made.plan, made.log or made.summary, context.run.id, trailer)
    change, proof = made.change, ""
    if work.proofs is not None:
        proven = await _prove(context, work.proofs, made, message)
        if isinstance(proven, RunEnd):
            return proven
        change, proof = proven
    tip = await context.journal.step("make the commit", _commit_change, context, change, message)
    tested = made.tested if work.proofs is None else await work.tests.run(tip)
    title, protected = _name_change(made.plan), made.granted.paths
    return Proposal(
        tip,
        message,
        title,
        made.summary,
        tested,
        protected,
        details=made.details,
        count=made.count,
        proof=proof,
        fixed=made.fixed,
    )


async def _prove(context: RunContext, proofs: ProvenTests, made: Made, message: str) -> tuple[ChangeSet, str] | RunEnd:
    """What of new tests is proven, and what is told of it."""
    change, proof, left_out = made.change, made.tested.proof or NewTests(), dict[str, str]()
    for _ in range(_MOST_CUTS):
        kept = keep_proven(change, proof)
        left_out |= list_left_out(proof)
        if not kept.files:
            break
        tip = await context.journal.step("make the commit", _commit_change, context, kept, message)
        if kept == change:
            covered = await proofs.describe_coverage(tip)
            return kept, texts.describe_proof(proof.proven, proof.unloaded, covered, left_out)
        change, proof = kept, await proofs.prove(tip)  # without some of its tests, a file is another one
    text = texts.report_unproven(left_out, proof.not_run, await context.load_cost())
    return RunEnd(RunState.completed, ReasonCode.unchanged, text)


async def render_trailer(services: Services, asked: Instruction) -> str:
    """Names who asked, with the address by which GitHub knows them."""
    forge = await services.host.signature(asked.comment.repository)
    sender = asked.comment.sender
    return f"Co-authored-by: {sender.login} <{sender.id}+{sender.login}@{forge.email.rpartition('@')[2]}>"


def _render_message(plan: Plan, summary: str, run_id: str, trailer: str) -> str:
    """The message of the one commit: what is different now, not what was to be done.

    :param summary: of whoever carried it out, untrusted.
    """
    return redact_outgoing(f"{pull_request.render_change_message(_name_change(plan), summary, run_id)}{trailer}\n")


def _name_change(plan: Plan) -> str:
    return plan.title or sort_tasks(plan)[0].title


async def _commit_change(context: RunContext, change: ChangeSet, message: str) -> str:
    """The commit of a change on top of the head of a run; the same change makes the same one."""
    mirror = await context.fetch_mirror()
    return await mirror.commit_change(context.run.head_sha, change, message, *await context.load_stamp())
