"""Takes Forge's own approvals back: of a head that is not the newest, of another base, of a verdict that changed."""

import structlog

from domain import ladder_texts
from domain.errors import Forbidden, Superseded, Unprocessable
from domain.runs import Run
from memory import halts, outbox, runs
from pipeline.services import Services

log = structlog.get_logger(__name__)


async def withdraw(services: Services, run: Run, *, all_of_them: bool = False) -> None:
    """Dismiss what Forge approved on a pull request but the head and base that a run is about; may be repeated.

    GitHub counts an approval for whatever is pushed after it, unless a branch is set up otherwise.

    :param all_of_them: that of this head, too: it is not approved any more.
    """
    approved = await outbox.approvals(services.database, run.repository.id, run.number)
    if not approved:
        return
    kept = {each.head_sha for each in approved if _is_same(each, run) and not all_of_them}
    for given in await services.host.standing_approvals(run.repository, run.number):
        if given.head_sha not in kept:
            await halts.require_none(services.database)
            await _dismiss(services, run, given.id, given.head_sha)


async def withdraw_if_lost(services: Services, run: Run) -> None:
    """Take the approval back that a run gave while another one took its pull request over.

    :raises Superseded: if one did.
    """
    if await runs.is_current(services.database, run):
        return
    await withdraw(services, run, all_of_them=True)
    raise Superseded(f"Run {run.id} no longer owns pull request {run.number}.")


async def _dismiss(services: Services, run: Run, review_id: int, head_sha: str) -> None:
    try:
        text = ladder_texts.approval_withdrawn(head_sha)
        await services.host.dismiss_approval(run.repository, run.number, review_id, text)
    except Unprocessable:  # a person, or an execution of this that died, was faster
        log.info("approval.withdrawn_before", run=run.id, review=review_id)
    except Forbidden as error:  # the branch names who may dismiss reviews, and Forge is not among them
        log.warning("approval.not_withdrawn", run=run.id, review=review_id, error=str(error))


def _is_same(approving: Run, run: Run) -> bool:
    return approving.head_sha == run.head_sha and approving.base_ref in {"", run.base_ref}
