"""Takes findings out of the verdict on a head which that head does not have any more, and settles their threads."""

from collections.abc import Mapping

from domain.runs.run import Run, RunState
from memory.runs import checkpoints, instructions, model_answers, runs
from pipeline.context import Services
from pipeline.run_context import RunContext
from pipeline.verdicts import threads
from pipeline.verdicts.update import update_verdict

_MOST = 30  # instructions of a pull request that are looked at


async def settle_gone(context: RunContext, gone: Mapping[str, str]) -> None:
    """Settle findings of the review of a head; may be repeated. A review that is under way does it when it ends.

    :param context: of the run for which somebody looked; its head is the one on which they are gone.
    :param gone: fingerprint → name.
    """
    database, run = context.database, context.run
    await model_answers.keep(database, run, model_answers.GONE, dict(gone), context.now())
    past = await runs.list_for_pull_request(database, run.repository.id, run.number)
    if past and past[0].run.state is RunState.completed and past[0].run.head_sha == run.head_sha:
        await _settle(context.services, past[0].run, gone)


async def settle_found_gone(services: Services, reviewed: Run) -> None:
    """Settle what instructions found to be gone while the head they worked on was reviewed; may be repeated."""
    newest = await instructions.list_newest(services.database, reviewed.repository.id, reviewed.number, _MOST)
    here = [run.id for run in newest if run.head_sha == reviewed.head_sha and run.id > reviewed.id]
    found = await model_answers.find_all(services.database, here, model_answers.GONE)
    gone = {fingerprint: name for each in found.values() for fingerprint, name in each.items()}
    if gone:
        await _settle(services, reviewed, gone)


async def _settle(services: Services, reviewed: Run, gone: Mapping[str, str]) -> None:
    while (review := await checkpoints.load_review(services.database, reviewed)) is not None:
        left = review.model_copy(
            update={"findings": tuple(each for each in review.findings if each.fingerprint not in gone)}
        )
        if await checkpoints.replace_review(services.database, reviewed, review, left, services.clock.now()):
            break
    await update_verdict(services, reviewed.repository, reviewed.number, f"{reviewed.id} settled")
    after = await checkpoints.load_review(services.database, reviewed)
    if after is not None:
        await threads.settle(services, reviewed, after, list(gone.values()))
