"""Opens the issue about a problem in production, once, and keeps one comment below it up to date."""

from collections.abc import Sequence
from datetime import timedelta

from domain.deployments.problems import ProductionProblem
from domain.runs.run import RepositoryRef
from domain.text.redaction import redact_outgoing
from memory.runs import outbox
from messages import production as texts
from messages.production import ProblemOrigin
from pipeline.context import Services
from pipeline.publishing.comments import keep_comment
from pipeline.publishing.publisher import answer_once

_MARK = "production"
_LOOKED_BACK = timedelta(days=7)
"""How long ago an attempt may lie after which nobody knows whether it opened the issue."""
_STEP, _KIND = "answer", "comment"  # under which the outbox keeps the answers of nobody's run


async def open_issue(
    services: Services,
    repository: RepositoryRef,
    problem: ProductionProblem,
    origin: ProblemOrigin,
    labels: Sequence[str],
) -> int:
    """Open an issue about a problem, unless an earlier attempt did; its number."""
    key = f"{_MARK} {problem.id}/{problem.opened}"
    marker = services.markers.make(_MARK, f"{problem.id}/{problem.opened}")
    title = redact_outgoing(texts.title_problem(problem))
    body = redact_outgoing(texts.render_issue(problem, origin, marker))

    async def find() -> int | None:
        since = services.clock.now() - _LOOKED_BACK
        return await services.host.find_own_issue(repository, marker, since)

    async def create() -> int:
        return await services.host.create_issue(repository, title, body, labels)

    await answer_once(services, key, create, find=find)
    number = await outbox.find_remote_id(services.database, key, _STEP, _KIND)
    assert number is not None  # it was recorded a moment ago
    return number


async def update_issue(services: Services, repository: RepositoryRef, problem: ProductionProblem, number: int) -> None:
    """Say below an issue how often its problem was seen by now: in one comment, which is edited.

    The body stays as it is: a run reads it as its order, and people may have changed it.
    """
    named = f"{problem.id}/{problem.opened}/seen"
    marker = services.markers.make(_MARK, named)
    text = texts.render_counters(problem, marker)
    await keep_comment(services, repository, number, f"{_MARK} {named}", marker, text)
