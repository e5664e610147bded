"""Orders deployments: of what was merged, on command, and back to what was there before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from domain.commands import Sender
from domain.config.deploy import DeploySettings, Environment
from domain.deployments.deployment import Cause, Deployment, Wish
from domain.errors import CodeAccessError, NotFound
from domain.github.commits import find_head_at
from domain.github.pull_requests import PullRequest
from domain.review.review import RiskLevel
from domain.runs.run import RepositoryRef, Run
from domain.value import Value
from memory.deliveries import pushes
from memory.deployments import deployments
from memory.repositories import permits
from memory.runs import runs, waits
from messages import commands as command_texts
from messages import deployments as texts
from pipeline.checkout import fetch_commits
from pipeline.config import loading
from pipeline.context import Services

log = structlog.get_logger(__name__)
_SKEW = timedelta(minutes=1)  # between GitHub's clock and ours


class Ordered(Value):
    """A deployment that was admitted, and those that it replaces; or why nothing was, for people."""

    run: Run | None = None
    replaced: tuple[Deployment, ...] = ()
    answer: str = ""


async def order_merged(
    services: Services, guid: str, repository: RepositoryRef, live: PullRequest, sender: Sender
) -> list[Ordered]:
    """Order what was merged into the default branch for every environment that each merge reaches."""
    if not live.is_merged or not live.merge_sha or live.base_ref != live.default_branch:
        return []
    deploy = (await loading.load_configuration(services, repository)).deploy
    if await permits.find_pauser(services.database, repository) is not None:
        return []
    ordered: list[Ordered] = []
    for environment in deploy.merge_environments:
        if await _is_included(services, repository, live, environment):
            continue
        order = _build_order(guid, repository, live.number, environment, deploy, live.merge_sha, Cause.merge, sender)
        ordered.append(await _admit(services, order, ""))
    return ordered


async def order_deployment(
    services: Services,
    guid: str,
    repository: RepositoryRef,
    number: int,
    live: PullRequest | None,
    environment: str,
    sender: Sender,
    written_at: datetime,
) -> Ordered:
    """Order what ``/forge deploy ENV`` asks for: the merge of a pull request; on an issue, the default branch.

    :param live: None on an issue.
    :param written_at: when it was asked, which may be long ago: what came later was not meant.
    """
    deploy = (await loading.load_configuration(services, repository)).deploy
    refused = _refuse(deploy.environments, environment)
    if refused is not None:
        return Ordered(answer=refused)
    paused_by = await permits.find_pauser(services.database, repository)
    if paused_by is not None:
        return Ordered(answer=command_texts.already_paused(paused_by))
    if live is not None and not (live.is_merged and live.merge_sha):
        return Ordered(answer=texts.refuse_unmerged(environment))
    if live is not None and live.base_ref != live.default_branch:  # whoever may write may merge into a branch of theirs
        return Ordered(answer=texts.refuse_other_branch(environment, live.default_branch))
    if live is not None and live.merged_at is not None and live.merged_at > written_at:
        return Ordered(answer=texts.refuse_merged_later(environment))
    meant = await _find_meant(services, repository, environment, written_at) if live is None else _Meant(live.merge_sha)
    if meant.sha is None:
        return Ordered(answer=texts.refuse_moved(environment, meant.branch, meant.head_sha))
    order = _build_order(guid, repository, number, environment, deploy, meant.sha, Cause.command, sender)
    answer = texts.confirm_order(environment, meant.sha, is_production=order.is_production)
    if meant.head_sha not in {"", meant.sha}:
        answer = f"{answer} {texts.tell_moved(meant.branch, meant.head_sha)}"
    return await _admit(services, order, answer)


@dataclass(frozen=True)
class _Meant:
    """The commit that somebody meant, None if that is not clear; and the branch it was on, with its head now."""

    sha: str | None
    branch: str = ""
    head_sha: str = ""


async def _find_meant(services: Services, repository: RepositoryRef, environment: str, written_at: datetime) -> _Meant:
    """What the default branch had when somebody wrote, unless something else was ordered since."""
    now = await services.host.default_branch(repository)
    age = services.clock.now() - written_at
    moves = await services.host.pushes_to(repository, now.name, age)
    if not moves:  # there is no such list, or it did not move: then what Forge heard of its head counts
        moves = await pushes.load(services.database, [repository.id], [now.head_sha])
        is_clear = not moves or min(push.at for push in moves) <= written_at
        return _Meant(now.head_sha if is_clear else None, now.name, now.head_sha)
    sha = find_head_at(moves, now.head_sha, written_at)
    if sha != now.head_sha:
        latest = await deployments.list_latest(services.database, repository.id, environment, 1)
        sha = None if any(each.created_at > written_at for each in latest) else sha
    return _Meant(sha, now.name, now.head_sha)


async def order_rollback(
    services: Services,
    guid: str,
    repository: RepositoryRef,
    number: int,
    environment: str,
    sender: Sender,
    written_at: datetime | None = None,
) -> Ordered:
    """Order what ``/forge rollback ENV`` asks for: what was there before.

    What a person took back from there goes forward again, as if it were deployed for the first time.

    :param written_at: when it was asked; None: just now.
    """
    deploy = (await loading.load_configuration(services, repository)).deploy
    refused = _refuse(deploy.environments, environment)
    if refused is not None:
        return Ordered(answer=refused)
    [newest] = await deployments.list_latest(services.database, repository.id, environment, 1) or [None]
    if newest is not None and was_ordered_later(newest, written_at):
        return Ordered(answer=texts.refuse_late(newest))
    before = await deployments.find_way_back(services.database, repository.id, environment)
    if before is None:
        return Ordered(answer=texts.refuse_unknown_way_back(environment))
    is_forward = await deployments.was_taken_back(services.database, before)
    cause = Cause.command if is_forward else Cause.rollback
    order = _build_order(guid, repository, number, environment, deploy, before.sha, cause, sender)
    if is_forward:
        answer = texts.confirm_order(environment, before.sha, is_production=order.is_production)
    else:
        answer = texts.confirm_rollback(environment, before.sha, under_way=False)
    return await _admit(services, order, answer)


def was_ordered_later(deployment: Deployment, written_at: datetime | None) -> bool:
    """Whether a command cannot have meant a deployment, because it was ordered after that was written."""
    return written_at is not None and deployment.created_at - written_at > _SKEW


async def counts_as_production(services: Services, repository: RepositoryRef, deployment: Deployment) -> bool:
    """Whether a deployment went to production when it was ordered, or would by the configuration of now."""
    deploy = (await loading.load_configuration(services, repository)).deploy
    return deployment.is_production or deploy.is_production(deployment.environment)


async def find_under_way(services: Services, repository: RepositoryRef, environment: str) -> Deployment | None:
    """The deployment that is under way in an environment; None if there is none."""
    return next(iter(await deployments.list_open(services.database, repository.id, environment)), None)


async def ask_of_deployment(services: Services, deployment: Deployment, wanted: Wish, by: str) -> bool:
    """Ask something of a deployment under way, and wake it; whether it is still under way."""
    known = await deployments.wish(services.database, deployment.run_id, wanted, by)
    await waits.end(services.database, deployment.run_id, services.clock.now())
    return known is not None


def _build_order(
    guid: str,
    repository: RepositoryRef,
    number: int,
    environment: str,
    deploy: DeploySettings,
    sha: str,
    cause: Cause,
    sender: Sender,
) -> deployments.DeploymentOrder:
    return deployments.DeploymentOrder(
        admitted_by=f"{guid}#{number}#{environment}",
        repository=repository,
        number=number,
        environment=environment,
        is_production=deploy.is_production(environment),
        sha=sha,
        cause=cause,
        risk=RiskLevel.low if cause is Cause.rollback else None,
        sender=sender,
    )


async def _admit(services: Services, order: deployments.DeploymentOrder, answer: str) -> Ordered:
    run, replaced = await deployments.admit(services.database, order, services.clock.now())
    return Ordered(run=run, replaced=tuple(replaced), answer=answer)


def _refuse(known: dict[str, Environment], environment: str) -> str | None:
    if environment not in known:
        return texts.refuse_environment(environment, [*known])
    return texts.refuse_never(environment) if known[environment].trigger == "never" else None


async def _is_included(services: Services, repository: RepositoryRef, live: PullRequest, environment: str) -> bool:
    """Whether a newer commit that holds this one is in the environment, or on its way: events may come late."""
    there = await deployments.find_there(services.database, repository.id, environment)
    on_its_way = await deployments.list_open(services.database, repository.id, environment)
    known = [each for each in (there, *on_its_way) if each is not None and each.sha != live.merge_sha]
    return any([await _follows(services, repository, live, each.sha) for each in known])


async def _follows(services: Services, repository: RepositoryRef, live: PullRequest, sha: str) -> bool:
    try:
        mirror = await fetch_commits(services, repository, live.number, sha, live.merge_sha)
        return await mirror.follows(sha, live.merge_sha)
    except (CodeAccessError, NotFound) as error:
        log.warning("deployment.not_compared", repository=repository.id, error=str(error))
        return False


async def list_ended(services: Services, replaced: Sequence[Deployment]) -> Sequence[Run]:
    """The runs of deployments that were replaced and are not over."""
    found = [await runs.get(services.database, each.run_id) for each in replaced]
    return [run for run in found if run is not None and not run.state.is_final]
