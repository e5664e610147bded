"""The run of one issue, as a durable workflow that reads from top to bottom."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pydantic import JsonValue

from domain.errors import ForgeError
from domain.gates import SLICED, Gate, GateState
from domain.review.review import RiskLevel
from domain.runs.next_step import Bounce, Proof, Standing, Step, next_step
from domain.runs.plan import Weighed
from domain.runs.run import Phase, ReasonCode, Run, RunState, Trigger
from memory.gates import gates
from memory.runs import checkpoints, outbox, scheduled_checks
from messages import plan as plan_texts
from messages import pull_request as pull_request_texts
from messages.plan import StepState
from messages.pull_request import Progress
from pipeline.context import Services
from pipeline.gates.ask import show_all
from pipeline.issue.configured_gates import OwnGates, of_tests
from pipeline.issue.contract_locks import Locks
from pipeline.issue.help_needed import Helping
from pipeline.issue.implementation import Built, Implementing
from pipeline.issue.planning import REFUSED, Begun, Ended, Planning
from pipeline.issue.protected_paths import Granting
from pipeline.issue.pull_request import HandingIn, Opened
from pipeline.issue.testing import GRACE
from pipeline.issue.verification import Proving
from pipeline.publishing import test_check
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.runs.lifecycle import Running, said
from pipeline.runs.status import close_sign, open_sign


class IssueRun(Running):
    """One run of one issue: plan, ask people where the risk is high, implement, propose, mend until it is proved."""

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        super().__init__(services, run, workflow_id)
        self._status = IssueStatus(services, run)
        self._planning = Planning(services, self._journal, run)
        self._helping = Helping(services, self._journal, run)
        self._progress = Progress()

    async def _work(self) -> str:
        answered = await self._journal.step("begin", self._begin)
        begun = Begun.model_validate(await self._journal.step("read the issue", self._planning.read))
        if begun.paused_by is not None:
            text = plan_texts.stopped(ReasonCode.paused, spent=0)
            return await self._end(Ended(RunState.cancelled, ReasonCode.paused, text))
        if not begun.is_open:
            return await self._end(Ended(RunState.cancelled, ReasonCode.closed, plan_texts.closed()))
        await self._enter(Phase.planning)
        plan = await self._planning.plan(begun)
        if isinstance(plan, Ended):
            return await self._end(plan)
        if self._run.trigger is Trigger.plan:
            await self._planning.post(begun, plan)
            await self._leave(Phase.planning)
            return await self._end(Ended(RunState.completed, ReasonCode.planned, ""))
        return await self._decided(begun, plan, answered)

    async def _decided(self, begun: Begun, plan: Weighed, answered: JsonValue) -> str:
        """Go on with the plan as people decided, or wait for them.

        :param answered: how many questions they answered so far.
        """
        gate = await self._planning.approval(begun, plan)
        if gate is not None and gate.is_waiting:
            await self._journal.step("say what it waits for", lambda: said(self._say_what_it_waits_for(gate)))
            return await self._wait_for_a_person()
        if gate is not None and gate.state is not GateState.approved:
            reason = REFUSED[gate.state]
            text = plan_texts.stopped(reason, spent=await self._status.spent())
            return await self._end(Ended(RunState.failed, reason, text))
        own = OwnGates(self._services, self._journal, self._run, begun.configuration, plan)
        ended = await own.passed(Phase.planning, 1, plan.model_dump_json())
        if ended is not None:
            return await self._end(ended)
        await self._leave(Phase.planning)
        granted = await Granting(self._services, self._journal, self._run).granted(begun, plan)
        if isinstance(granted, Ended):
            return await self._end(granted)
        locks = Locks(self._services, self._journal, self._run)
        held = await locks.take(plan.plan.contracts)
        if isinstance(held, Ended):
            return await self._end(held)
        approval = None if gate is None else StepState.done
        progress = Progress(StepState.done, approval, StepState.now, tasks=len(plan.plan.tasks))
        if held:
            await locks.say_who_holds(held, progress)
            return await self._wait(ReasonCode.contract)
        await self._show(f"implements after {answered}", progress)
        implementing = Implementing(self._services, self._journal, self._run, begun, plan, granted, locks)
        handing_in = HandingIn(self._services, self._journal, self._run, begun, plan, locks)
        async with locks.renewed():
            outcome = await self._carried_out(begun, plan.level, implementing, handing_in, own)
        await locks.left()
        return outcome

    async def _carried_out(
        self, begun: Begun, level: RiskLevel, implementing: Implementing, handing_in: HandingIn, own: OwnGates
    ) -> str:
        """Implement, propose, and mend what the review and the tests find, as far as that goes now."""
        await self._enter(Phase.implementation)
        built = await implementing.carry_out()
        bounces = await self._journal.step("what was sent back", self._known)
        for turn, bounce in enumerate(bounces, 2):
            await self._enter(Phase.implementation, turn)
            built = await implementing.mend(built, bounce)
        while True:
            opened = await handing_in.hand_in(built)
            if isinstance(opened, Ended):
                return await self._end(opened)
            self._progress = _proposed(self._progress, built, opened, len(bounces))
            if built.ended is not None:
                return await self._end(await self._with_part(built.ended))
            proving = Proving(self._services, self._journal, self._run, opened, begun.configuration, level)
            found = await self._proven(proving, handing_in, built, bounces, own)
            if isinstance(found, Ended):
                return await self._end(await self._with_part(found))
            standing, step, phase = found
            if step is Step.test:
                return await self._wait_for_workflows()
            if step is Step.wait:
                return await self._wait_for_review(built, opened, standing)
            if step is Step.help and not await self._helping.may_mend(begun.configuration, phase, built.head, bounces):
                step = Step.given_up
            if step in {Step.untested, Step.given_up}:
                await self._journal.step("say what it came to", partial(self._tell_result, proving, handing_in, built))
            if step not in {Step.fix, Step.help}:
                return await self._end(await self._proved(step, opened))
            bounce = Bounce(phase=phase, head=built.head, to_fix=standing.to_fix)
            await self._journal.step("send it back", partial(self._send_back, bounce, len(bounces)))
            bounces.append(bounce)
            await self._show(f"mends {len(bounces)}", _mending(self._progress, len(bounces)))
            await self._enter(Phase.implementation, len(bounces) + 1)
            built = await implementing.mend(built, bounce)

    async def _proven(
        self, proving: Proving, handing_in: HandingIn, built: Built, bounces: Sequence[Bounce], own: OwnGates
    ) -> tuple[Standing, Step, Phase] | Ended:
        """How it stands and what is next once it was tested, as :meth:`_next` says.

        It is :attr:`Step.test` while the repository's own workflows have not ended.
        """
        while True:
            found = await self._next(proving, built, bounces, own)
            if isinstance(found, Ended):
                return found
            _, step, _ = found
            if step is Step.test:
                if not await self._have_tested(proving, built, len(bounces) + 1):
                    return found
            elif step is not Step.ready or await self._is_ready(proving, handing_in, built):
                return found

    async def _next(
        self, proving: Proving, built: Built, bounces: Sequence[Bounce], own: OwnGates
    ) -> tuple[Standing, Step, Phase] | Ended:
        """How it stands and what is next, once people let the run leave the phases it is through with.

        Who closed, merged or took over the pull request is asked nothing any more.

        :returns: how the run ends, if people do not let it.
        :raises AtGate: nobody answered yet.
        """
        standing, step, phase = await self._look(proving, built, bounces)
        turn = len(bounces) + 1
        ended = [Phase.implementation, *([] if standing.tested is Proof.pending else [Phase.testing])]
        for each in ended if step not in _OVER else ():
            known = of_tests(standing.failing if each is Phase.testing else None)
            over = await own.passed(each, turn, built.head, known)
            if over is not None:
                return over
            await self._leave(each, turn)
        return standing, step, phase

    async def _look(self, proving: Proving, built: Built, bounces: Sequence[Bounce]) -> tuple[Standing, Step, Phase]:
        """How it stands, and what is next."""
        answer = await self._journal.step("how it stands", lambda: proving.look(built, bounces))
        standing = Standing.model_validate(answer)
        return standing, *next_step(standing, built.head, bounces)

    async def _have_tested(self, proving: Proving, built: Built, turn: int) -> bool:
        """Have the head tested, once; whether that came to an end."""
        await self._enter(Phase.testing, turn)
        await self._show(f"tests {built.head}", replace(self._progress, review=StepState.done, testing=StepState.now))
        has_ended = await proving.test(built)
        await self._telling.quiet()
        return has_ended

    async def _wait_for_review(self, built: Built, opened: Opened, standing: Standing) -> str:
        text = await self._status.told(replace(self._progress, review=StepState.now, testing=StepState.next))
        waits = pull_request_texts.waits_for_review(opened.number, standing.reviewed)
        if waits:
            text = f"{text}\n\n{waits}"
        step = f"in review {built.head} {standing.reviewed}"
        await self._journal.step("say that it is reviewed", lambda: said(self._say(step, text)))
        return await self._wait(ReasonCode.in_review)

    async def _wait_for_workflows(self) -> str:
        """Of the repository's own; if GitHub begins none, or one never ends, nothing would say so."""
        await self._journal.step("look again later", self._look_again)
        return await self._wait(ReasonCode.in_review)

    async def _proved(self, step: Step, opened: Opened) -> Ended:
        """How the run ends once nothing is left to mend, or to be mended by it."""
        number, spent = opened.number, await self._status.spent()
        if step in _OVER:
            await self._journal.step("close the tests", lambda: said(test_check.close(self._services, self._run)))
        if step is Step.ready:
            return Ended(RunState.completed, ReasonCode.proposed, await self._told_ready())
        if step is Step.merged:
            text = pull_request_texts.over(number, is_merged=True, spent=spent)
            return Ended(RunState.completed, ReasonCode.proposed, text)
        if step is Step.closed:
            text = pull_request_texts.over(number, is_merged=False, spent=spent)
            return Ended(RunState.cancelled, ReasonCode.closed, text)
        if step is Step.taken:
            return Ended(RunState.completed, ReasonCode.branch_moved, pull_request_texts.taken(number, spent=spent))
        if step is Step.untested:
            return Ended(RunState.completed, ReasonCode.untested, pull_request_texts.untested(number, spent=spent))
        return Ended(RunState.failed, ReasonCode.stuck, pull_request_texts.given_up(number, spent=spent))

    async def _is_ready(self, proving: Proving, handing_in: HandingIn, built: Built) -> bool:
        """Whether it is ready now; not if somebody closed it or pushed at the last moment."""
        return bool(await self._journal.step("mark it ready", lambda: self._mark_ready(proving, handing_in, built)))

    async def _with_part(self, ended: Ended) -> Ended:
        """An end before everything was worked on, below what there is."""
        return replace(ended, text=f"{await self._status.told(self._progress)}\n\n{ended.text}")

    async def _end(self, ended: Ended) -> str:
        """End the run, and say so in its comment.

        :param ended: without a text where the plan was all that was asked for.
        """
        text = ended.text or plan_texts.progress([("Planning", StepState.done)], await self._status.spent())
        await self._journal.step("say how it ended", lambda: said(self._say(_last(ended.reason), text)))
        await self._journal.step("finish", lambda: self._finish(ended))
        self._is_over = True
        return ended.reason.value

    async def _show(self, step: str, progress: Progress) -> None:
        self._progress = progress
        tell = self._telling.tell
        await self._journal.step("say how far it is", lambda: said(self._status.tell(step, progress, tell)))

    # --- steps -------------------------------------------------------------------------------------------------

    async def _begin(self) -> JsonValue:
        await self._move(RunState.running)
        asked = await show_all(self._services, self._run)  # what was answered, if this goes on behind a gate
        await open_sign(self._services, self._run)  # if it could not be before, or the run was taken up again
        return sum(not gate.is_waiting for gate in asked)

    async def _finish(self, ended: Ended) -> JsonValue:
        """End it, and what it asked: on its pull request that would stand in the way."""
        services, run = self._services, self._run
        if await gates.void(services.database, run.id, (), "settled", services.clock.now()):
            await show_all(services, run)
        return await self._move(ended.state, ended.reason)

    async def _known(self) -> list[Bounce]:
        return [*await checkpoints.sent_back(self._services.database, self._run)]

    async def _send_back(self, bounce: Bounce, count: int) -> JsonValue:
        """With what was asked about the head that is mended now; slices are about none."""
        database, run, now = self._services.database, self._run, self._services.clock.now()
        keep = [gate.id for gate in await gates.of_run(database, run.id) if gate.name in SLICED]
        if await gates.void(database, run.id, keep, "settled", now):
            await show_all(self._services, run)
        await checkpoints.send_back(database, run, bounce, count, now)
        return None

    async def _look_again(self) -> JsonValue:
        now = self._services.clock.now()
        await scheduled_checks.plan(self._services.database, self._run.id, int(now.timestamp()), now + GRACE)
        return None

    async def _tell_result(self, proving: Proving, handing_in: HandingIn, built: Built) -> JsonValue:
        proved = await proving.result(built, self._progress.bounces)
        await handing_in.tell_result(proving.opened, built.head, proved)
        return None

    async def _mark_ready(self, proving: Proving, handing_in: HandingIn, built: Built) -> JsonValue:
        await self._telling.quiet()
        proved = await proving.result(built, self._progress.bounces)
        last, text = _last(ReasonCode.proposed), await self._told_ready()
        return await handing_in.mark_ready(proving.opened, built.head, proved, last, text)

    async def _told_ready(self) -> str:
        return await self._status.told(replace(self._progress, review=StepState.done, testing=StepState.done))

    async def _say_what_it_waits_for(self, gate: Gate) -> None:
        await self._telling.quiet()
        await self._status.wait(gate, self._progress)

    async def _say_what_went_wrong(self, error: ForgeError) -> None:
        text = plan_texts.failed(error, self._run.id, spent=await self._status.spent())
        await self._say("failed", text)
        await test_check.close(self._services, self._run)

    async def _say(self, step: str, text: str) -> None:
        await self._telling.quiet()
        await self._status.show(step, text)

    async def _close(self) -> None:
        await close_sign(self._services, self._run)


async def has_ended(services: Services, run: Run) -> bool:
    """Whether a run of an issue is over and said so itself: then nothing is left to close."""
    if not (run.is_of_issue and run.state.is_final):
        return False
    return await outbox.is_claimed(
        services.database, run.id, IssueStatus(services, run).step(_last(run.reason)), "comment"
    )


def _last(reason: ReasonCode) -> str:
    """The last state of the comment."""
    return f"ended {reason}"


def _proposed(progress: Progress, built: Built, opened: Opened, bounces: int) -> Progress:
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


def _mending(progress: Progress, bounces: int) -> Progress:
    ahead = StepState.next
    return replace(progress, implementation=StepState.now, review=ahead, testing=ahead, bounces=bounces)


_OVER = frozenset({Step.merged, Step.closed, Step.taken})
"""The steps after which a pull request is no matter of the run any more."""
