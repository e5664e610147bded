"""The run of one issue, as a durable workflow that reads from top to bottom."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pydantic import JsonValue

from domain.errors import ForgeError
from domain.gates import BUDGET_GATES, Gate, GateState
from domain.review.review import RiskLevel
from domain.runs.next_step import NextStep, PullRequestState, SendBack, VerificationState, next_step
from domain.runs.plan import RatedPlan
from domain.runs.run import Phase, ReasonCode, Run, RunState, Trigger
from memory.gates import gates
from memory.runs import checkpoints, outbox, scheduled_checks
from messages import plan as plan_texts
from messages import pull_request as pull_request_texts
from messages.plan import StepState
from messages.pull_request import Progress
from pipeline.context import Services
from pipeline.gates.ask import show_gates
from pipeline.issue.configured_gates import ConfiguredGates, build_test_facts
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.help_needed import HelpGate
from pipeline.issue.implementation import BuiltChange, Implementation
from pipeline.issue.planning import REFUSAL_REASONS, IssueRunInput, Planning, RunEnd
from pipeline.issue.protected_paths import ProtectedPathsGate
from pipeline.issue.pull_request import OpenedPullRequest, PullRequestPublisher
from pipeline.issue.testing import GRACE
from pipeline.issue.verification import Verification
from pipeline.publishing import test_check
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.runs.lifecycle import RunWorkflow, answer_nothing
from pipeline.runs.status import close_status, open_status


class IssueRun(RunWorkflow):
    """One run of one issue: plan, ask people where the risk is high, implement, propose, mend until it is proved."""

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        super().__init__(services, run, workflow_id)
        self._status = IssueStatus(services, run)
        self._planning = Planning(services, self._journal, run)
        self._helping = HelpGate(services, self._journal, run)
        self._progress = Progress()

    async def _work(self) -> str:
        answered = await self._journal.step("begin", self._begin)
        begun = IssueRunInput.model_validate(await self._journal.step("read the issue", self._planning.read_issue))
        if begun.paused_by is not None:
            text = plan_texts.report_stop(ReasonCode.paused, spent=0)
            return await self._end(RunEnd(RunState.cancelled, ReasonCode.paused, text))
        if not begun.is_open:
            return await self._end(RunEnd(RunState.cancelled, ReasonCode.closed, plan_texts.refuse_closed()))
        await self._enter_phase(Phase.planning)
        plan = await self._planning.make_plan(begun)
        if isinstance(plan, RunEnd):
            return await self._end(plan)
        if self._run.trigger is Trigger.plan:
            await self._planning.post_plan(begun, plan)
            await self._leave_phase(Phase.planning)
            return await self._end(RunEnd(RunState.completed, ReasonCode.planned, ""))
        return await self._continue_as_decided(begun, plan, answered)

    async def _continue_as_decided(self, begun: IssueRunInput, plan: RatedPlan, answered: JsonValue) -> str:
        """Go on with the plan as people decided, or wait for them.

        :param answered: how many questions they answered so far.
        """
        gate = await self._planning.ask_approval(begun, plan)
        if gate is not None and gate.is_waiting:
            await self._journal.step("say what it waits for", lambda: answer_nothing(self._show_waiting(gate)))
            return await self._wait_for_a_person()
        if gate is not None and gate.state is not GateState.approved:
            reason = REFUSAL_REASONS[gate.state]
            text = plan_texts.report_stop(reason, spent=await self._status.load_cost())
            return await self._end(RunEnd(RunState.failed, reason, text))
        own = ConfiguredGates(self._services, self._journal, self._run, begun.configuration, plan)
        ended = await own.ask_at_phase_end(Phase.planning, 1, plan.model_dump_json())
        if ended is not None:
            return await self._end(ended)
        await self._leave_phase(Phase.planning)
        granted = await ProtectedPathsGate(self._services, self._journal, self._run).ask_for_paths(begun, plan)
        if isinstance(granted, RunEnd):
            return await self._end(granted)
        locks = ContractLocks(self._services, self._journal, self._run)
        held = await locks.take(plan.plan.contracts)
        if isinstance(held, RunEnd):
            return await self._end(held)
        approval = None if gate is None else StepState.done
        progress = Progress(StepState.done, approval, StepState.now, tasks=len(plan.plan.tasks))
        if held:
            await locks.show_holders(held, progress)
            return await self._wait(ReasonCode.contract)
        await self._show_progress(f"implements after {answered}", progress)
        implementing = Implementation(self._services, self._journal, self._run, begun, plan, granted, locks)
        handing_in = PullRequestPublisher(self._services, self._journal, self._run, begun, plan, locks)
        async with locks.keep_renewed():
            outcome = await self._implement_and_verify(begun, plan.level, implementing, handing_in, own)
        await locks.wake_waiting_runs()
        return outcome

    async def _implement_and_verify(
        self,
        begun: IssueRunInput,
        level: RiskLevel,
        implementing: Implementation,
        handing_in: PullRequestPublisher,
        own: ConfiguredGates,
    ) -> str:
        """Implement, propose, and mend what the review and the tests find, as far as that goes now."""
        await self._enter_phase(Phase.implementation)
        built = await implementing.carry_out()
        bounces = await self._journal.step("what was sent back", self._load_send_backs)
        for turn, bounce in enumerate(bounces, 2):
            await self._enter_phase(Phase.implementation, turn)
            built = await implementing.mend(built, bounce)
        while True:
            opened = await handing_in.publish(built)
            if isinstance(opened, RunEnd):
                return await self._end(opened)
            self._progress = _mark_proposed(self._progress, built, opened, len(bounces))
            if built.ended is not None:
                return await self._end(await self._add_progress(built.ended))
            proving = Verification(self._services, self._journal, self._run, opened, begun.configuration, level)
            found = await self._verify(proving, handing_in, built, bounces, own)
            if isinstance(found, RunEnd):
                return await self._end(await self._add_progress(found))
            standing, step, phase = found
            if step is NextStep.test:
                return await self._wait_for_workflows()
            if step is NextStep.wait:
                return await self._wait_for_review(built, opened, standing)
            if step is NextStep.help and not await self._helping.may_mend(
                begun.configuration, phase, built.head, bounces
            ):
                step = NextStep.given_up
            if step in {NextStep.untested, NextStep.given_up}:
                await self._journal.step("say what it came to", partial(self._write_result, proving, handing_in, built))
            if step not in {NextStep.fix, NextStep.help}:
                return await self._end(await self._conclude(step, opened))
            bounce = SendBack(phase=phase, head=built.head, to_fix=standing.to_fix)
            await self._journal.step("send it back", partial(self._send_back, bounce, len(bounces)))
            bounces.append(bounce)
            await self._show_progress(f"mends {len(bounces)}", _mark_mending(self._progress, len(bounces)))
            await self._enter_phase(Phase.implementation, len(bounces) + 1)
            built = await implementing.mend(built, bounce)

    async def _verify(
        self,
        proving: Verification,
        handing_in: PullRequestPublisher,
        built: BuiltChange,
        bounces: Sequence[SendBack],
        own: ConfiguredGates,
    ) -> tuple[PullRequestState, NextStep, Phase] | RunEnd:
        """How it stands and what is next once it was tested, as :meth:`_next` says.

        It is :attr:`Step.test` while the repository's own workflows have not ended.
        """
        while True:
            found = await self._decide_next(proving, built, bounces, own)
            if isinstance(found, RunEnd):
                return found
            _, step, _ = found
            if step is NextStep.test:
                if not await self._test_head(proving, built, len(bounces) + 1):
                    return found
            elif step is not NextStep.ready or await self._try_mark_ready(proving, handing_in, built):
                return found

    async def _decide_next(
        self, proving: Verification, built: BuiltChange, bounces: Sequence[SendBack], own: ConfiguredGates
    ) -> tuple[PullRequestState, NextStep, Phase] | RunEnd:
        """How it stands and what is next, once people let the run leave the phases it is through with.

        Who closed, merged or took over the pull request is asked nothing any more.

        :returns: how the run ends, if people do not let it.
        :raises AtGate: nobody answered yet.
        """
        standing, step, phase = await self._load_next_step(proving, built, bounces)
        turn = len(bounces) + 1
        ended = [Phase.implementation, *([] if standing.tested is VerificationState.pending else [Phase.testing])]
        for each in ended if step not in _FINAL_STEPS else ():
            known = build_test_facts(standing.failing if each is Phase.testing else None)
            over = await own.ask_at_phase_end(each, turn, built.head, known)
            if over is not None:
                return over
            await self._leave_phase(each, turn)
        return standing, step, phase

    async def _load_next_step(
        self, proving: Verification, built: BuiltChange, bounces: Sequence[SendBack]
    ) -> tuple[PullRequestState, NextStep, Phase]:
        """How it stands, and what is next."""
        answer = await self._journal.step("how it stands", lambda: proving.load_state(built, bounces))
        standing = PullRequestState.model_validate(answer)
        return standing, *next_step(standing, built.head, bounces)

    async def _test_head(self, proving: Verification, built: BuiltChange, turn: int) -> bool:
        """Have the head tested, once; whether that came to an end."""
        await self._enter_phase(Phase.testing, turn)
        await self._show_progress(
            f"tests {built.head}", replace(self._progress, review=StepState.done, testing=StepState.now)
        )
        has_ended = await proving.test(built)
        await self._telling.quiet()
        return has_ended

    async def _wait_for_review(self, built: BuiltChange, opened: OpenedPullRequest, standing: PullRequestState) -> str:
        text = await self._status.render_progress(replace(self._progress, review=StepState.now, testing=StepState.next))
        waits = pull_request_texts.waits_for_review(opened.number, standing.reviewed)
        if waits:
            text = f"{text}\n\n{waits}"
        step = f"in review {built.head} {standing.reviewed}"
        await self._journal.step("say that it is reviewed", lambda: answer_nothing(self._show_status(step, text)))
        return await self._wait(ReasonCode.in_review)

    async def _wait_for_workflows(self) -> str:
        """Of the repository's own; if GitHub begins none, or one never ends, nothing would say so."""
        await self._journal.step("look again later", self._schedule_check)
        return await self._wait(ReasonCode.in_review)

    async def _conclude(self, step: NextStep, opened: OpenedPullRequest) -> RunEnd:
        """How the run ends once nothing is left to mend, or to be mended by it."""
        number, spent = opened.number, await self._status.load_cost()
        if step in _FINAL_STEPS:
            await self._journal.step(
                "close the tests", lambda: answer_nothing(test_check.close_checks(self._services, self._run))
            )
        if step is NextStep.ready:
            return RunEnd(RunState.completed, ReasonCode.proposed, await self._render_ready())
        if step is NextStep.merged:
            text = pull_request_texts.report_closed(number, is_merged=True, spent=spent)
            return RunEnd(RunState.completed, ReasonCode.proposed, text)
        if step is NextStep.closed:
            text = pull_request_texts.report_closed(number, is_merged=False, spent=spent)
            return RunEnd(RunState.cancelled, ReasonCode.closed, text)
        if step is NextStep.taken:
            return RunEnd(
                RunState.completed, ReasonCode.branch_moved, pull_request_texts.report_taken_over(number, spent=spent)
            )
        if step is NextStep.untested:
            return RunEnd(
                RunState.completed, ReasonCode.untested, pull_request_texts.report_untested(number, spent=spent)
            )
        return RunEnd(RunState.failed, ReasonCode.stuck, pull_request_texts.report_given_up(number, spent=spent))

    async def _try_mark_ready(
        self, proving: Verification, handing_in: PullRequestPublisher, built: BuiltChange
    ) -> bool:
        """Whether it is ready now; not if somebody closed it or pushed at the last moment."""
        return bool(await self._journal.step("mark it ready", lambda: self._mark_ready(proving, handing_in, built)))

    async def _add_progress(self, ended: RunEnd) -> RunEnd:
        """An end before everything was worked on, below what there is."""
        return replace(ended, text=f"{await self._status.render_progress(self._progress)}\n\n{ended.text}")

    async def _end(self, ended: RunEnd) -> str:
        """End the run, and say so in its comment.

        :param ended: without a text where the plan was all that was asked for.
        """
        text = ended.text or plan_texts.render_progress([("Planning", StepState.done)], await self._status.load_cost())
        await self._journal.step(
            "say how it ended", lambda: answer_nothing(self._show_status(_name_final_step(ended.reason), text))
        )
        await self._journal.step("finish", lambda: self._finish(ended))
        self._is_over = True
        return ended.reason.value

    async def _show_progress(self, step: str, progress: Progress) -> None:
        self._progress = progress
        tell = self._telling.post_later
        await self._journal.step(
            "say how far it is", lambda: answer_nothing(self._status.show_progress(step, progress, tell))
        )

    # --- steps -------------------------------------------------------------------------------------------------

    async def _begin(self) -> JsonValue:
        await self._move(RunState.running)
        asked = await show_gates(self._services, self._run)  # what was answered, if this goes on behind a gate
        await open_status(self._services, self._run)  # if it could not be before, or the run was taken up again
        return sum(not gate.is_waiting for gate in asked)

    async def _finish(self, ended: RunEnd) -> JsonValue:
        """End it, and what it asked: on its pull request that would stand in the way."""
        services, run = self._services, self._run
        if await gates.void(services.database, run.id, (), "settled", services.clock.now()):
            await show_gates(services, run)
        return await self._move(ended.state, ended.reason)

    async def _load_send_backs(self) -> list[SendBack]:
        return [*await checkpoints.load_send_backs(self._services.database, self._run)]

    async def _send_back(self, bounce: SendBack, count: int) -> JsonValue:
        """With what was asked about the head that is mended now; slices are about none."""
        database, run, now = self._services.database, self._run, self._services.clock.now()
        keep = [gate.id for gate in await gates.list_for_run(database, run.id) if gate.name in BUDGET_GATES]
        if await gates.void(database, run.id, keep, "settled", now):
            await show_gates(self._services, run)
        await checkpoints.save_send_back(database, run, bounce, count, now)
        return None

    async def _schedule_check(self) -> JsonValue:
        now = self._services.clock.now()
        await scheduled_checks.schedule(self._services.database, self._run.id, int(now.timestamp()), now + GRACE)
        return None

    async def _write_result(
        self, proving: Verification, handing_in: PullRequestPublisher, built: BuiltChange
    ) -> JsonValue:
        proved = await proving.build_result(built, self._progress.bounces)
        await handing_in.write_result(proving.opened, built.head, proved)
        return None

    async def _mark_ready(
        self, proving: Verification, handing_in: PullRequestPublisher, built: BuiltChange
    ) -> JsonValue:
        await self._telling.quiet()
        proved = await proving.build_result(built, self._progress.bounces)
        last, text = _name_final_step(ReasonCode.proposed), await self._render_ready()
        return await handing_in.mark_ready(proving.opened, built.head, proved, last, text)

    async def _render_ready(self) -> str:
        return await self._status.render_progress(
            replace(self._progress, review=StepState.done, testing=StepState.done)
        )

    async def _show_waiting(self, gate: Gate) -> None:
        await self._telling.quiet()
        await self._status.show_waiting(gate, self._progress)

    async def _show_failure(self, error: ForgeError) -> None:
        text = plan_texts.report_failure(error, self._run.id, spent=await self._status.load_cost())
        await self._show_status("failed", text)
        await test_check.close_checks(self._services, self._run)

    async def _show_status(self, step: str, text: str) -> None:
        await self._telling.quiet()
        await self._status.show(step, text)

    async def _close(self) -> None:
        await close_status(self._services, self._run)


async def has_ended(services: Services, run: Run) -> bool:
    """Whether a run of an issue is over and said so itself: then nothing is left to close."""
    if not (run.is_of_issue and run.state.is_final):
        return False
    return await outbox.is_claimed(
        services.database, run.id, IssueStatus(services, run).step_name(_name_final_step(run.reason)), "comment"
    )


def _name_final_step(reason: ReasonCode) -> str:
    """The last state of the comment."""
    return f"ended {reason}"


def _mark_proposed(progress: Progress, built: BuiltChange, opened: OpenedPullRequest, bounces: int) -> Progress:
    done = StepState.done
    return replace(
        progress,
        implementation=done,
        done=len(built.finished),
        pull_request=done,
        number=opened.number,
        review=StepState.now if built.ended is None else StepState.next,
        bounces=bounces,
    )


def _mark_mending(progress: Progress, bounces: int) -> Progress:
    ahead = StepState.next
    return replace(progress, implementation=StepState.now, review=ahead, testing=ahead, bounces=bounces)


_FINAL_STEPS = frozenset({NextStep.merged, NextStep.closed, NextStep.taken})
"""The steps after which a pull request is no matter of the run any more."""
