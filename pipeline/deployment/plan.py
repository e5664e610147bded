"""What a deployment needs to know: what goes live and how that was reviewed, for its plan and those who approve it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import TypeVar

import structlog

from domain.config.configuration import Configuration
from domain.config.deploy import Environment
from domain.deployments.deployment import MOST, Cause, Deployment, DeploymentState, LiveContents, LiveMerge, limit
from domain.errors import CodeAccessError, NotFound
from domain.gates import GateState
from domain.github.pull_requests import MergedPull, ReportedCheck
from domain.review.review import Review, RiskLevel
from domain.runs.run import Run
from domain.text.escaping import escape, inline_code
from domain.value import Value
from memory import gates
from memory.deployments import deployments
from memory.repositories import permits
from memory.runs import checkpoints, outbox, runs
from pipeline.checkout import fetch_commits
from pipeline.config import loading
from pipeline.context import Services
from safety.gates import list_protected
from workspace.conflicts import is_merge_of
from workspace.git import Unrelated
from workspace.mirror import Mirror

Kept = TypeVar("Kept", bound=Value)

_MOST_COMMITS = 10
_MOST_CHECKS = 10
_MOST_MERGES = 15
_MOST_FINDINGS = 5
_MOST_UNDONE = 5
_TRAILER = "Forge-Run"
_PAST = 100  # earlier deployments to an environment that are looked at
log = structlog.get_logger(__name__)


class DeploymentPlan(Value):
    """How a commit gets to its environment.

    :param obstacle: why it cannot be deployed, for people; empty if it can.
    :param facts: what is known of the change, in Markdown.
    :param requester: login of who merged or asked.
    :param risk: of all that goes live; None: it is not known.
    :param refused: what of it somebody refused there before, in words.
    :param numbers: where its end is told: its pull request, and the issue that led to it.
    """

    configuration: Configuration
    environment: Environment
    stages: tuple[int, ...]
    obstacle: str = ""
    facts: tuple[str, ...] = ()
    requester: str = ""
    touches_protected: bool = True
    risk: RiskLevel | None = None
    refused: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    default_branch: str = ""

    @property
    def step_time(self) -> timedelta:
        """How long one step may take."""
        minutes = self.environment.minutes or self.configuration.breakers.time.deployment
        return timedelta(minutes=minutes)

    def reaches_production(self, deployment: Deployment) -> bool:
        """Whether a deployment did when it was ordered, or the configuration says so since."""
        return deployment.is_production or self.configuration.deploy.is_production(deployment.environment)

    @property
    def build_command(self) -> str | None:
        return self.configuration.deploy.build.command or self.configuration.commands.build


async def load_or_keep(
    services: Services, run: Run, name: str, kind: type[Kept], make: Callable[[], Awaitable[Kept]]
) -> Kept:
    """What an earlier execution of a deployment's run kept under a name; else what is made now, and kept."""
    kept = await deployments.load_kept(services.database, run.id, name)
    if kept is None:
        kept = await deployments.keep(services.database, run.id, name, (await make()).model_dump(mode="json"))
    return kind.model_validate(kept)


async def load_plan(services: Services, run: Run, deployment: Deployment) -> DeploymentPlan:
    """Read the configuration as it is now, and what the review found."""
    configuration = await loading.load_configuration(services, run.repository)
    environment = configuration.deploy.environments.get(deployment.environment)
    branch = await services.host.default_branch(run.repository)
    obstacle = await _find_obstacle(services, run, deployment, environment)
    review = await _load_review_of(services, run.repository.id, run.number)
    contents = (
        None if deployment.cause is Cause.rollback else await _load_contents(services, run, deployment, configuration)
    )
    failed = await deployments.find_failure(services.database, run.repository.id, deployment.environment)
    if deployment.cause is Cause.rollback:
        risk = deployment.risk
    else:  # the first deployment brings everything, and nobody knows what a failed one left
        risk = None if contents is None or failed is not None else contents.risk
    await deployments.keep_risk(services.database, run.id, risk)
    facts = (
        *describe_failure(failed),
        *await _describe_change(services, run, deployment),
        *describe_contents(contents),
        *_describe_review(review if contents is not None and contents.is_as_reviewed(run.number) else None),
        *await _describe_checks(services, run, review),
    )
    issue = await outbox.find_proposing_run(services.database, run.repository.id, run.number)
    return DeploymentPlan(
        configuration=configuration,
        environment=environment or Environment(),
        stages=() if environment is None else environment.strategy.choose(risk),
        obstacle=obstacle,
        facts=facts,
        requester=deployment.ordered_by,
        touches_protected=contents is None or contents.touches_protected,
        risk=risk,
        refused=() if contents is None else tuple(contents.refusals),
        numbers=(run.number,) if issue is None else (run.number, issue.number),
        default_branch=branch.name,
    )


async def _find_obstacle(services: Services, run: Run, deployment: Deployment, environment: Environment | None) -> str:
    if environment is None:
        return f"`.github/forge.yml` has no environment {inline_code(deployment.environment)} any more."
    if environment.trigger == "never":
        return "`.github/forge.yml` says `trigger: never` for this environment now."
    paused_by = await permits.find_pauser(services.database, run.repository)
    return "" if paused_by is None else f"{paused_by} paused Forge in this repository."


