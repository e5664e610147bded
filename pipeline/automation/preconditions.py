"""Finds out, at one moment, all that speaks for or against acting unasked on a head that was reviewed."""

from dataclasses import dataclass, replace

from domain.config.configuration import Configuration
from domain.github.pull_requests import PullRequest
from domain.globs import matches
from domain.review.review import Decision, Review
from domain.runs.run import ReasonCode, Run, RunState
from domain.text.escaping import inline_code
from memory.repositories import automation_level, permits
from memory.runs import checkpoints, runs
from pipeline.context import Services
from pipeline.verdicts.settings import load_configuration
from safety.automatic_actions import ActionFacts
from safety.gates import ALWAYS_PROTECTED
from safety.required_checks import ChecksState, RequiredChecks, evaluate_checks

TAKEN_OVER = "another review or a person's command took over."


@dataclass(frozen=True)
class Preconditions:
    """A reviewed head as it is now.

    :param live: the pull request a moment ago.
    """

    run: Run
    review: Review
    live: PullRequest
    configuration: Configuration

    @property
    def facts(self) -> ActionFacts:
        """What the rules of the ladder ask for; the checks were not asked yet."""
        protected = (*ALWAYS_PROTECTED, *self.configuration.paths.protected)
        # A review of another version did not keep which paths were changed.
        touches = not self.review.changed or any(matches(path, protected) for path in self.review.changed)
        return ActionFacts(
            risk=self.review.risk.level,
            touches_protected=touches,
            from_fork=self.live.is_from_fork(self.run.repository.id),
            is_all_read=self.review.is_all_read,
        )

    def with_checks(self, checks: RequiredChecks) -> ActionFacts:
        """The facts where the required checks were asked."""
        return replace(self.facts, checks_green=checks.light is ChecksState.green)


async def load_preconditions(services: Services, run: Run) -> Preconditions | str:
    """The scene, or why nothing may be done here, as a sentence.

    :raises CodeHostError: if GitHub does not say; then nothing is done.
    """
    database = services.database
    ended = await runs.get(database, run.id)
    if ended is None or ended.state is not RunState.completed or ended.reason is not ReasonCode.none:
        return "its review did not end with a verdict."
    review = await checkpoints.load_review(database, run)
    if review is None:
        return "the review is gone."
    live = await services.host.pull_request(run.repository, run.number)
    against = await _find_obstacle(services, run, live)
    if against is not None:
        return against
    configuration = (await load_configuration(services, run)).configuration
    if configuration.review.dry_run:
        return "`review.dry_run` is set."
    return Preconditions(run, review, live, configuration)


async def find_merge_obstacle(services: Services, run: Run) -> str | None:
    """Why a reviewed head may not be merged (any more), asked right before it would be; None if nothing does.

    :raises CodeHostError: if GitHub does not say.
    """
    return await _find_obstacle(services, run, await services.host.pull_request(run.repository, run.number))


async def _find_obstacle(services: Services, run: Run, live: PullRequest) -> str | None:
    """What people and pushes did since the review that speaks against acting on its head, as a sentence."""
    database = services.database
    paused_by = await permits.find_pauser(database, run.repository)
    if paused_by is not None:
        return f"{paused_by} paused Forge here."
    stopped = await automation_level.find_stop_reason(database, run.id)
    if stopped is not None:
        return f"{stopped}."
    if not live.is_open:
        return "it is merged already." if live.is_merged else "the pull request is closed."
    if live.head_sha != run.head_sha:
        return f"the head is {live.head_sha[:7]} now."
    if not run.base_ref:  # of a version before
        return "its review does not say which branch it was about."
    if live.base_ref != run.base_ref:
        return f"it goes into {inline_code(live.base_ref)} now, and the review was not about that."
    if not await runs.is_current(database, run):
        return TAKEN_OVER
    return "the pull request is a draft." if live.is_draft else None


async def find_blocking_reason(services: Services, scene: Preconditions) -> str | None:
    """Why the change may not be approved or merged unasked, whatever the level; None if nothing speaks against it.

    :raises CodeHostError: if GitHub does not say.
    """
    if scene.review.decision is not Decision.approve:
        return "the verdict is not to approve."
    against = await services.host.objections(scene.run.repository, scene.run.number)
    return f"{', '.join(sorted(against))} requested changes." if against else None


async def load_required_checks(services: Services, scene: Preconditions) -> RequiredChecks:
    """How the checks stand that the base branch requires.

    :raises CodeHostError: if GitHub does not say.
    """
    required = await services.host.required_checks(scene.run.repository, scene.live.base_ref)
    return evaluate_checks(required, await services.host.check_results(scene.run.repository, scene.run.head_sha))
