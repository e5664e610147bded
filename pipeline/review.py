"""The review of one head, as a durable workflow that reads from top to bottom."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import cast

import structlog
from pydantic import JsonValue

from agents.reviewer import Checked
from domain import gate_texts, ladder_texts, texts
from domain.errors import HALTED, CommitGone, Forbidden, ForgeError, NotFound, Superseded, Unauthorized, Unprocessable
from domain.findings import Finding
from domain.gates import Gate
from domain.review import Conclusion, Review
from domain.runs import ReasonCode, Run, RunState, Trigger
from memory import checkpoints, findings, gates, ladder, runs, spend
from pipeline import acting, configuration, threads
from pipeline.automation import held
from pipeline.beginning import Settings, begun
from pipeline.drawing import Drawing
from pipeline.gates import AtGate, show_all, show_void
from pipeline.journal import WorkflowJournal
from pipeline.last_word import hand_over
from pipeline.model_layer import ModelLayer
from pipeline.publish import choose_inline
from pipeline.purging import purge_copies
from pipeline.review_gates import Asked, GatesOutcome
from pipeline.services import Services
from safety.acts import Act, ActFacts, allows
from safety.eligibility import nothing_left
from safety.gates import protected

log = structlog.get_logger(__name__)

_WATCH = 1.0  # seconds between two looks whether a run that works still owns its pull request


class ReviewRun:
    """One run of the review pipeline: begin, look, check, publish, conclude.

    Every step may be repeated after a crash: what it did before is found in the journal, the checkpoint or
    the outbox, so that nothing is done, paid or posted twice.
    """

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        self._services = services
        self._publisher = services.publisher
        self._run = run
        self._journal = WorkflowJournal(services, workflow_id or run.id, self._waiting)
        self._drawing = Drawing(services, run)
        self._is_over = False  # in the ledger; what may still wait is the last word on GitHub

    async def execute(self) -> str:
        """Bring the run to its end, or to a question only a person can answer; how it ended, in one word.

        An answer begins this anew: what was done before is found again, and the run goes on behind the gate.
        """
        try:
            return await self._review_or_fail()
        except Superseded:
            return await self._step_aside()

    async def _review_or_fail(self) -> str:
        try:
            return await self._review()
        except AtGate as stopped:
            gate = stopped.gate
            await self._journal.step("say what it waits for", lambda: self._say_what_it_waits_for(gate))
            return await self._wait_for_a_person()
        except Superseded:
            raise
        except ForgeError as error:
            return await self._fail(error)
        except Exception:
            log.exception("review.unexpected", run=self._run.id)
            return await self._fail(ForgeError("Forge made a mistake of its own; its log has the details."))

    async def _review(self) -> str:
        await self._journal.step("begin", self._begin)
        settings = Settings.model_validate(await self._journal.step("read the configuration", self._configure))
        gone: tuple[str, ...] = ()
        if not await self._journal.step("is it drawn", self._is_drawn):
            ended = await self._not_looked_at(settings)
            if ended is not None:
                return ended
            answer = await self._journal.step(
                "run the checks", lambda: self._while_current(self._drawing.check(settings))
            )
            checked = Checked.model_validate(answer)
            if configuration.PATH in checked.paths:
                await self._journal.step("check the configuration file", self._drawing.check_configuration)
            if await self._is_filtered_out(checked, settings):
                return ReasonCode.excluded.value
            model = await self._layer(settings).read(checked)
            gone = model.gone
            await self._journal.step("draw the review", lambda: self._drawing.draw(checked, model))
        unposted = cast(str | None, await self._journal.step("post the review", lambda: self._post(settings)))
        outcome = GatesOutcome(await self._journal.step("ask people", lambda: self._ask(settings)))
        await self._journal.step("conclude the check", lambda: self._conclude(settings, unposted))
        ended = await self._end(outcome)
        await self._settle_threads(gone)
        return ended

    async def _not_looked_at(self, settings: Settings) -> str | None:
        """End the run where nothing is to be looked at; how it ended."""
        if settings.paused_by is not None:
            await self._journal.step("say that it is paused", lambda: self._put_off(settings.paused_by or ""))
            return ReasonCode.paused.value
        if settings.over_quota is not None:
            await self._journal.step("say that it is too much", lambda: self._refuse(settings.over_quota or ""))
            return ReasonCode.guard.value
        if settings.excluded is not None:
            await self._journal.step(
                "say that it is excluded", lambda: self._exclude(settings, settings.excluded or "")
            )
            return ReasonCode.excluded.value
        return None

    async def _is_filtered_out(self, checked: Checked, settings: Settings) -> bool:
        nothing = nothing_left(checked.paths, settings.configuration.review)
        if nothing is None or protected(checked.paths, settings.configuration):
            return False  # a filter of paths does not cover what decides who may do what
        if await self._journal.step("look into the history", self._drawing.leaked):
            return False
        await self._journal.step("say that it is excluded", lambda: self._exclude(settings, nothing.text))
        return True

    async def _end(self, outcome: GatesOutcome) -> str:
        """Let the run end, or wait for a person, as its gates say."""
        if outcome is GatesOutcome.waiting:
            return await self._wait_for_a_person()
        state, reason = _ENDS[outcome]
        await self._journal.step("finish", lambda: self._finish(state, reason))
        self._is_over = True  # at once: a merge that follows the verdict must not cancel it
        if state is RunState.completed:
            await acting.begin(self._run.id)
        return reason.value or state.value

    async def _finish(self, state: RunState, reason: ReasonCode) -> JsonValue:
        if state is RunState.completed:
            await acting.plan(self._services, self._run)
        return await self._move(state, reason)

    async def _wait_for_a_person(self) -> str:
        """Free this run's place until somebody answers; the answer queues the run again."""
        await self._journal.step("wait for a person", lambda: self._move(RunState.waiting, ReasonCode.gate))
        self._is_over = True
        return RunState.waiting.value

    async def _say_what_it_waits_for(self, gate: Gate) -> JsonValue:
        """The check of a run that stopped in the middle: what was found so far is kept, nothing is approved."""
        text = gate_texts.stopped_at(gate)
        cause = self._journal.workflow_id
        await self._publisher.conclude_again(self._run, cause, Conclusion.action_required, text)
        return None

    async def _settle_threads(self, gone: Collection[str]) -> None:
        try:
            await self._journal.step("settle the threads", lambda: self._settle(gone))
        except ForgeError as error:  # the next push finds them again
            log.warning("threads.not_settled", run=self._run.id, error=str(error))

    async def _begin(self) -> JsonValue:
        await self._move(RunState.running)
        await show_all(self._services, self._run)  # what was answered, if this goes on behind a gate
        if not await self._publisher.is_concluded(self._run):
            await self._publisher.show_progress(self._run, f"started {self._journal.workflow_id}", "Reading the change")
        return None

    async def _is_drawn(self) -> JsonValue:
        return await checkpoints.load_review(self._services.database, self._run) is not None

    async def _configure(self) -> JsonValue:
        return (await begun(self._services, self._run)).model_dump(mode="json")

    async def _refuse(self, why: str) -> JsonValue:
        await self._publisher.conclude(self._run, Conclusion.action_required, texts.over_quota(why))
        return await self._move(RunState.failed, ReasonCode.guard, why)

    async def _put_off(self, by: str) -> JsonValue:
        await self._publisher.conclude(self._run, Conclusion.action_required, texts.paused(by))
        return await self._move(RunState.cancelled, ReasonCode.paused)

    async def _exclude(self, settings: Settings, why: str) -> JsonValue:
        text = texts.excluded(why, settings.problem)
        await self._publisher.conclude(self._run, Conclusion.success, text)
        return await self._move(RunState.completed, ReasonCode.excluded)

    async def _check(self, settings: Settings) -> JsonValue:
        return await self._while_current(self._drawing.check(settings))

    async def _ask(self, settings: Settings) -> JsonValue:
        """Ask people what the review has to ask, and draw the verdict with what they answered."""
        asked = Asked(self._services, self._run, settings.configuration, settings.pull_request)
        return await asked.outcome()

    async def _post(self, settings: Settings) -> JsonValue:
        """Post the comments; why GitHub does not take them, if it does not: the check has the verdict all the same."""
        review, inline, before = await self._said(settings)
        if inline and not await self._may_comment(settings):
            return ladder_texts.not_commented()
        try:
            if inline and not settings.configuration.review.dry_run:
                await self._publisher.post_review(self._run, review, inline, before)
        except Forbidden as error:
            log.warning("review.unposted", run=self._run.id, error=str(error))
            return texts.unposted(error)
        return None

    async def _may_comment(self, settings: Settings) -> bool:
        """At the lowest level of automation Forge comments only where somebody asked for the review."""
        reached = await ladder.level(self._services.database, self._run.repository.id)
        facts = ActFacts(asked=self._run.trigger is not Trigger.pull_request)
        return allows(held(reached, settings.configuration.ladder), Act.comment, facts).allowed

    def _layer(self, settings: Settings) -> ModelLayer:
        mirror = self._drawing.mirror
        return ModelLayer(
            self._services, self._journal, self._run, mirror, settings.configuration, settings.pull_request
        )

    async def _settle(self, gone: Collection[str]) -> JsonValue:
        """Resolve the threads of what is gone. That it does not work out is no reason to withhold the verdict."""
        review = await checkpoints.load_review(self._services.database, self._run)
        if review is None or not await runs.is_current(self._services.database, self._run):
            return []
        try:
            return [*await threads.settle(self._services, self._run, review, gone)]
        except (Forbidden, NotFound, Unprocessable) as error:
            log.warning("threads.not_settled", run=self._run.id, error=str(error))
            return []

    async def _conclude(self, settings: Settings, unposted: str | None) -> JsonValue:
        review, inline, before = await self._said(settings)
        problem = " ".join(why for why in (unposted, settings.problem) if why) or None
        asked = gate_texts.standing(await gates.of_run(self._services.database, self._run.id))
        text = texts.outcome(review, [] if unposted else inline, before, problem, asked)
        if await self._publisher.is_concluded(self._run):
            cause = self._journal.workflow_id
            await self._publisher.conclude_again(self._run, cause, review.conclusion, text)
        else:
            await self._publisher.conclude(self._run, review.conclusion, text, review.findings)
        return review.conclusion

    async def _said(self, settings: Settings) -> tuple[Review, list[Finding], int]:
        """The review, the findings its comments carry, and how many an earlier review carries already."""
        review = await checkpoints.load_review(self._services.database, self._run)
        if review is None:
            raise ForgeError("The checkpoint of the review phase is gone.", "Press Review again.")
        posted = await findings.posted_before(self._services.database, self._run)
        inline = choose_inline(review, posted, settings.configuration.review.max_comments)
        return review, inline, sum(finding.fingerprint in posted for finding in review.findings)

    async def _fail(self, error: ForgeError) -> str:
        """End the run with its reason, and say on the check what happened. Never an approval."""
        log.warning("review.failed", run=self._run.id, error=str(error))

        async def say() -> JsonValue:
            await self._publisher.conclude(self._run, Conclusion.action_required, texts.failed(error, self._run.id))
            return None

        reason, is_said = _reason(error), await self._try("say what went wrong", say)
        await self._journal.step("end", lambda: self._move(RunState.failed, reason, error.message))
        if not is_said:
            await hand_over(self._run)
        return reason.value

    async def _step_aside(self) -> str:
        """The run lost its pull request and was ended by who took it: close its check after its own last write."""

        async def close() -> JsonValue:
            await self._close_books()
            await self._leave_nothing()
            await self._publisher.close(self._run)
            await show_void(self._services, self._run)
            return None

        self._is_over = True
        if not await self._try("close the check", close):
            await hand_over(self._run)
        return RunState.cancelled.value

    async def _leave_nothing(self) -> None:
        """Where access was lost, what this run read and kept after the purge goes, too."""
        run = self._run
        ended = await runs.get(self._services.database, run.id)
        if ended is not None and ended.reason is ReasonCode.access_lost:
            await checkpoints.purge(self._services.database, (run.repository.id,), run)
            await purge_copies(self._services, run.repository.installation_id, (run.repository.id,))

    async def _try(self, key: str, call: Callable[[], Awaitable[JsonValue]]) -> bool:
        """A last word on GitHub; whether it was said. The run ends all the same, so that it is in nobody's way."""
        try:
            await self._journal.once(key, call)
        except Superseded:
            raise
        except ForgeError as error:
            log.warning("review.unsaid", run=self._run.id, step=key, error=str(error))
            return False
        except Exception:
            log.exception("review.unsaid", run=self._run.id, step=key)
            return False
        return True

    async def _while_current(self, work: Awaitable[JsonValue]) -> JsonValue:
        """The answer of ``work``, which is stopped soon after the run lost its pull request.

        :raises Superseded: if it was.
        """
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=_WATCH))[0]:
                if not await runs.is_current(self._services.database, self._run):
                    raise self._superseded()
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _move(self, target: RunState, reason: ReasonCode = ReasonCode.none, detail: str = "") -> JsonValue:
        """:raises Superseded: the run was put an end to."""
        now = self._services.clock.now()
        if not await runs.move(self._services.database, self._run.id, target, now, reason, detail):
            raise self._superseded()
        if target.is_final:
            await self._close_books()
        return None

    async def _close_books(self) -> None:
        """What is still reserved when a run ends was lost: nobody knows what the provider did (invariant 3)."""
        await spend.close(self._services.database, self._run.id, self._services.clock.now())

    def _superseded(self) -> Superseded:
        return Superseded(f"Run {self._run.id} was put an end to.")

    async def _waiting(self, why: str | None) -> None:
        if self._is_over:
            return
        if why is None:
            await self._move(RunState.running)
        else:
            reason = ReasonCode.halted if why == HALTED else ReasonCode.rate_limited
            await self._move(RunState.waiting, reason, why)


_ENDS = {
    GatesOutcome.passed: (RunState.completed, ReasonCode.none),
    GatesOutcome.rejected: (RunState.failed, ReasonCode.gate_rejected),
    GatesOutcome.expired: (RunState.failed, ReasonCode.gate_timeout),
}


def _reason(error: ForgeError) -> ReasonCode:
    if isinstance(error, CommitGone):
        return ReasonCode.commit_gone
    if isinstance(error, Forbidden | NotFound | Unauthorized):
        return ReasonCode.access_lost
    return ReasonCode.error
