"""Looks at the checks of a head that was mended, and mends once more what is still red."""

from domain.commands import Repeat
from domain.runs.run import ReasonCode, RepositoryRef, Run, Trigger
from memory.budgets import model_answers
from memory.repositories import permits
from memory.runs import instructions
from memory.runs.runs import Candidate
from messages import instructions as texts
from pipeline.checkout import find_base
from pipeline.context import Services
from pipeline.issue.instruction.undo import find_commit
from pipeline.issue.red_checks import load_red_checks
from pipeline.publishing import comments
from pipeline.publishing.instructions import Instruction, load_instruction

_MOST_ATTEMPTS = 2


async def look_again(services: Services, repository: RepositoryRef, number: int, head: str) -> str | None:
    """The id of the run that mends this head once more; None if there is none. May be repeated.

    It is looked at when all checks of other Apps there have ended; what fails on the base, too, does not count. What is
    still red after the last attempt is said once. While people have Forge stand still, nobody is told anything.
    """
    mended = await _find_mended(services, repository, number, head)
    if mended is None or await _stands_still(services, repository, number):
        return None
    run, asked = mended
    if await services.host.awaits_checks(repository, head):
        return None
    live = await services.host.pull_request(repository, number)
    red = (await load_red_checks(services, repository, head, await find_base(services.host, repository, live))).own
    if not red or not live.is_open:
        return None
    if asked.attempt >= _MOST_ATTEMPTS:
        text = texts.report_still_red(list(dict.fromkeys(each.name for each in red)))
        await comments.answer_below(services, repository, number, f"{asked.key} still", text)
        return None
    again = asked.model_copy(update={"key": f"{asked.key} again", "attempt": asked.attempt + 1})
    candidate = Candidate(
        f"{again.key}#{number}",
        repository,
        number,
        head,
        head,
        Trigger.instruction,
        Repeat.always,
        base_ref=run.base_ref,
        check_name="",
        kept=(model_answers.INSTRUCTION, again.model_dump(mode="json")),
    )
    return (await instructions.admit(services.database, candidate, again.comment.sender, services.clock.now())).id


async def _stands_still(services: Services, repository: RepositoryRef, number: int) -> bool:
    """Whether the repository is paused, or the pull request left alone: nobody asked for a second attempt."""
    if await permits.find_pauser(services.database, repository) is not None:
        return True
    return await permits.find_left_alone_by(services.database, repository, number) is not None


async def _find_mended(
    services: Services, repository: RepositoryRef, number: int, head: str
) -> tuple[Run, Instruction] | None:
    """The run whose commit is this head, if it was to mend it."""
    run = await instructions.find_newest(services.database, repository.id, number)
    if (
        run is None
        or run.reason is not ReasonCode.committed
        or (await find_commit(services.database, run)).commit != head
    ):
        return None
    asked = await load_instruction(services.database, run)
    return (run, asked) if asked.mends else None
