"""Knows what instructions put on a branch, and tells how it went: threads of ``/forge address``, awaited checks."""

from collections.abc import Sequence

import structlog

from domain.errors import CodeAccessError, ForgeError
from domain.runs.run import ReasonCode, RepositoryRef, Run, Trigger
from domain.value import Value
from memory.db.engine import Database
from memory.repositories import permits
from memory.runs import instructions, model_answers, runs
from messages import fixes as fix_texts
from messages import instructions as texts
from messages import updates
from pipeline.checkout import find_base
from pipeline.context import Services
from pipeline.durable.queues import enqueue_instruction
from pipeline.feedback.answers.instruction import begin
from pipeline.issue.red_checks import load_red_checks
from pipeline.publishing import comments
from pipeline.publishing.instructions import Instruction, change_answer, load_instruction, load_instructions
from pipeline.run_context import RunContext
from workspace.mirror import Mirror

COMMIT = "what an instruction put on the branch"
"""A key in the database."""
_MOST = 30  # instructions that are looked at
log = structlog.get_logger(__name__)

_MOST_ATTEMPTS = 2
_AWAITED = "the checks that an answer awaits"  # a key in the database


class AwaitedChecks(Value):
    """What an answer says once the checks of its commit ended; in the database.

    :param names: of the checks that were red before; none of a commit that takes something back.
    :param text: of the answer, without what it says of them.
    """

    names: tuple[str, ...] = ()
    text: str


async def keep_awaited(context: RunContext, names: Sequence[str], text: str) -> None:
    """Keep it; may be repeated."""
    awaited = AwaitedChecks(names=tuple(names), text=text).model_dump(mode="json")
    await model_answers.keep(context.database, context.run, _AWAITED, awaited, context.now())


async def look_at_own(context: RunContext) -> None:
    """Look at the commit of a run that ends, if all that its answer awaits ended there before."""
    again = await context.journal.step("did its checks end already", _look_at_own, context)
    if again is not None:
        await enqueue_instruction(again, context.run.repository.id, context.run.number)


async def _look_at_own(context: RunContext) -> str | None:
    services, run = context.services, context.run
    awaited, commit = await _load_awaited(services, run), (await find_commit(context.database, run)).commit
    if awaited is None or not commit:
        return None
    ended = await services.host.check_outcomes(run.repository, commit)
    if not ended or not {*awaited.names} <= ended.keys():
        return None
    return await look_again(services, run.repository, run.number, commit)


async def _load_awaited(services: Services, run: Run) -> AwaitedChecks | None:
    kept = await model_answers.find(services.database, run, _AWAITED)
    return None if kept is None else AwaitedChecks.model_validate(kept)


async def look_again(services: Services, repository: RepositoryRef, number: int, head: str) -> str | None:
    """The id of the run that mends this head once more; None if there is none. May be repeated.

    It is looked at when all checks of other Apps there have ended; what fails on the base, too, does not count. What is
    still red after the last attempt is said once. While people have Forge stand still, nobody is told anything.
    """
    mended = await _find_author(services, repository, number, head)
    if mended is None or await _stands_still(services, repository, number):
        return None
    run, asked = mended
    if await services.host.awaits_checks(repository, head):
        return None
    live = await services.host.pull_request(repository, number)
    red = (await load_red_checks(services, repository, head, await find_base(services.host, repository, live))).own
    names = list(dict.fromkeys(each.name for each in red))
    await _tell_outcome(services, run, head, names)
    if not asked.mends or not red or not live.is_open:
        return None
    if asked.attempt >= _MOST_ATTEMPTS:
        text = texts.report_still_red(names)
        await comments.answer_below(services, repository, number, f"{asked.key} still", text)
        return None
    again = asked.model_copy(update={"key": f"{asked.key} again", "attempt": asked.attempt + 1})
    return await begin(services, again, again.key, repository, head, run.base_ref)


async def _find_author(
    services: Services, repository: RepositoryRef, number: int, head: str
) -> tuple[Run, Instruction] | None:
    """The run whose commit is this head."""
    run = await instructions.find_newest(services.database, repository.id, number)
    if (
        run is None
        or run.reason is not ReasonCode.committed
        or (await find_commit(services.database, run)).commit != head
    ):
        return None
    return run, await load_instruction(services.database, run)


