"""The review of one head, as a durable workflow that reads from top to bottom."""

import contextlib
from collections.abc import Collection, Sequence
from functools import partial

import structlog
from dbos import DBOS
from pydantic import JsonValue

from agents.review.reviewer import CheckedChange
from domain.errors import Forbidden, ForgeError, LeftOut, NotFound, Unprocessable
from domain.gates import Gate
from domain.importance import Importance, use_importance
from domain.review.findings import Finding
from domain.review.inline_comments import Remark
from domain.review.review import Conclusion, Decision, Review
from domain.runs.run import Phase, ReasonCode, Run, RunState, Trigger
from memory.findings import dismissals, findings
from memory.gates import gates
from memory.repositories import automation_level
from memory.runs import checkpoints, runs
from messages import automation as automation_texts
from messages import gates as gate_texts
from messages import review as review_texts
from messages.review import CheckText
from pipeline.automation import workflow
from pipeline.automation.level import cap_level
from pipeline.checkout import fetch_mirror
from pipeline.consistent_reads import read_when_visible
from pipeline.context import Services
from pipeline.durable.steps import call_dbos
from pipeline.feedback import reactions
from pipeline.gates.ask import show_gates
from pipeline.publishing import reviews, run_check
from pipeline.publishing.reviews import PostedReview, choose_inline
from pipeline.review.analysis import EXAMINED, ReviewAnalysis
from pipeline.review.model_layer import ModelLayer
from pipeline.runs.lifecycle import RunWorkflow, run_while_current
from pipeline.runs.owner import wake_owner
from pipeline.runs.status import open_status
from pipeline.verdicts import threads, update
from pipeline.verdicts.approval import withdraw_approvals
from pipeline.verdicts.gates import GatesOutcome, ReviewGates
from pipeline.verdicts.settings import RunSettings, load_settings
from safety.automatic_actions import Action, ActionFacts, allows
from safety.eligibility import nothing_left
from safety.gates import list_protected

log = structlog.get_logger(__name__)

_COMMENTS_LAST = "comments are waited for last"  # the name of a patch: in the journals of runs


