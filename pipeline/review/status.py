"""Shows in its check how a review is: that it began, waits, failed, or ended, and its verdict.

Every function may be repeated after a crash. Each execution of a run, which has the id of its workflow, changes a
verdict once.
"""

import contextlib
from collections.abc import Sequence
from functools import partial

from domain.config.configuration import Configuration
from domain.errors import ForgeError, LeftOut
from domain.gates import Gate
from domain.review.findings import Finding
from domain.review.review import Conclusion
from domain.runs.run import Trigger
from memory.runs import runs
from messages import gates as gate_texts
from messages import review as review_texts
from messages.review import CheckText
from pipeline.automation.level import load_level
from pipeline.publishing import checks
from pipeline.publishing.checks import requires_check
from pipeline.publishing.gate_checks import show_gates
from pipeline.run_context import RunContext
from pipeline.runs.status import is_unasked, open_status
from pipeline.verdicts.approval import withdraw_approvals
from pipeline.verdicts.settings import NotReviewed, NotReviewedKind
from safety.allowed_actions import Action, ActionFacts, allows
from safety.github_limits import Importance, use_importance


async def begin(context: RunContext) -> None:
    """Show that the run began, and withdraw from GitHub what is about another head or base."""
    await show_gates(context.services, context.run)  # their answers, if this execution goes on behind a gate
    await _retire_others(context)
    await withdraw_approvals(context.services, context.run)
    if await is_unasked(context.services, context.run):
        return
    if not await checks.is_concluded(context.services, context.run):
        with contextlib.suppress(LeftOut), use_importance(Importance.informing):
            await open_status(context.services, context.run)  # if that failed before
        step, post_later = f"started {context.journal.workflow_id}", context.progress.post_later
        await checks.show_progress(context.services, context.run, step, "Reading the change", post_later)


async def _retire_others(context: RunContext) -> None:
    """Close the checks of this head's verdicts on another base: they have another name."""
    past = await runs.list_for_pull_request(context.services.database, context.run.repository.id, context.run.number)
    names = {context.run.check_name}
    for other in (each.run for each in past if each.run.head_sha == context.run.head_sha):
        if other.check_name not in names and other.id < context.run.id:
            names.add(other.check_name)  # it hides older checks of the same name
            await checks.retire(context.services, other, context.run.base_ref)


def show_so_far(context: RunContext, text: CheckText) -> None:
    """Show what is known while the run goes on, in a moment."""
    context.progress.post_later(partial(checks.show_so_far, context.services, context.run, text))


async def may_comment(context: RunContext, configuration: Configuration) -> bool:
    """At the lowest level of automation Forge comments only where somebody asked for the review."""
    level = await load_level(context.services, context.run.repository.id, configuration.ladder)
    facts = ActionFacts(asked=context.run.trigger is not Trigger.pull_request)
    return allows(level, Action.comment, facts).allowed


async def conclude(
    context: RunContext, conclusion: Conclusion, text: CheckText, annotated: Sequence[Finding] = ()
) -> None:
    """Show the run's verdict.

    :param annotated: findings that become annotations: those without a comment, as GitHub lets nobody take an
        annotation back.
    """
    await context.progress.quiet()
    await checks.conclude(context.services, context.run, conclusion, text, annotated)


async def conclude_or_change(
    context: RunContext, conclusion: Conclusion, text: CheckText, annotated: Sequence[Finding]
) -> None:
    """Show the run's verdict, also where an earlier execution of the run showed one."""
    if await checks.is_concluded(context.services, context.run):
        await _change(context, conclusion, text)
    else:
        await conclude(context, conclusion, text, annotated)


async def _change(context: RunContext, conclusion: Conclusion, text: CheckText) -> None:
    await context.progress.quiet()
    await checks.conclude_again(context.services, context.run, context.journal.workflow_id, conclusion, text)


async def show_not_reviewed(context: RunContext, end: NotReviewed, problem: str | None) -> None:
    """Show why there is no review. Nothing was read, so nothing is approved.

    :param problem: what is wrong with a configuration file.
    """
    match end.kind:
        case NotReviewedKind.paused:
            await conclude(context, Conclusion.action_required, review_texts.render_paused(end.why))
        case NotReviewedKind.over_quota:
            await conclude(context, Conclusion.action_required, review_texts.render_over_quota(end.why))
        case NotReviewedKind.filtered:  # the configuration says that nobody needs to read these files
            await conclude(context, Conclusion.neutral, review_texts.render_excluded(end.why, problem))
        case NotReviewedKind.off | NotReviewedKind.excluded:
            is_required = await requires_check(context.services, context.run)
            is_off = end.kind is NotReviewedKind.off and not problem
            if is_off and not is_required and not await checks.is_open(context.services, context.run):
                return  # nobody waits for a check here
            conclusion = Conclusion.action_required if is_required else Conclusion.neutral
            text = review_texts.render_excluded(end.why, problem, is_required=is_required)
            await conclude(context, conclusion, text)


async def show_waiting(context: RunContext, gate: Gate) -> None:
    """Show that the run waits at a gate. The findings so far are kept, and nothing is approved."""
    await _change(context, Conclusion.action_required, gate_texts.render_stopped_phase(gate))


async def show_failure(context: RunContext, error: ForgeError) -> None:
    """Show that the run failed."""
    await conclude(context, Conclusion.action_required, review_texts.render_failure(error, context.run.id))
