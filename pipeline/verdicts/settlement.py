"""Takes findings out of the verdict on a head which that head does not have any more, and settles their threads."""

from collections.abc import Mapping

from domain.runs.run import RunState
from memory.runs import checkpoints, runs
from pipeline.run_context import RunContext
from pipeline.verdicts import threads
from pipeline.verdicts.update import update_verdict


async def settle_gone(context: RunContext, gone: Mapping[str, str]) -> None:
    """Settle findings of the review of a head; may be repeated. Where it has none yet, that review will say it.

    :param context: of the run for which somebody looked; its head is the one on which they are gone.
    :param gone: fingerprint → name.
    """
    services, run = context.services, context.run
    past = await runs.list_for_pull_request(services.database, run.repository.id, run.number)
    reviewed = past[0].run if past else None
    if reviewed is None or reviewed.state is not RunState.completed or reviewed.head_sha != run.head_sha:
        return
    review = await checkpoints.load_review(services.database, reviewed)
    if review is None:
        return
    left = tuple(each for each in review.findings if each.fingerprint not in gone)
    now = services.clock.now()
    await checkpoints.replace_review(services.database, reviewed, review.model_copy(update={"findings": left}), now)
    await update_verdict(services, run.repository, run.number, f"{run.id} settled")
    after = await checkpoints.load_review(services.database, reviewed)
    if after is not None:
        await threads.settle(services, reviewed, after, list(gone.values()))