async def _stands_still(services: Services, repository: RepositoryRef, number: int) -> bool:
    """Whether the repository is paused, or the pull request left alone: nobody asked for a second attempt."""
    if await permits.find_pauser(services.database, repository) is not None:
        return True
    return await permits.find_left_alone_by(services.database, repository, number) is not None


async def _tell_outcome(services: Services, run: Run, head: str, red: Sequence[str]) -> None:
    """Say below the answer how the checks of its commit ended."""
    awaited = await _load_awaited(services, run)
    if awaited is None:
        return
    told = texts.render_outcome(awaited.names, red, await services.host.check_outcomes(run.repository, head))
    await change_answer(services, run, f"{awaited.text}\n\n{told}")


async def tell_end(services: Services, run: Run) -> None:
    """Say it once, if this run was the last one of such a command; may be repeated."""
    asked = await load_instruction(services.database, run)
    if not asked.is_of_others:
        return
    past = await runs.list_for_pull_request(services.database, run.repository.id, run.number, with_questions=True)
    every = {each.run.id: each.run for each in past if each.run.trigger is Trigger.instruction}
    known = await load_instructions(services.database, list(every))
    beside = sorted(run_id for run_id, each in known.items() if each.series == asked.series)
    if any(not every[run_id].state.is_final and run_id != run.id for run_id in beside):
        return
    threads = [await _describe_thread(services, every[run_id], known[run_id]) for run_id in beside]
    try:
        text = updates.report_end(threads)
        await comments.answer_below(services, run.repository, run.number, f"{asked.series} end", text)
    except ForgeError as error:  # a conversation that takes no answer keeps nothing from ending
        log.warning("threads.end_not_told", run=run.id, error=str(error))


async def _describe_thread(services: Services, run: Run, asked: Instruction) -> updates.AddressedThread:
    page = services.host.page(run.repository)
    root = asked.comment.comment.thread or asked.comment.comment.id
    where = asked.path if asked.line is None else f"{asked.path}:{asked.line}"
    commit = (await find_commit(services.database, run)).commit
    return updates.AddressedThread(where, f"{page}/pull/{run.number}#discussion_r{root}", run, commit)


class KeptCommit(Value):
    """What an instruction put on the branch, or proposes for it; in the database.

    :param commit: empty if it put none there.
    :param merges: the head of the base that it takes in; empty for any other commit.
    :param number: of the pull request that proposes it.
    :param fixed: fingerprint → id of the findings that it fixes.
    """

    commit: str = ""
    merges: str = ""
    number: int | None = None
    fixed: dict[str, str] = {}


class EarlierFix(Value):
    """A change that fixed findings.

    :param commit: on the branch; empty if it is not there.
    :param fixed: the fingerprints of the findings; ``told`` says it, as a clause.
    """

    commit: str
    fixed: tuple[str, ...]
    told: str


async def find_commit(database: Database, run: Run) -> KeptCommit:
    """What an instruction put on the branch."""
    return KeptCommit.model_validate(await model_answers.find(database, run, COMMIT) or {})


async def list_standing(
    services: Services, repository: RepositoryRef, number: int, mirror: Mirror, head: str
) -> Sequence[EarlierFix]:
    """Those whose commit is on the branch and was not taken back, or whose pull request is open; the newest first.

    :param number: of the pull request, whose head the mirror has.
    """
    database = services.database
    past = await instructions.list_newest(database, repository.id, number, _MOST)
    asked = await load_instructions(database, [each.id for each in past])
    undone = {asked[each.id].undoes for each in past if each.id in asked and each.reason is ReasonCode.committed}
    kept = [await find_commit(database, each) for each in past if each.id not in undone]
    return [_describe(each) for each in kept if each.fixed and await _stands(services, repository, mirror, head, each)]


def _describe(kept: KeptCommit) -> EarlierFix:
    ids = list(kept.fixed.values())
    by_commit = kept.number is None
    told = (
        fix_texts.explain_commit(kept.commit, ids) if by_commit else fix_texts.explain_proposal(kept.number or 0, ids)
    )
    return EarlierFix(commit=kept.commit, fixed=tuple(kept.fixed), told=told)


async def _stands(services: Services, repository: RepositoryRef, mirror: Mirror, head: str, kept: KeptCommit) -> bool:
    if kept.number is not None:
        return (await services.host.pull_request(repository, kept.number)).is_open
    try:
        return await mirror.follows(head, kept.commit)
    except CodeAccessError:  # the branch was rewritten without it
        return False
