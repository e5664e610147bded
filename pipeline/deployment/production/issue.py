"""Opens the issue about a problem in production, once, and keeps one comment below it up to date."""

from collections.abc import Sequence

from domain.deployments.problems import ProductionProblem
from domain.runs.run import RepositoryRef
from messages import production as texts
from messages.production import ProblemOrigin
from pipeline.context import Services
from pipeline.publishing import issues
from pipeline.publishing.comments import keep_comment

_MARK = "production"


async def open_issue(
    services: Services,
    repository: RepositoryRef,
    problem: ProductionProblem,
    origin: ProblemOrigin,
    labels: Sequence[str],
) -> int:
    """Open an issue about a problem, unless an earlier attempt did; its number."""
    named = f"{problem.id}/{problem.opened}"
    marker = services.markers.make(_MARK, named)
    body = texts.render_issue(problem, origin, marker)
    return await issues.open_issue(
        services, repository, f"{_MARK} {named}", marker, texts.title_problem(problem), body, labels
    )


async def update_issue(
    services: Services, repository: RepositoryRef, problem: ProductionProblem, number: int, resolved_label: str | None
) -> None:
    """Say below an issue how often its problem was seen by now, or that it is over: in one comment, which is edited.

    The body stays as it is: a run reads it as its order, and people may have changed it.

    :param resolved_label: for as long as it is over.
    """
    named = f"{problem.id}/{problem.opened}/seen"
    marker = services.markers.make(_MARK, named)
    text = texts.render_counters(problem, marker)
    await keep_comment(services, repository, number, f"{_MARK} {named}", marker, text)
    if resolved_label is None:
        return
    await issues.set_label(services, repository, number, resolved_label, is_on=problem.resolved_at is not None)
