"""Makes the commit of what was made of an instruction; of new tests, only of those that are proven."""

from agents.testing.reproduction.new_tests import NewTests
from domain.runs.patches import ChangeSet
from domain.runs.run import ReasonCode, RunState
from messages import instructions as texts
from pipeline.issue.instruction.commit import commit_change, name_change, render_message, render_trailer
from pipeline.issue.instruction.delivery import Proposal
from pipeline.issue.instruction.proven_tests import ProvenTests, keep_proven, list_left_out
from pipeline.issue.instruction.work import InstructionWork, Made
from pipeline.issue.run_end import RunEnd
from pipeline.publishing.instructions import Instruction
from pipeline.run_context import RunContext

_MOST_CUTS = 3  # how often what is not proven is taken out, and the rest is run again


async def prepare_proposal(
    context: RunContext, asked: Instruction, work: InstructionWork, made: Made
) -> Proposal | RunEnd:
    """What is handed in; the end of the run where nothing of it may be."""
    trailer = await context.journal.step("who asked", render_trailer, context.services, asked)
    message = render_message(made.plan, made.summary, context.run.id, trailer)
    change, proof = made.change, ""
    if work.proofs is not None:
        proven = await _prove(context, work.proofs, made, message)
        if isinstance(proven, RunEnd):
            return proven
        change, proof = proven
    tip = await context.journal.step("make the commit", commit_change, context, change, message)
    tested = made.tested if work.proofs is None else await work.tests.run(tip)
    title, protected = name_change(made.plan), made.granted.paths
    return Proposal(tip, message, title, made.summary, tested, protected, proof=proof)


async def _prove(context: RunContext, proofs: ProvenTests, made: Made, message: str) -> tuple[ChangeSet, str] | RunEnd:
    """What of new tests is proven, and what is told of it."""
    change, proof, left_out = made.change, made.tested.proof or NewTests(), dict[str, str]()
    for _ in range(_MOST_CUTS):
        kept = keep_proven(change, proof)
        left_out |= list_left_out(proof)
        if not kept.files:
            break
        tip = await context.journal.step("make the commit", commit_change, context, kept, message)
        if kept == change:
            return kept, texts.describe_proof(await proofs.describe_coverage(tip), left_out)
        change, proof = kept, await proofs.prove(tip)  # without some of its tests, a file is another one
    text = texts.report_unproven(left_out, proof.not_run, await context.load_cost())
    return RunEnd(RunState.completed, ReasonCode.unchanged, text)