class ReviewRun(RunWorkflow):
    """One run of the review pipeline: begin, look, check, publish, conclude."""

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        super().__init__(services, run, workflow_id)
        self._drawing = ReviewAnalysis(services, run)

    async def execute(self) -> str:
        """See :meth:`RunWorkflow.execute`; the run of an issue learns what became of the pull request it proposed."""
        ended = await super().execute()
        await wake_owner(
            self._services, self._journal, self._run.repository, self._run.number, self._journal.workflow_id
        )
        return ended

    async def _work(self) -> str:
        await self._journal.step("begin", self._begin)
        settings = RunSettings.model_validate(await self._journal.step("read the configuration", self._load_settings))
        gone: tuple[str, ...] = ()
        if not await self._journal.step("is it drawn", self._is_reviewed):
            ended = await self._end_unreviewed(settings)
            if ended is not None:
                return ended
            await self._enter_phase(Phase.review)
            answer = await self._journal.step("run the checks", lambda: self._run_checks(settings))
            checked = CheckedChange.model_validate(answer)
            if EXAMINED.intersection(checked.paths):
                touched = EXAMINED.intersection(checked.paths)
                await self._journal.step("check the configuration file", lambda: self._drawing.check_files(touched))
            if await self._is_filtered_out(checked, settings):
                return ReasonCode.excluded.value
            model = await self._build_model_layer(settings).read(checked)
            gone = model.gone
            await self._journal.step("draw the review", lambda: self._drawing.build_review(checked, model))
        posted = PostedReview.model_validate(
            await self._journal.step("post the review", lambda: self._post_review(settings))
        )
        outcome = GatesOutcome(await self._journal.step("ask people", lambda: self._ask_people(settings)))
        await self._journal.step("conclude the check", lambda: self._conclude(settings, posted.unposted))
        # Under a version before, the comments were waited for first: such a run goes on as it began.
        is_last = posted.review_id and await call_dbos(partial(DBOS.patch_async, _COMMENTS_LAST))
        if not is_last:
            await self._record_comments(settings, posted)
        ended = await self._end(outcome)
        if await self._journal.has_patch("what was judged as a review ended is heeded"):
            await self._journal.step("was it judged meanwhile", self._apply_late_dismissals)
        if is_last:
            await self._record_comments(settings, posted)
        await self._settle_threads(settings, gone)
        return ended

    async def _end_unreviewed(self, settings: RunSettings) -> str | None:
        """End the run where nothing is to be looked at; how it ended."""
        if settings.paused_by is not None:
            await self._journal.step("say that it is paused", lambda: self._end_paused(settings.paused_by or ""))
            return ReasonCode.paused.value
        if settings.over_quota is not None:
            await self._journal.step("say that it is too much", lambda: self._end_over_quota(settings.over_quota or ""))
            return ReasonCode.guard.value
        if settings.excluded is not None:
            await self._journal.step(
                "say that it is excluded", lambda: self._end_excluded(settings, settings.excluded or "")
            )
            return ReasonCode.excluded.value
        return None

    async def _is_filtered_out(self, checked: CheckedChange, settings: RunSettings) -> bool:
        nothing = nothing_left(checked.paths, settings.configuration.review)
        if nothing is None or list_protected(checked.paths, settings.configuration):
            return False  # a filter of paths does not cover what decides who may do what
        if await self._journal.step("look into the history", self._drawing.has_leaked):
            return False
        await self._leave_phase(Phase.review)
        await self._journal.step("say that it is excluded", lambda: self._end_excluded(settings, nothing.text))
        return True

    async def _end(self, outcome: GatesOutcome) -> str:
        """Let the run end, or wait for a person, as its gates say."""
        if outcome is GatesOutcome.waiting:
            return await self._wait(ReasonCode.gate)
        state, reason = _ENDS[outcome]
        if outcome is GatesOutcome.passed:
            await self._leave_phase(Phase.review)
        await self._journal.step("finish", lambda: self._finish(state, reason))
        self._is_over = True  # at once: a merge that follows the verdict must not cancel it
        if state is RunState.completed:
            await workflow.enqueue_check(self._run.id)
        return reason.value or state.value

    async def _apply_late_dismissals(self) -> JsonValue:
        """Say what people judged while the verdict was on its way; until a run is over, its check is left to it."""
        if await dismissals.has_changed_during(self._services.database, self._run):
            where, cause = (self._run.repository, self._run.number), self._journal.workflow_id
            await update.update_verdict(self._services, *where, cause, anew=False)
        return None

    async def _finish(self, state: RunState, reason: ReasonCode) -> JsonValue:
        if state is RunState.completed:
            await workflow.schedule_first_check(self._services, self._run)
        return await self._move(state, reason)

    async def _show_waiting(self, gate: Gate) -> None:
        """In its check: what was found so far is kept, nothing is approved."""
        text = gate_texts.render_stopped_phase(gate)
        cause = self._journal.workflow_id
        await self._telling.quiet()
        await run_check.conclude_again(self._services, self._run, cause, Conclusion.action_required, text)

    async def _show_failure(self, error: ForgeError) -> None:
        await self._show_verdict(Conclusion.action_required, review_texts.render_failure(error, self._run.id))

    async def _close(self) -> None:
        await run_check.close(self._services, self._run)

    async def _settle_threads(self, settings: RunSettings, gone: Collection[str]) -> None:
        try:
            await self._journal.step("settle the threads", lambda: self._settle(settings, gone))
        except ForgeError as error:  # the next push finds them again
            log.warning("threads.not_settled", run=self._run.id, error=str(error))

    async def _begin(self) -> JsonValue:
        await self._move(RunState.running)
        await show_gates(self._services, self._run)  # what was answered, if this goes on behind a gate
        await self._retire_others()
        await withdraw_approvals(self._services, self._run)
        if not await run_check.is_concluded(self._services, self._run):
            with contextlib.suppress(LeftOut), use_importance(Importance.informing):
                await open_status(self._services, self._run)  # if it could not be before
            step = f"started {self._journal.workflow_id}"
            await run_check.show_progress(
                self._services, self._run, step, "Reading the change", self._telling.post_later
            )
        return None

    async def _retire_others(self) -> None:
        """Close the checks of this head's verdicts that were about another base: they have another name."""
        past = await runs.list_for_pull_request(self._services.database, self._run.repository.id, self._run.number)
        names = {self._run.check_name}
        for other in (each.run for each in past if each.run.head_sha == self._run.head_sha):
            if other.check_name not in names and other.id < self._run.id:
                names.add(other.check_name)  # what came before under the same name is hidden behind it
                await run_check.retire(self._services, other, self._run.base_ref)

    async def _show_verdict(self, conclusion: Conclusion, text: CheckText, shown: Sequence[Finding] = ()) -> None:
        await self._telling.quiet()
        await run_check.conclude(self._services, self._run, conclusion, text, shown)

    async def _is_reviewed(self) -> JsonValue:
        return await checkpoints.load_review(self._services.database, self._run) is not None

    async def _load_settings(self) -> JsonValue:
        return (await load_settings(self._services, self._run)).model_dump(mode="json")

    async def _end_over_quota(self, why: str) -> JsonValue:
        await self._show_verdict(Conclusion.action_required, review_texts.render_over_quota(why))
        return await self._move(RunState.failed, ReasonCode.guard, why)

    async def _end_paused(self, by: str) -> JsonValue:
        await self._show_verdict(Conclusion.action_required, review_texts.render_paused(by))
        return await self._move(RunState.cancelled, ReasonCode.paused)

    async def _end_excluded(self, settings: RunSettings, why: str) -> JsonValue:
        """Nothing was read, so nothing is approved. A draft that may be merged as soon as it is ready has to wait."""
        text = review_texts.render_excluded(why, settings.problem)
        await self._show_verdict(Conclusion.action_required if settings.is_unready else Conclusion.neutral, text)
        return await self._move(RunState.completed, ReasonCode.excluded)

    async def _run_checks(self, settings: RunSettings) -> JsonValue:
        return await run_while_current(self._services, self._run, self._drawing.run_checks(settings))

    async def _ask_people(self, settings: RunSettings) -> JsonValue:
        """Ask people what the review has to ask, and draw the verdict with what they answered."""
        asked = ReviewGates(self._services, self._run, settings.configuration, settings.pull_request)
        return await asked.ask_people()

    async def _post_review(self, settings: RunSettings) -> JsonValue:
        """Post the comments; why GitHub does not take them, if it does not: the check has the verdict all the same."""
        review, said, before = await self._load_review(settings)
        posted = PostedReview()
        if said and not await self._may_comment(settings):
            posted = PostedReview(unposted=automation_texts.explain_no_comments())
        elif said and not settings.configuration.review.dry_run:
            try:
                posted = await reviews.post_review(self._services, self._run, review, said, before)
            except Forbidden as error:
                log.warning("review.unposted", run=self._run.id, error=str(error))
                posted = PostedReview(unposted=review_texts.explain_unposted(error))
        return posted.model_dump(mode="json")

    async def _record_comments(self, settings: RunSettings, posted: PostedReview) -> None:
        """Look again for comments that GitHub did not show right after they were posted.

        Only what settles threads needs them, so no verdict and no end of a run waits for that.
        """

        async def look(wanted: int | None) -> JsonValue:
            _, said, _ = await self._load_review(settings)
            await reviews.record_comments(self._services, self._run, said, posted.review_id, wanted or 0)
            return None

        if not posted.review_id:
            return
        try:
            await read_when_visible(self._services, self._journal.step, "know the comments", look, posted.comments)
        except ForgeError as error:  # the run has ended, or is about to, whatever becomes of that
            log.warning("comments.unknown", run=self._run.id, error=str(error))

    async def _may_comment(self, settings: RunSettings) -> bool:
        """At the lowest level of automation Forge comments only where somebody asked for the review."""
        reached = await automation_level.get_level(self._services.database, self._run.repository.id)
        facts = ActionFacts(asked=self._run.trigger is not Trigger.pull_request)
        return allows(cap_level(reached, settings.configuration.ladder), Action.comment, facts).allowed

    def _build_model_layer(self, settings: RunSettings) -> ModelLayer:
        mirror = partial(fetch_mirror, self._services, self._run)
        return ModelLayer(
            self._services, self._journal, self._run, mirror, settings.configuration, settings.pull_request
        )

    async def _settle(self, settings: RunSettings, gone: Collection[str]) -> JsonValue:
        """Resolve the threads of what is gone. That it does not work out is no reason to withhold the verdict."""
        review = await checkpoints.load_review(self._services.database, self._run)
        if review is None or not await runs.is_current(self._services.database, self._run):
            return []
        try:
            with use_importance(Importance.tidying):
                settled = await threads.settle(self._services, self._run, review, gone)
            is_fork = settings.pull_request.is_from_fork(self._run.repository.id)
            mirror = partial(fetch_mirror, self._services, self._run)
            await reactions.record_uptake(self._services, self._run, review, mirror, settled=settled, is_fork=is_fork)
            return [*settled]
        except (Forbidden, NotFound, Unprocessable) as error:
            log.warning("threads.not_settled", run=self._run.id, error=str(error))
            return []

    async def _conclude(self, settings: RunSettings, unposted: str | None) -> JsonValue:
        review, said, before = await self._load_review(settings)
        inline = [finding for remark in said for finding in remark]
        problem = " ".join(why for why in (unposted, settings.problem) if why) or None
        asked = gate_texts.render_gates_section(await gates.list_for_run(self._services.database, self._run.id))
        text = review_texts.render_outcome(review, [] if unposted else inline, before, problem, asked)
        if await run_check.is_concluded(self._services, self._run):
            cause = self._journal.workflow_id
            await self._telling.quiet()
            await run_check.conclude_again(self._services, self._run, cause, review.conclusion, text)
        else:
            await self._show_verdict(review.conclusion, text, review.findings)
        if review.decision is not Decision.approve:
            await withdraw_approvals(self._services, self._run, all_of_them=True)
        return review.conclusion

    async def _load_review(self, settings: RunSettings) -> tuple[Review, list[Remark], int]:
        """The review, what its comments say, and how many findings an earlier review carries already."""
        review = await checkpoints.load_review(self._services.database, self._run)
        if review is None:
            raise ForgeError("The checkpoint of the review phase is gone.", "Press Review again.")
        posted = await findings.load_posted_before(self._services.database, self._run)
        said = choose_inline(review, posted, settings.configuration.review.max_comments)
        return review, said, sum(finding.fingerprint in posted for finding in review.findings)


_ENDS = {
    GatesOutcome.passed: (RunState.completed, ReasonCode.none),
    GatesOutcome.rejected: (RunState.failed, ReasonCode.gate_rejected),
    GatesOutcome.expired: (RunState.failed, ReasonCode.gate_timeout),
}
