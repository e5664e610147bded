"""Finds with which deployment a problem in production came, and what of its stack that deployment changed."""

from collections.abc import Sequence

import structlog

from domain.deployments.deployment import Deployment
from domain.deployments.problems import ProductionProblem, Suspect, find_suspects
from domain.deployments.stack import parse_stack
from domain.errors import CodeAccessError, CodeHostError, RateLimited
from domain.runs.run import RepositoryRef
from memory.deployments import deployments, problems
from messages.production import ProblemOrigin
from pipeline.checkout import fetch_commits
from pipeline.context import Services

log = structlog.get_logger(__name__)


async def find_origin(services: Services, problem: ProductionProblem) -> ProblemOrigin:
    """The deployment that the sender names, or the newest of the commit it names, or what the environment runs.

    A deployment that is under way has reached a part of the people already, so it goes before what was there.
    """
    database, report = services.database, problem.report
    named = await _find_named(services, problem)
    if named is not None:
        return ProblemOrigin(named, is_named=True)
    for each in await deployments.list_open(database, problem.repository_id, report.environment):
        if not each.is_untouched:
            return ProblemOrigin(each, is_under_way=True)
    return ProblemOrigin(await deployments.find_there(database, problem.repository_id, report.environment))


async def _find_named(services: Services, problem: ProductionProblem) -> Deployment | None:
    database, repository_id = services.database, problem.repository_id
    anomaly, commit = problem.anomaly, problem.report.commit
    run_id = None
    if anomaly is not None and anomaly.deployment is not None:
        run_id = await problems.find_deployment(database, repository_id, anomaly.deployment)
    if run_id is None and commit is not None:
        run_id = await problems.find_deployment_of_commit(database, repository_id, problem.report.environment, commit)
    return None if run_id is None else await deployments.get(database, run_id)


async def list_suspects(
    services: Services, repository: RepositoryRef, problem: ProductionProblem, deployment: Deployment
) -> Sequence[Suspect] | None:
    """The places of a stack that are in files which a deployment changed; None if they cannot be compared.

    :raises RateLimited: GitHub may be asked later.
    """
    if problem.error is None or not deployment.previous_sha:
        return None
    stack = parse_stack(problem.error.stack)
    try:
        sha, before = deployment.sha, deployment.previous_sha
        mirror = await fetch_commits(services, repository, deployment.number, sha, before)
        return find_suspects(stack.frames, await mirror.change(before, sha))
    except RateLimited:
        raise
    except (CodeAccessError, CodeHostError) as error:
        log.warning("production.not_compared", problem=problem.id, deployment=deployment.run_id, error=str(error))
        return None
