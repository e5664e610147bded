"""The run of one instruction on a pull request, as a durable workflow that reads from top to bottom."""

from collections.abc import Sequence
from dataclasses import replace

from domain.errors import ForgeError
from domain.gates import Gate
from domain.runs.run import ReasonCode, RunState
from memory.runs import instructions
from messages import instructions as texts
from pipeline.issue.instruction.delivery import ChangeTests, Delivered, Delivery, Proposal, keep_commit, prepare_undo
from pipeline.issue.instruction.fixing import FixWork
from pipeline.issue.instruction.kept_commits import keep_awaited, look_at_own, tell_end
from pipeline.issue.instruction.proposing import prepare_proposal, render_trailer
from pipeline.issue.instruction.start import Start, find_obstacle, find_start
from pipeline.issue.instruction.update import BaseUpdate
from pipeline.issue.instruction.work import InstructionWork, Made
from pipeline.issue.red_checks import RedChecks, run_again_once
from pipeline.issue.status_comment import RunEnd
from pipeline.publishing.gate_checks import show_gates
from pipeline.publishing.instructions import (
    Instruction,
    answer_instruction,
    keep_question,
    load_instruction,
    point_to_gate,
)
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import RunWorkflow
from pipeline.runs.status import close_status


class InstructionRun(RunWorkflow):
    """One run of one instruction: its turn, a plan, the change, its tests, a commit, one answer."""

    async def _work(self) -> str:
        if not await self._journal.step("begin", self._begin):
            return await self._wait(ReasonCode.turn)
        asked = await self._journal.step("what is asked", load_instruction, self._services.database, self._run)
        obstacle = await self._journal.step("may it begin", find_obstacle, self._context, asked)
        if obstacle:
            return await self._end(RunEnd(RunState.cancelled, ReasonCode.excluded, obstacle))
        start = await self._journal.step("where it begins", find_start, self._context, asked)
        if start.brief.obstacle:
            return await self._end(RunEnd(RunState.completed, ReasonCode.unchanged, start.brief.obstacle))
        self._stand_on(start.head)
        how = texts.explain_answering(asked.asked.verb, is_in_thread=asked.is_in_thread)
        make_work = InstructionWork if start.brief.goal is None else FixWork
        work = make_work(self._context, start, is_of_others=asked.is_of_others, how_to_answer=how)
        if asked.undoes:
            return await self._end_awaiting(await self._undo(asked, start, work), ())
        if start.base:
            return await self._end(await self._update(asked, start))
        made = await work.make()
        if isinstance(made, ReasonCode):
            return await self._wait(made)
        if isinstance(made, RunEnd):
            cause, ended = "", await self._explain(made)
        else:
            cause, ended = made.plan.summary, await self._deliver(asked, start, made, work)
        red, is_made = start.brief.red, isinstance(made, Made) and bool(made.change.files)
        if red is not None:
            ended = await self._tell_red(asked, red, cause, ended, is_made)
            return await self._end_awaiting(ended, list(dict.fromkeys(each.name for each in red.own)))
        return await self._end(ended)

    def _stand_on(self, head: str) -> None:
        """Work on this head: the change of the run is what it makes of it."""
        self._run = self._run.model_copy(update={"head_sha": head, "base_sha": head})
        self._context = RunContext(self._services, self._run, self._journal)

    async def _deliver(self, asked: Instruction, start: Start, made: Made, work: InstructionWork) -> RunEnd:
        if not made.change.files:
            told, spent = made.details(""), await self._context.load_cost()
            text = texts.report_unchanged(made.summary, made.left, spent, told, is_told=made.is_told)
            return RunEnd(RunState.completed, ReasonCode.unchanged, text, made.count)
        proposal = await prepare_proposal(self._context, asked, work, made)
        if isinstance(proposal, RunEnd):
            return proposal
        return await self._propose(asked, start, work.tests, proposal, made.left)

    async def _undo(self, asked: Instruction, start: Start, work: InstructionWork) -> RunEnd:
        """Take the commit of an earlier instruction back, in one more commit."""
        trailer = await self._journal.step("who asked", render_trailer, self._services, asked)
        undo = await self._journal.step("take it back", prepare_undo, self._context, asked, start, trailer)
        if not undo.tip:
            return RunEnd(RunState.completed, ReasonCode.unchanged, undo.why)
        tested = await work.tests.run(undo.tip)
        proposal = Proposal(undo.tip, undo.message, undo.title, texts.explain_undo(undo.commit, undo.title), tested)
        return await self._propose(asked, start, work.tests, proposal)

    async def _update(self, asked: Instruction, start: Start) -> RunEnd:
        """Take the base in."""
        trailer = await self._journal.step("who asked", render_trailer, self._services, asked)
        update = BaseUpdate(self._context, asked, start, trailer)
        made = await update.make()
        if isinstance(made, RunEnd):
            return await self._explain(made)
        return await self._propose(asked, start, update.build_tests(made.resolved), made)

    async def _propose(
        self, asked: Instruction, start: Start, tests: ChangeTests, proposal: Proposal, left: str = ""
    ) -> RunEnd:
        delivered = await Delivery(self._context, asked, start, proposal, tests).deliver()
        if delivered is None:
            return RunEnd(RunState.cancelled, ReasonCode.excluded, texts.PERMISSION_LOST)
        keep = ("keep what it made", keep_commit, self._context, start, delivered, proposal)
        checkpoint, sender = await self._journal.step(*keep), asked.comment.sender
        text = texts.report_delivery(
            proposal.summary,
            left,
            delivered.tested.title,
            await self._context.load_cost(),
            branch=start.pull_request.head_ref,
            commit=delivered.commit,
            number=delivered.number,
            patch=delivered.patch,
            why=delivered.why,
            took_in=delivered.took_in,
            checkpoint="" if proposal.merges else checkpoint,
            details="" if proposal.details is None else proposal.details(delivered.where),
            proof=proposal.proof,
            new_author="" if sender.id == start.pull_request.author_id else sender.login,
        )
        return RunEnd(RunState.completed, _name_reason(delivered), text, proposal.count)

    async def _tell_red(self, asked: Instruction, red: RedChecks, cause: str, ended: RunEnd, is_made: bool) -> RunEnd:
        """The end of mending, after what was red; where nothing was found to change, it may be a matter of chance.

        :param is_made: a change was made, wherever it went.
        """
        again: tuple[str, ...] = ()
        if not is_made and ended.reason in {ReasonCode.questions, ReasonCode.unchanged}:
            again = await self._journal.step("run it again", run_again_once, self._context, red.head)
        told = [
            texts.render_red([(each.name, each.said) for each in red.own], cause, asked.attempt),
            texts.render_left(red.before, again, is_chance=ended.reason is ReasonCode.unchanged),
        ]
        return replace(ended, text="\n\n".join([*filter(None, told), ended.text]))

    async def _end_awaiting(self, ended: RunEnd, names: Sequence[str]) -> str:
        """End what put a commit on the branch: its answer is changed once the checks of that ended, maybe by now.

        :param names: of the checks that are to pass then.
        """
        if ended.reason is not ReasonCode.committed:
            return await self._end(ended)
        await self._journal.step("what it awaits", keep_awaited, self._context, names, ended.text)
        told = "\n\n".join(filter(None, [ended.text, texts.render_awaited(names)]))
        reason = await self._end(replace(ended, text=told))
        await look_at_own(self._context)
        return reason

    async def _explain(self, ended: RunEnd) -> RunEnd:
        """The end of an instruction, in words for a pull request."""
        if ended.state is RunState.completed:
            return ended
        text = texts.report_end(ended.reason, ended.why, await self._context.load_cost())
        return RunEnd(ended.state, ended.reason, text)

    async def _end(self, ended: RunEnd) -> str:
        """End the run, and answer once."""
        if ended.asked:
            await self._journal.step("keep the question", keep_question, self._services, self._run, ended.asked)
        await self._journal.step("answer", answer_instruction, self._services, self._run, ended.text)
        await self._journal.step("finish", self._settle, ended.state, ended.reason, ended.detail)
        await self._journal.step("what became of all", tell_end, self._services, self._run)
        self._is_over = True
        return ended.reason.value

    # --- steps -------------------------------------------------------------------------------------------------

    async def _begin(self) -> bool:
        """Whether it is its turn."""
        await self._move(RunState.running)
        await show_gates(self._services, self._run)  # an answer may have started this execution
        return await instructions.find_earlier(self._services.database, self._run) is None

    async def _show_waiting(self, gate: Gate) -> None:
        """Its own comment shows it; a review thread says where that is."""
        asked = await load_instruction(self._services.database, self._run)
        await point_to_gate(self._services, asked, gate)

    async def _show_failure(self, error: ForgeError) -> None:
        spent = await self._context.load_cost()
        text = texts.report_failure(f"{error.message} {error.advice}".strip(), spent)
        await answer_instruction(self._services, self._run, text)
        await tell_end(self._services, self._run)

    async def _close(self) -> None:
        await close_status(self._services, self._run)
        await tell_end(self._services, self._run)


def _name_reason(delivered: Delivered) -> ReasonCode:
    if delivered.commit:
        return ReasonCode.committed
    return ReasonCode.unchanged if delivered.number is None else ReasonCode.proposed
