"""Says on a pull request what keeps Forge from its work there: in a check, or in a comment where that is impossible."""

import structlog

from domain.commands import AnyCommand, ExecuteComment, LabelledIssue, ReviewCheckedHead, ReviewPullRequest
from domain.errors import Forbidden, ForgeError
from domain.gates import digest
from domain.github.checks import CheckRun
from domain.review.review import Conclusion
from domain.runs.run import REVIEW_CHECK, RepositoryRef
from domain.text.redaction import redact_outgoing
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
        case _:
            pass
    match command:
        case ReviewPullRequest() | LabelledIssue() | ExecuteComment():
            await say_below(services, command.repository, command.number, error, guid)
        case _:
            pass


async def withdraw(services: Services, guid: str, command: AnyCommand) -> None:
    """Close the check of :func:`tell`: what failed succeeded in the end, and has a check of its own."""
    match command:
        case (
            ReviewPullRequest(repository=repository, head_sha=head)
            | ReviewCheckedHead(repository=repository, head_sha=head)
        ):
            try:
                await _update(services, guid, repository, head, texts.render_trouble_over(), Conclusion.cancelled)
            except ForgeError as error:
                log.warning("trouble.not_withdrawn", guid=guid, error=str(error))
        case _:
            pass


async def say_below(
    services: Services, repository: RepositoryRef, number: int, error: ForgeError, occasion: str = ""
) -> None:
    """Comment below a pull request or issue, once for each occasion; what the App may not do, once for ever."""
    named = error.advice or error.message if isinstance(error, Forbidden) else occasion
    key = f"{repository.id}-{number}-trouble-{digest(named)[:16]}"
    try:
        await comments.answer_below(services, repository, number, key, texts.render_trouble(error).summary)
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
    check = CheckRun(
        name=REVIEW_CHECK,
        head_sha=head,
        external_id=guid,
        status="completed",
        title=redact_outgoing(text.title),
        summary=redact_outgoing(text.summary),
        conclusion=conclusion,
    )
    await services.host.update_check_run(repository, found.id, check)
