"""Creates, updates and completes check runs of every kind, and asks which ones a branch requires."""

from domain.errors import Forbidden, NotFound
from domain.github.checks import CheckRun
from domain.review.review import Conclusion
from domain.runs.run import RepositoryRef, Run
from domain.text.redaction import redact_outgoing
from memory.runs.outbox import TestedHead
from messages.review import CheckText
from pipeline.context import Services
from pipeline.publishing.publisher import answer_once, write_once
from safety.allowed_actions import is_required


async def ensure_check(
    services: Services, run: Run, step: str, check: CheckRun, tested: TestedHead | None = None
) -> tuple[int, bool]:
    """The id of a check, which is created if there is none yet, and whether this call created it.

    :param step: names its creation.
    :param tested: the tests it shows.
    """
    is_new = False

    async def find() -> int | None:
        return await _find_id(services, run.repository, check.head_sha, check.external_id)

    async def create() -> int:
        nonlocal is_new
        made = await services.host.create_check_run(run.repository, check)
        is_new = True
        return made.id

    return await write_once(services, run, step, "check", create, find=find, tested=tested), is_new


async def update_check(
    services: Services, run: Run, creation: str, check: CheckRun, tested: TestedHead | None = None
) -> None:
    """Show progress in a check: see :class:`pipeline.publishing.progress.ProgressUpdates`.

    :param creation: names its creation.
    """
    check_id, is_new = await ensure_check(services, run, creation, check, tested)
    if not is_new:
        await services.host.update_check_run(run.repository, check_id, check)


async def complete_check(
    services: Services, run: Run, creation: str, step: str, check: CheckRun, tested: TestedHead | None = None
) -> int:
    """Bring a check into a state, once; its id.

    :param creation: names its creation.
    :param step: names this state of it.
    """
    check_id, is_new = await ensure_check(services, run, creation, check, tested)

    async def update() -> int:
        if not is_new:
            await services.host.update_check_run(run.repository, check_id, check)
        return check_id

    return await write_once(services, run, step, "check", update)


async def report(
    services: Services,
    repository: RepositoryRef,
    guid: str,
    head_sha: str,
    name: str,
    conclusion: Conclusion,
    text: CheckText,
) -> None:
    """Create a complete check on a head that no run is about, once per delivery."""
    check = CheckRun(
        name=name,
        head_sha=head_sha,
        external_id=guid,
        status="completed",
        title=redact_outgoing(text.title),
        summary=redact_outgoing(text.summary),
        conclusion=conclusion,
    )

    async def find() -> int | None:
        return await _find_id(services, repository, head_sha, guid)

    async def create() -> int:
        return (await services.host.create_check_run(repository, check)).id

    await answer_once(services, guid, create, find=find)


async def _find_id(services: Services, repository: RepositoryRef, head_sha: str, external_id: str) -> int | None:
    found = await services.host.find_check_run(repository, head_sha, external_id)
    return None if found is None else found.id


_MOST_ASKED = 20  # branches, in one reading


async def requires_check(services: Services, run: Run) -> bool:
    """Whether any branch requires the run's check, since its pull request may be moved there and merged at once.

    What GitHub does not say counts as required, and so does what more branches have than are asked.

    :raises CodeHostError: GitHub does not answer.
    """
    if await _is_required(services, run, run.base_ref):
        return True
    try:
        guarded = set(await services.host.list_protected_branches(run.repository)) - {run.base_ref}
    except (Forbidden, NotFound):
        return True
    if len(guarded) > _MOST_ASKED:
        return True
    for branch in sorted(guarded):
        if await _is_required(services, run, branch):
            return True
    return False


async def _is_required(services: Services, run: Run, branch: str) -> bool:
    try:
        required = await services.host.required_checks(run.repository, branch)
    except (Forbidden, NotFound):  # the App may not read that, or the branch is gone
        required = None
    return is_required(run.check_name, required)
