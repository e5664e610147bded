"""Shows in its check how a review is: that it began, waits, failed, or ended, and its verdict."""

import contextlib
from collections.abc import Sequence
from functools import partial

from domain.errors import ForgeError, LeftOut
from domain.gates import Gate
from domain.review.findings import Finding
from domain.review.review import Conclusion
from domain.runs.run import Run
from memory.runs import outbox, runs
from messages import gates as gate_texts
from messages import review as review_texts
from messages import updates as update_texts
from messages.review import CheckText
from pipeline.context import Services
from pipeline.gates.ask import show_gates
from pipeline.publishing import run_check
from pipeline.publishing.checks import requires_check
from pipeline.publishing.progress import ProgressUpdates
from pipeline.runs.status import is_unasked, open_status
from pipeline.verdicts.approval import withdraw_approvals
from pipeline.verdicts.settings import NotReviewed, NotReviewedKind
from safety.github_limits import Importance, use_importance


class ReviewStatus:
    """The check of one review. Every method may be repeated after a crash.

    :param cause: the id of this execution's workflow: each changes a verdict once.
    """

    def __init__(self, services: Services, run: Run, cause: str, progress: ProgressUpdates) -> None:
        self._services = services
        self._run = run
        self._cause = cause
        self._progress = progress

    async def begin(self) -> None:
        """Show that the run began, and withdraw from GitHub what is about another head or base."""
        await show_gates(self._services, self._run)  # their answers, if this execution goes on behind a gate
        await self._retire_others()
        await withdraw_approvals(self._services, self._run)
        if await is_unasked(self._services, self._run):
            return
        if not await run_check.is_concluded(self._services, self._run):
            with contextlib.suppress(LeftOut), use_importance(Importance.informing):
                await open_status(self._services, self._run)  # if that failed before
            step, post_later = f"started {self._cause}", self._progress.post_later
            await run_check.show_progress(self._services, self._run, step, "Reading the change", post_later)

    def show_so_far(self, text: CheckText) -> None:
        """Show what is known while the run goes on, in a moment."""
        self._progress.post_later(partial(run_check.show_so_far, self._services, self._run, text))

    async def is_tested(self) -> bool:
        """Whether another check of this head shows what came of its tests."""
        return await outbox.has_tested(self._services.database, self._run.repository.id, self._run.head_sha)

    async def offer_update(self) -> str:
        """The line that offers to take the base in, where GitHub says that the branch conflicts; else empty."""
        live = await self._services.host.pull_request(self._run.repository, self._run.number)
        return update_texts.offer(live.base_ref) if live.is_open and live.has_conflicts else ""

    async def conclude(self, conclusion: Conclusion, text: CheckText, annotated: Sequence[Finding] = ()) -> None:
        """Show the run's verdict.

        :param annotated: findings that become annotations: those without a comment, as GitHub lets nobody take an
            annotation back.
        """
        await self._progress.quiet()
        await run_check.conclude(self._services, self._run, conclusion, text, annotated)

    async def conclude_or_change(self, conclusion: Conclusion, text: CheckText, annotated: Sequence[Finding]) -> None:
        """Show the run's verdict, also where an earlier execution of the run showed one."""
        if await run_check.is_concluded(self._services, self._run):
            await self._change(conclusion, text)
        else:
            await self.conclude(conclusion, text, annotated)

    async def show_not_reviewed(self, end: NotReviewed, problem: str | None) -> None:
        """Show why there is no review. Nothing was read, so nothing is approved.

        :param problem: what is wrong with a configuration file.
        """
        match end.kind:
            case NotReviewedKind.paused:
                await self.conclude(Conclusion.action_required, review_texts.render_paused(end.why))
            case NotReviewedKind.over_quota:
                await self.conclude(Conclusion.action_required, review_texts.render_over_quota(end.why))
            case NotReviewedKind.filtered:  # the configuration says that nobody needs to read these files
                await self.conclude(Conclusion.neutral, review_texts.render_excluded(end.why, problem))
            case NotReviewedKind.off | NotReviewedKind.excluded:
                is_required = await requires_check(self._services, self._run)
                is_off = end.kind is NotReviewedKind.off and not problem
                if is_off and not is_required and not await run_check.is_open(self._services, self._run):
                    return  # nobody waits for a check here
                conclusion = Conclusion.action_required if is_required else Conclusion.neutral
                text = review_texts.render_excluded(end.why, problem, is_required=is_required)
                await self.conclude(conclusion, text)

    async def show_waiting(self, gate: Gate) -> None:
        """Show that the run waits at a gate. The findings so far are kept, and nothing is approved."""
        await self._change(Conclusion.action_required, gate_texts.render_stopped_phase(gate))

    async def show_failure(self, error: ForgeError) -> None:
        """Show that the run failed."""
        await self.conclude(Conclusion.action_required, review_texts.render_failure(error, self._run.id))

    async def close(self) -> None:
        """Show that the run was stopped."""
        await run_check.close(self._services, self._run)

    async def _change(self, conclusion: Conclusion, text: CheckText) -> None:
        await self._progress.quiet()
        await run_check.conclude_again(self._services, self._run, self._cause, conclusion, text)

    async def _retire_others(self) -> None:
        """Close the checks of this head's verdicts on another base: they have another name."""
        past = await runs.list_for_pull_request(self._services.database, self._run.repository.id, self._run.number)
        names = {self._run.check_name}
        for other in (each.run for each in past if each.run.head_sha == self._run.head_sha):
            if other.check_name not in names and other.id < self._run.id:
                names.add(other.check_name)  # it hides older checks of the same name
                await run_check.retire(self._services, other, self._run.base_ref)
