"""Finds what goes live with a deployment: the merges since what its environment runs, with their reviews."""

from collections.abc import Mapping, Sequence

import structlog

from domain.config.configuration import Configuration
from domain.deployments.contents import MOST, LiveContents, LiveMerge, limit
from domain.deployments.deployment import Deployment, DeploymentState
from domain.errors import CodeAccessError, NotFound
from domain.gates import GateState
from domain.runs.run import Run
from memory.deployments import deployments
from memory.gates import gates
from pipeline.checkout import fetch_commits
from pipeline.context import Services
from pipeline.deployment.facts import load_review_of
from safety.gates import list_protected

_PAST = 100  # earlier deployments to an environment that are looked at
log = structlog.get_logger(__name__)


async def load_contents(
    services: Services, run: Run, deployment: Deployment, configuration: Configuration
) -> LiveContents | None:
    """What goes live; None where Forge does not know what the environment runs."""
    if not deployment.previous_sha:
        return None
    before, after = deployment.previous_sha, deployment.sha
    try:
        mirror = await fetch_commits(services, run.repository, run.number, after, before)
        commits = await mirror.list_first_parents(before, after, MOST + 1)
    except (CodeAccessError, NotFound) as error:
        log.warning("deployment.not_compared", repository=run.repository.id, error=str(error))
        return LiveContents(is_whole=False)
    refused, went_back = await _load_past(services, deployment, [sha for sha, _ in commits])
    described = [await _describe(services, run, configuration, sha, title) for sha, title in commits]
    return limit(
        [
            each.model_copy(update={"refused_by": refused.get(each.sha, ""), "went_back": each.sha in went_back})
            for each in described
        ]
    )


async def _describe(services: Services, run: Run, configuration: Configuration, sha: str, title: str) -> LiveMerge:
    pull = await services.host.find_merged_pull(run.repository, sha)
    if pull is None:
        return LiveMerge(sha=sha, title=title)
    known = LiveMerge(sha=sha, title=pull.title or title, number=pull.number)
    review = await load_review_of(services, run.repository.id, pull.number)
    if review is None or review.head_sha != pull.head_sha:
        return known
    return known.model_copy(
        update={
            "risk": review.risk.level_unasked,
            "verdict": review.decision.value.replace("_", " "),
            "findings": len(review.findings),
            "is_protected": bool(list_protected(review.changed, configuration)),
        }
    )


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