async def _load_review_of(services: Services, repository_id: int, number: int) -> Review | None:
    """The newest review of a pull request; None if there is none."""
    for past in await runs.list_for_pull_request(services.database, repository_id, number):
        if not past.run.is_of_issue and (found := await checkpoints.load_review(services.database, past.run)):
            return found
    return None


async def _load_contents(
    services: Services, run: Run, deployment: Deployment, configuration: Configuration
) -> LiveContents | None:
    """What goes live; None where Forge does not know what the environment runs."""
    if not deployment.previous_sha:
        return None
    before, after = deployment.previous_sha, deployment.sha
    try:
        mirror = await fetch_commits(services, run.repository, run.number, after, before)
        commits = await mirror.list_first_parents(before, after, MOST + 1)
        undone = await _list_undone(mirror, before, after, [sha for sha, _ in commits])
    except (CodeAccessError, NotFound) as error:
        log.warning("deployment.not_compared", repository=run.repository.id, error=str(error))
        return LiveContents(is_whole=False)
    refused, went_back = await _load_past(services, deployment, [sha for sha, _ in commits])
    described = await _Reader(services, run, configuration, mirror).describe(commits)
    contents = limit(
        [
            each.model_copy(update={"refused_by": refused.get(each.sha, ""), "went_back": each.sha in went_back})
            for each in described
        ]
    )
    return contents.model_copy(update={"undone": undone})


