"""Takes Forge's own approvals back: of a head that is not the newest, of another base, of a verdict that changed."""

from collections.abc import Sequence
from urllib.parse import quote

import structlog

from domain.errors import Forbidden, Superseded, Unprocessable
from domain.github.pull_requests import Approval
from domain.runs.run import Run
from memory.process import halts
from memory.runs import outbox, runs
from messages import automation as automation_texts
from pipeline.context import Services

log = structlog.get_logger(__name__)


async def withdraw_approvals(services: Services, run: Run, *, all_of_them: bool = False) -> None:
    """Dismiss what Forge approved on a pull request but the head and base that a run is about; may be repeated.

    GitHub counts an approval for whatever is pushed after it, unless a branch is set up otherwise.

    :param all_of_them: that of this head, too: it is not approved any more.
    """
    if not await outbox.was_approved(services.database, run.repository.id, run.number):
        return
    for given in await _list_approvals(services, run):
        if not given.is_dismissed and (all_of_them or not is_approval_of(given, services, run)):
            await halts.require_none(services.database)
            await _dismiss(services, run, given)


def build_approval_marker(services: Services, run: Run) -> str:
    """The marker of an approval: one per head and base, however often that is reviewed.

    An approval of another merge says nothing about this one, whatever the name of its check.
    """
    where = f"{run.repository.id}#{run.number}@{run.head_sha}"
    if run.base_ref:
        where += f" into {quote(run.base_ref)}"
    return services.markers.make("approval", where)


def is_approval_of(given: Approval, services: Services, run: Run) -> bool:
    """Whether an approval is of the head and base that a run is about. Its marker ends it: above, others are quoted."""
    return given.body.rstrip().endswith(build_approval_marker(services, run))


async def withdraw_if_lost(services: Services, run: Run) -> None:
    """Take the approval back that a run gave while another one took its pull request over.

    :raises Superseded: if one did.
    """
    if await runs.is_current(services.database, run):
        return
    await withdraw_approvals(services, run, all_of_them=True)
    raise Superseded(f"Run {run.id} no longer owns pull request {run.number}.")


async def _list_approvals(services: Services, run: Run) -> Sequence[Approval]:
    """The approvals of a pull request, also one that GitHub does not show yet."""
    shown = await services.host.approvals(run.repository, run.number)
    where = (services.database, run.repository.id, run.number)
    known, taken_back = await outbox.list_approvals(*where), await outbox.list_withdrawn(*where)
    unseen = known.keys() - {each.id for each in shown} - set(taken_back)
    given_by = {review_id: await runs.get(services.database, known[review_id]) for review_id in sorted(unseen)}
    return [
        *shown,
        *(
            Approval(id=review_id, head_sha=by.head_sha, body=build_approval_marker(services, by), is_dismissed=False)
            for review_id, by in given_by.items()
            if by is not None
        ),
    ]


async def _dismiss(services: Services, run: Run, given: Approval) -> None:
    try:
        text = automation_texts.explain_withdrawal(given.head_sha)
        await services.host.dismiss_approval(run.repository, run.number, given.id, text)
        await outbox.record_withdrawal(services.database, run, given.id, services.clock.now())
    except Unprocessable:  # a person, or an execution of this that died, was faster: it counts as a person's
        log.info("approval.withdrawn_before", run=run.id, review=given.id)
    except Forbidden as error:  # the branch names who may dismiss reviews, and Forge is not among them
        log.warning("approval.not_withdrawn", run=run.id, review=given.id, error=str(error))
