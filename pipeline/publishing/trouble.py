"""Says on a pull request what keeps Forge from its work there: in a check, or in a comment where that is impossible."""

import structlog

from domain.commands import (
    AnyCommand,
    DecideGate,
    NumberedCommand,
    ReportMergeGroup,
    ReviewCheckedHead,
    ReviewPullRequest,
)
from domain.errors import Forbidden, ForgeError
from domain.gates import digest
from domain.review.review import Conclusion
from domain.runs.run import REVIEW_CHECK, RepositoryRef
from memory import gates
from memory.runs import runs
from messages import deliveries as texts
from messages.review import CheckText
from pipeline.context import Services
from pipeline.publishing import checks, comments

log = structlog.get_logger(__name__)


async def tell(
    services: Services, guid: str, command: AnyCommand, error: ForgeError, *, is_repeated: bool = False
) -> None:
    """Tell those who caused a delivery that it fails, once: on its head, else below its number, else in the log only.

    The head of a merge queue gets its check once Forge gives up, as the queue drops what has a failing one.

    :param is_repeated: Forge goes on trying.
    """
    log.warning("delivery.troubled", guid=guid, error=str(error))
    text = texts.render_trouble(error, is_repeated=is_repeated)
    match command:
        case (
            ReviewPullRequest(repository=repository, head_sha=head)
            | ReviewCheckedHead(repository=repository, head_sha=head)
        ):
            if await runs.list_for_head(services.database, repository.id, head):
                if is_repeated:  # the head has its check, and maybe a verdict, which this must not hide
                    return
            elif await _show(services, guid, repository, head, text):
                return
        case ReportMergeGroup() if not is_repeated:
            await _show(services, guid, command.repository, command.head_sha, text)
        case _:
            pass
    place = await _find_place(services, command)
    if place is not None:
        await say_below(services, *place, error, guid, is_repeated=is_repeated)


async def _find_place(services: Services, command: AnyCommand) -> tuple[RepositoryRef, int] | None:
    """The pull request or issue that a command is about; None if it names none."""
    match command:
        case NumberedCommand():
            return command.repository, command.number
        case DecideGate():
            gate = await gates.get(services.database, command.gate_id)
            is_here = gate is not None and gate.repository.id == command.repository.id
            return (command.repository, gate.number) if gate is not None and is_here else None
        case _:
            return None


async def withdraw(services: Services, guid: str, command: AnyCommand) -> None:
    """Close the check of :func:`tell`: what failed succeeded in the end, and has a check of its own."""
    match command:
        case (
            ReviewPullRequest(repository=repository, head_sha=head)
            | ReviewCheckedHead(repository=repository, head_sha=head)
        ):
            try:
                await _update(services, guid, repository, head, texts.TROUBLE_OVER, Conclusion.cancelled)
            except ForgeError as error:
                log.warning("trouble.not_withdrawn", guid=guid, error=str(error))
        case _:
            pass


async def say_below(
    services: Services,
    repository: RepositoryRef,
    number: int,
    error: ForgeError,
    occasion: str = "",
    *,
    is_repeated: bool = False,
) -> None:
    """Comment below a pull request or issue, once for each occasion; what the App may not do, once for ever."""
    named = error.advice or error.message if isinstance(error, Forbidden) else occasion
    key = f"{repository.id}-{number}-trouble-{digest(named)[:16]}"
    try:
        await comments.answer_below(
            services, repository, number, key, texts.render_trouble(error, is_repeated=is_repeated).summary
        )
    except ForgeError as unsaid:
        log.warning("trouble.unsaid", repository=repository.full_name, number=number, error=str(unsaid))


async def _show(services: Services, guid: str, repository: RepositoryRef, head: str, text: CheckText) -> bool:
    """Whether a check shows it."""
    try:
        await checks.report(services, repository, guid, head, REVIEW_CHECK, Conclusion.action_required, text)
        await _update(services, guid, repository, head, text, Conclusion.action_required)
    except ForgeError as error:
        log.warning("trouble.not_shown", guid=guid, error=str(error))
        return False
    return True


async def _update(
    services: Services, guid: str, repository: RepositoryRef, head: str, text: CheckText, conclusion: Conclusion
) -> None:
    """Bring the check of a delivery, if GitHub shows it, to what is to be said now."""
    found = await services.host.find_check_run(repository, head, guid)
    if found is None:
        return
    check = checks.build_check(REVIEW_CHECK, head, guid, text, conclusion)
    await services.host.update_check_run(repository, found.id, check)
