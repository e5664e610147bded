"""Shows that a run was admitted, and withdraws approvals: of an older head, another base, a verdict that changed."""

from collections.abc import Sequence
from urllib.parse import quote

import structlog

from domain.errors import CodeHostError, Forbidden, Halted, Superseded, Unprocessable
from domain.github.pull_requests import Approval
from domain.runs.run import Run
from memory.runs import outbox, runs, waits
from messages import automation as automation_texts
from pipeline.context import Services
from pipeline.publishing import reviews
from pipeline.publishing.publisher import make_lost
from pipeline.runs.status import open_status
from safety.github_limits import Importance, use_importance

log = structlog.get_logger(__name__)


async def show_admitted(services: Services, run: Run) -> None:
    """Show that a run was admitted, if GitHub allows it now. Otherwise the run shows it, and why it waits.

    Ends all waits on the pull request: their workflows would keep this run waiting. An approval must not outlast the
    status, which Forge leaves out where it has much to write.
    """
    await waits.end_for_pull_request(services.database, run.repository.id, run.number, services.clock.now())
    if not run.is_of_issue:
        try:
            await withdraw_approvals(services, run)
        except (CodeHostError, Halted) as error:
            log.info("approval.withdrawn_later", run=run.id, error=str(error))
    try:
        with use_importance(Importance.informing):
            await open_status(services, run)
    except (CodeHostError, Halted, Superseded) as error:
        log.info("first_sign.put_off", run=run.id, error=str(error))


async def withdraw_approvals(services: Services, run: Run, *, all_of_them: bool = False) -> None:
    """Dismiss Forge's approvals of a pull request, except of the head and base of this run; may be repeated.

    On GitHub an approval also counts for later pushes, unless a branch is set up otherwise.

    :param all_of_them: also the approval of this head.
    """
    if not await outbox.was_approved(services.database, run.repository.id, run.number):
        return
    for given in await _list_approvals(services, run):
        if not given.is_dismissed and (all_of_them or not is_approval_of(given, services, run)):
            await _dismiss(services, run, given)


def build_approval_marker(services: Services, run: Run) -> str:
    """The marker of an approval: one per head and base, however often they are reviewed.

    An approval for another base says nothing about this one, whatever the name of its check.
    """
    where = f"{run.repository.id}#{run.number}@{run.head_sha}"
    if run.base_ref:
        where += f" into {quote(run.base_ref)}"
    return services.markers.make("approval", where)


def is_approval_of(given: Approval, services: Services, run: Run) -> bool:
    """Whether an approval is of a run's head and base. Only the marker at its end counts: its text may quote others."""
    return given.body.rstrip().endswith(build_approval_marker(services, run))


async def withdraw_if_lost(services: Services, run: Run) -> None:
    """Withdraw the approval of a run if another run took its pull request over meanwhile.

    :raises Superseded: if one did.
    """
    if await runs.is_current(services.database, run):
        return
    await withdraw_approvals(services, run, all_of_them=True)
    raise make_lost(run)


async def _list_approvals(services: Services, run: Run) -> Sequence[Approval]:
    """The approvals of a pull request, also those that GitHub does not show yet."""
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
        await reviews.dismiss_approval(services, run, given.id, text)
    except Unprocessable:  # by a person, or by an execution that died: it counts as a person's
        log.info("approval.withdrawn_before", run=run.id, review=given.id)
    except Forbidden as error:  # the branch restricts dismissals of reviews, and Forge may not
        log.warning("approval.not_withdrawn", run=run.id, review=given.id, error=str(error))
