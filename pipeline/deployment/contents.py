"""Finds what goes live with a deployment: the merges since what its environment runs, with their reviews."""

import structlog

from domain.config.configuration import Configuration
from domain.deployments.contents import MOST, LiveContents, LiveMerge, limit
from domain.deployments.deployment import Deployment
from domain.errors import CodeAccessError, NotFound
from domain.gates import GateState
from domain.github.pull_requests import MergedPull
from domain.runs.run import Run
from memory.deployments import deployments
from memory.gates import gates
from pipeline.checkout import fetch_commits
from pipeline.context import Services
from pipeline.deployment.facts import load_review_of
from safety.gates import list_protected

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
    described = [await _describe(services, run, deployment, configuration, sha, title) for sha, title in commits]
    return limit(described)


async def _describe(
    services: Services, run: Run, deployment: Deployment, configuration: Configuration, sha: str, title: str
) -> LiveMerge:
    pull = await services.host.find_merged_pull(run.repository, sha)
    if pull is None:
        return LiveMerge(sha=sha, title=title)
    known = LiveMerge(sha=sha, title=pull.title or title, number=pull.number)
    refused_by = await _find_refusal(services, run, deployment, pull)
    review = await load_review_of(services, run.repository.id, pull.number)
    if review is None or review.head_sha != pull.head_sha:
        return known.model_copy(update={"refused_by": refused_by})
    return known.model_copy(
        update={
            "risk": review.risk.level,
            "verdict": review.decision.value.replace("_", " "),
            "findings": len(review.findings),
            "is_protected": bool(list_protected(review.changed, configuration)),
            "refused_by": refused_by,
        }
    )


async def _find_refusal(services: Services, run: Run, deployment: Deployment, pull: MergedPull) -> str:
    """Who rejected a deployment of this pull request to the same environment."""
    for past in await deployments.list_for_number(services.database, run.repository.id, pull.number):
        if past.environment != deployment.environment or past.run_id == deployment.run_id:
            continue
        for gate in await gates.list_for_run(services.database, past.run_id):
            if gate.state is GateState.rejected and gate.decision is not None:
                return gate.decision.by_login
    return ""
