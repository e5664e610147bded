"""Knows what instructions put on a branch, and says what became of the threads of ``/forge address``."""

from collections.abc import Sequence

import structlog

from domain.errors import CodeAccessError, ForgeError
from domain.runs.run import ReasonCode, RepositoryRef, Run, Trigger
from domain.value import Value
from memory.budgets import model_answers
from memory.db.engine import Database
from memory.runs import instructions, runs
from messages import addressing as texts
from messages import fixes as fix_texts
from pipeline.context import Services
from pipeline.publishing import comments
from pipeline.publishing.instructions import Instruction, load_instruction, load_instructions
from workspace.mirror import Mirror

COMMIT = "what an instruction put on the branch"
"""A key in the database."""
_MOST = 30  # instructions that are looked at

log = structlog.get_logger(__name__)


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
        text = texts.report_end(threads)
        await comments.answer_below(services, run.repository, run.number, f"{asked.series} end", text)
    except ForgeError as error:  # a conversation that takes no answer keeps nothing from ending
        log.warning("threads.end_not_told", run=run.id, error=str(error))


async def _describe_thread(services: Services, run: Run, asked: Instruction) -> texts.AddressedThread:
    page = services.host.clone_url(run.repository).removesuffix(".git")
    root = asked.comment.comment.thread or asked.comment.comment.id
    where = asked.path if asked.line is None else f"{asked.path}:{asked.line}"
    commit = (await find_commit(services.database, run)).commit
    return texts.AddressedThread(where, f"{page}/pull/{run.number}#discussion_r{root}", run, commit)


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