async def _list_undone(mirror: Mirror, before: str, after: str, commits: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What the environment runs and the new commits were not made on: the branch was rewritten.

    :param commits: that go live, the newest first; none if an older state comes back.
    :returns: (sha, subject) of each, the newest first; at least the one that runs there.
    """
    if not commits or len(commits) > MOST or await mirror.first_parent(commits[-1]) == before:
        return ()
    gone = await mirror.list_first_parents(after, before, MOST)
    return tuple(gone) or ((before, "and what was made on it"),)


async def _load_past(
    services: Services, deployment: Deployment, commits: Sequence[str]
) -> tuple[Mapping[str, str], frozenset[str]]:
    """Who rejected which commit for this environment, and which ones it ran, or may have run, and does not any more.

    :param commits: that go live, the newest first: whoever deployed one, deployed what is behind it.
    """
    database, where = services.database, (deployment.repository_id, deployment.environment)
    there = await deployments.find_there(database, *where)
    refused: dict[str, str] = {}
    went_back: set[str] = set()
    for past in await deployments.list_latest(database, *where, limit=_PAST):
        if past.sha not in commits or past.run_id in {deployment.run_id, "" if there is None else there.run_id}:
            continue
        if past.state.is_over and past.state is not DeploymentState.stopped:
            went_back.update(commits[commits.index(past.sha) :])
        for gate in await gates.list_for_run(database, past.run_id):
            if gate.state is GateState.rejected and gate.decision is not None:
                refused[past.sha] = gate.decision.by_login
    return refused, frozenset(went_back)


async def _describe_change(services: Services, run: Run, deployment: Deployment) -> tuple[str, ...]:
    """What is new since what the environment runs, each fact in Markdown."""
    if not deployment.previous_sha:
        return ("Everything is new: Forge deployed nothing here before.",)
    before, after = deployment.previous_sha, deployment.sha
    try:
        mirror = await fetch_commits(services, run.repository, run.number, after, before)
        change = await mirror.change(before, after)
        listed = await mirror.list_commits(before, after, _TRAILER, _MOST_COMMITS + 1)
    except (CodeAccessError, NotFound):
        return (f"What is new since {inline_code(before[:7])} could not be read.",)
    named = [f"{inline_code(each.sha[:7])} {escape(each.subject, 100)}" for each in listed[-_MOST_COMMITS:]]
    more = " and more" if len(listed) > _MOST_COMMITS else ""
    size = f"{change.total_files:,} files, +{change.additions:,} −{change.deletions:,} lines"
    return (f"New since {inline_code(before[:7])}: {size}", f"Commits: {'; '.join(named) or 'none'}{more}")


def _describe_review(review: Review | None) -> tuple[str, ...]:
    """What the review found, each fact in Markdown."""
    if review is None:
        return ("Forge did not review exactly what is deployed.",)
    risk = f"Risk: {review.risk.level.value}, {review.risk.score} of 100"
    open_ = [f"{inline_code(each.rule)} {escape(each.message, 150)}" for each in review.findings[:_MOST_FINDINGS]]
    told = f"Open findings of the review: {len(review.findings)}" + (f": {'; '.join(open_)}" if open_ else "")
    return (risk, f"Verdict of the review: {review.decision.value.replace('_', ' ')}", told)


async def _describe_checks(services: Services, run: Run, review: Review | None) -> tuple[str, ...]:
    """What the checks say about the merged commit and about the reviewed head, each fact in Markdown."""
    merged = await services.host.check_results(run.repository, run.head_sha)
    told = [f"Checks of the merged commit: {_list_checks(merged, own=False)}"]
    if review is not None:
        of_head = await services.host.check_results(run.repository, review.head_sha)
        told.append(f"Tests and checks of {inline_code(review.head_sha[:7])}: {_list_checks(of_head, own=True)}")
    return tuple(told)


def _list_checks(reported: Sequence[ReportedCheck], *, own: bool) -> str:
    """:param own: whether Forge's own count."""
    shown = [each for each in reported if own or not each.name.startswith("Forge / ")]
    named = ", ".join(f"{inline_code(each.name)} {each.conclusion}" for each in shown[:_MOST_CHECKS])
    return named or "none were reported"


@dataclass(frozen=True)
class _Reader:
    """Tells what is known of the commits of the default branch that go live."""

    services: Services
    run: Run
    configuration: Configuration
    mirror: Mirror

    async def describe(self, commits: Sequence[tuple[str, str]]) -> list[LiveMerge]:
        """:param commits: SHA and subject of each, the newest first; a rebased pull request has several in a row."""
        found = [
            (sha, title, await self.services.host.find_merged_pull(self.run.repository, sha)) for sha, title in commits
        ]
        described: list[LiveMerge] = []
        for pull, group in groupby(found, key=lambda each: each[2]):
            named = [(sha, title) for sha, title, _ in group]
            review = None if pull is None else await self._find_review(pull, named[0][0], named[-1][0])
            described += [self._describe(sha, title, pull, review) for sha, title in named]
        return described

    async def _find_review(self, pull: MergedPull, newest: str, oldest: str) -> Review | None:
        """The review of exactly what commits of the default branch brought there; None if there is none."""
        review = await _load_review_of(self.services, self.run.repository.id, pull.number)
        if review is None or review.head_sha != pull.head_sha:
            return None
        try:
            await fetch_commits(self.services, self.run.repository, pull.number, review.head_sha, newest)
            onto = await self.mirror.first_parent(oldest)
            if onto is None or await self.mirror.merge_base(onto, review.head_sha) != review.merge_base:
                return None
            is_same = await is_merge_of(self.mirror, newest, onto, review.head_sha)
        except Unrelated:
            return None
        except (CodeAccessError, NotFound) as error:
            log.warning("deployment.merge_not_compared", repository=self.run.repository.id, error=str(error))
            return None
        return review if is_same else None

    def _describe(self, sha: str, title: str, pull: MergedPull | None, review: Review | None) -> LiveMerge:
        if pull is None:
            return LiveMerge(sha=sha, title=title)
        known = LiveMerge(sha=sha, title=pull.title or title, number=pull.number)
        if review is None:
            return known
        return known.model_copy(
            update={
                "risk": review.risk.level_unasked,
                "verdict": review.decision.value.replace("_", " "),
                "findings": len(review.findings),
                "is_protected": bool(list_protected(review.changed, self.configuration)),
            }
        )


def describe_failure(failed: Deployment | None) -> tuple[str, ...]:
    """That the deployment before it failed, in Markdown."""
    if failed is None:
        return ()
    return (f"The deployment before it, {inline_code(failed.short_id)}, failed: nobody knows how it is there now.",)


def describe_contents(contents: LiveContents | None) -> tuple[str, ...]:
    """Every merge that goes live, with its verdict, each fact in Markdown."""
    if contents is None or not (contents.merges or contents.undone or not contents.is_whole):
        return ()
    risk = contents.risk.value if contents.risk is not None else "not known, so it counts as high"
    told = [_describe_merge(each) for each in contents.merges[:_MOST_MERGES]]
    left = len(contents.merges) - _MOST_MERGES
    more = [f"and {left} more"] if left > 0 else []
    lacking = [] if contents.is_whole else ["and what could not be read, or is too much to look at"]
    undone = [f"Goes away: {_describe_undone(contents.undone)}"] if contents.undone else []
    return (f"Risk of all that goes live: {risk}", f"Goes live: {'; '.join([*told, *more, *lacking])}", *undone)


def _describe_merge(merge: LiveMerge) -> str:
    named = f"#{merge.number}" if merge.number is not None else inline_code(merge.sha[:7])
    title = escape(merge.title, 80)
    if merge.number is None:
        known = "pushed directly, nobody reviewed it"
    elif merge.risk is None:
        known = "not reviewed as it was merged"
    else:
        found = f", {merge.findings} open {'finding' if merge.findings == 1 else 'findings'}" if merge.findings else ""
        known = f"{merge.verdict}, risk {merge.risk.value}{found}"
    refused = f", refused here by {inline_code(merge.refused_by)}" if merge.refused_by else ""
    back = ", taken back here before" if merge.went_back else ""
    return f"{named} {title} ({known}{refused}{back})"


def _describe_undone(commits: Sequence[tuple[str, str]]) -> str:
    named = [f"{inline_code(sha[:7])} {escape(subject, 80)}" for sha, subject in commits[:_MOST_UNDONE]]
    more = f"; and {len(commits) - _MOST_UNDONE} more" if len(commits) > _MOST_UNDONE else ""
    return f"{'; '.join(named)}{more} (it runs here, and the branch was rewritten without it)"
