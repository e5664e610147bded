"""Learns from a merged pull request that closes the issue about a problem in production."""

import re
from collections.abc import Sequence

import structlog

from domain.deployments.problems import ProductionProblem
from domain.errors import CodeAccessError, HostFailure
from domain.github.pull_requests import PullRequest
from domain.memories import MemoryKind, Origin, create_memory
from domain.runs.run import RepositoryRef
from domain.text.description import list_closed_issues
from memory.deployments import problems
from memory.learned import catalogue
from memory.runs import outbox
from messages import production as texts
from pipeline.checkout import compare_with_base
from pipeline.config import loading
from pipeline.context import Services
from safety.learning_screening import screen_lesson

log = structlog.get_logger(__name__)

_PLAIN_PATH = re.compile(r"[\w./+-]{1,150}")
_MOST_PATHS = 3


async def learn_from_merge(services: Services, repository: RepositoryRef, live: PullRequest) -> int:
    """Keep what a merge solved, and a memory of each such problem; how many. May be repeated.

    :raises RateLimited: GitHub may be asked later.
    """
    known = await problems.list_with_issues(services.database, repository.id)
    if not known or not live.is_merged or live.base_ref != live.default_branch:
        return 0
    closed = await _list_closed(services, repository, live)
    solved = [problem for problem in known if problem.issue in closed]
    if not solved:
        return 0
    fixed = await _list_fixed(services, repository, live)
    for problem in solved:
        await _learn(services, repository, problem, live.number, fixed)
    return len(solved)


async def _list_closed(services: Services, repository: RepositoryRef, live: PullRequest) -> set[int]:
    """The issues that a merge closes: the one whose run proposed it, and those that its description names."""
    found: set[int] = set()
    run = await outbox.find_proposing_run(services.database, repository.id, live.number)
    if run is not None:
        found.add(run.number)
    try:
        shown = await services.host.issue(repository, live.number)
    except HostFailure as error:
        log.warning("production.description_not_read", number=live.number, error=str(error))
        return found
    return found | {*list_closed_issues(f"{shown.title}\n{shown.body}")}


async def _list_fixed(services: Services, repository: RepositoryRef, live: PullRequest) -> Sequence[str]:
    """Paths that the pull request changed, as far as their names are plain."""
    try:
        mirror, merge_base = await compare_with_base(services, repository, live)
        change = await mirror.change(merge_base, live.head_sha)
    except (CodeAccessError, HostFailure) as error:
        log.warning("production.fix_not_read", number=live.number, error=str(error))
        return ()
    by_size = sorted(change.files, key=lambda each: -(each.additions + each.deletions))
    return [each.path for each in by_size if _PLAIN_PATH.fullmatch(each.path)][:_MOST_PATHS]


async def _learn(
    services: Services, repository: RepositoryRef, problem: ProductionProblem, pull_number: int, fixed: Sequence[str]
) -> None:
    now, trace = services.clock.now(), problem.deployment_id or f"{repository.id}"
    configuration = await loading.load_stored(services.database, repository, services.ceilings.of_configuration)
    if fixed and configuration.memory.enabled and configuration.memory.max > 0:
        content, context = texts.describe_lesson(problem, fixed)
        refused = screen_lesson(content, context, fixed)
        if refused is None:
            source = f"production, issue #{problem.issue}, solved by #{pull_number}"
            kind, tags = MemoryKind.semantic, (*fixed, problem.report.environment[:60])
            memory = create_memory(
                repository, Origin.production, kind, content, source, now, context=context, tags=tags
            )
            await catalogue.learn_from_production(services.database, memory, trace, configuration.memory.max)
        else:
            log.info("production.lesson_refused", problem=problem.id, why=refused.code)
    await problems.note_solved(services.database, problem, pull_number, trace, now)
