"""Knows what instructions put on the branch of a pull request, and which findings they fixed."""

from collections.abc import Sequence

from domain.errors import CodeAccessError
from domain.runs.run import ReasonCode, RepositoryRef, Run
from domain.value import Value
from memory.db.engine import Database
from memory.runs import instructions, model_answers
from messages import fixes as texts
from pipeline.context import Services
from pipeline.publishing.instructions import load_instructions
from workspace.mirror import Mirror

COMMIT = "what an instruction put on the branch"
"""A key in the database."""
_MOST = 30  # instructions that are looked at


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


async def _stands(services: Services, repository: RepositoryRef, mirror: Mirror, head: str, kept: KeptCommit) -> bool:
    if kept.number is not None:
        return (await services.host.pull_request(repository, kept.number)).is_open
    try:
        return await mirror.follows(head, kept.commit)
    except CodeAccessError:  # the branch was rewritten without it
        return False


def _describe(kept: KeptCommit) -> EarlierFix:
    ids = list(kept.fixed.values())
    by_commit = kept.number is None
    told = texts.explain_commit(kept.commit, ids) if by_commit else texts.explain_proposal(kept.number or 0, ids)
    return EarlierFix(commit=kept.commit, fixed=tuple(kept.fixed), told=told)
