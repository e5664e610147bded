"""Loads what speaks for or against automatic actions on a reviewed head."""

from dataclasses import dataclass, replace

from domain.config.configuration import Configuration
from domain.github.pull_requests import PullRequest
from domain.review.review import Decision, Review
from domain.runs.run import ReasonCode, Run, RunState
from domain.text.escaping import inline_code
from memory.repositories import automation_level, permits
from memory.runs import checkpoints, runs
from messages import automation as automation_texts
from pipeline.checkout import find_base, has_same_merge_base
from pipeline.config.loading import load_configuration
from pipeline.context import Services
from safety.allowed_actions import ActionFacts, ChecksState, RequiredChecks, evaluate_checks
from safety.gates import list_protected

TAKEN_OVER = "another review or a person's command took over."


@dataclass(frozen=True)
class Preconditions:
    """A reviewed head, and its pull request as GitHub shows it now."""

    run: Run
    review: Review
    live: PullRequest
    configuration: Configuration

    @property
    def facts(self) -> ActionFacts:
        """The facts for the rules of the ladder, without required checks."""
        touches = bool(list_protected(self.review.changed, self.configuration))
        return ActionFacts(
            risk=self.review.risk.level_unasked,
            touches_protected=touches,
            from_fork=self.live.is_from_fork(self.run.repository.id),
            is_all_read=self.review.is_all_read,
            is_read_by_model=self.review.is_read_by_model,
        )

    def with_checks(self, checks: RequiredChecks) -> ActionFacts:
        """The facts with the required checks."""
        return replace(self.facts, checks_green=checks.light is ChecksState.green)


async def load_preconditions(services: Services, run: Run) -> Preconditions | str:
    """The preconditions, or why nothing may be done, as a sentence.

    :raises CodeHostError: GitHub does not answer; then nothing is done.
    """
    database = services.database
    ended = await runs.get(database, run.id)
    if ended is None or ended.state is not RunState.completed or ended.reason is not ReasonCode.none:
        return "its review did not end with a verdict."
    review = await checkpoints.load_review(database, run)
    if review is None:
        return "the review is gone."
    live = await services.host.pull_request(run.repository, run.number)
    obstacle = await _find_obstacle(services, run, live)
    if obstacle is not None:
        return obstacle
    configuration = await load_configuration(services, run.repository)
    if configuration.review.dry_run:
        return "`review.dry_run` is set."
    return Preconditions(run, review, live, configuration)


async def find_merge_obstacle(services: Services, run: Run) -> str | None:
    """Why a reviewed head may not be merged now; None if it may. To be asked right before the merge.

    :raises CodeHostError: GitHub does not answer.
    """
    return await _find_obstacle(services, run, await services.host.pull_request(run.repository, run.number))


async def _find_obstacle(services: Services, run: Run, live: PullRequest) -> str | None:
    """What happened since the review that forbids actions on its head, as a sentence."""
    database = services.database
    paused_by = await permits.find_pauser(database, run.repository)
    if paused_by is not None:
        return f"{paused_by} paused Forge here."
    left_by = await permits.find_left_alone_by(database, run.repository, run.number)
    if left_by is not None:
        return f"{left_by} told Forge to leave this alone."
    stopped = await automation_level.find_stop_reason(database, run.id)
    if stopped is not None:
        return f"{stopped}."
    if not live.is_open:
        return automation_texts.ALREADY_MERGED if live.is_merged else automation_texts.CLOSED
    if live.head_sha != run.head_sha:
        return f"the head is {live.head_sha[:7]} now."
    if live.base_ref != run.base_ref:
        return f"it goes into {inline_code(live.base_ref)} now, and the review was not about that."
    if not await runs.is_current(database, run):
        return TAKEN_OVER
    if live.is_draft:
        return "the pull request is a draft."
    base = await find_base(services.host, run.repository, live)
    if not await has_same_merge_base(services, run, base):
        return f"{inline_code(live.base_ref)} was rewritten or took in a part of it since the review."
    return None


async def find_blocking_reason(services: Services, known: Preconditions) -> str | None:
    """Why the change may not be approved or merged at any level; None if it may.

    :raises CodeHostError: GitHub does not answer.
    """
    if known.review.decision is not Decision.approve:
        return "the verdict is not to approve."
    if known.review.only_for:
        return f"{inline_code(known.review.only_for)} has changes of its own that were not reviewed for other branches."
    obstacle = await services.host.objections(known.run.repository, known.run.number)
    return f"{', '.join(sorted(obstacle))} requested changes." if obstacle else None


async def load_required_checks(services: Services, known: Preconditions) -> RequiredChecks:
    """The state of the checks that the base branch requires.

    :raises CodeHostError: GitHub does not answer.
    """
    required = await services.host.required_checks(known.run.repository, known.live.base_ref)
    return evaluate_checks(required, await services.host.check_results(known.run.repository, known.run.head_sha))
