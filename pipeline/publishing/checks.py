"""Creates, updates and completes check runs of every kind, and shows in that of a run how its review is."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from domain.errors import Forbidden, ForgeError, NotFound, Superseded
from domain.github.checks import Annotation, Button, CheckRun, CheckRunRef
from domain.review.findings import Finding, Severity
from domain.review.review import Conclusion
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from memory import gates
from memory.runs import checkpoints, outbox, runs
from memory.runs.outbox import TestedHead
from messages import config as config_texts
from messages import review as review_texts
from messages.review import CheckText
from pipeline.context import Services
from pipeline.publishing.publisher import NO_ID, PostLater, answer_once, post_progress_once, write_once
from safety.allowed_actions import is_required

_MOST_ASKED = 20  # branches, in one reading

CONCLUDED = "concluded"
_CREATION = "queued"
_ABANDONED = frozenset({ReasonCode.superseded, ReasonCode.closed})  # reasons whose head nobody looks at any more
_PASSING = frozenset({Conclusion.success, Conclusion.neutral})  # GitHub lets both pass
MAX_ANNOTATIONS = 100
REVIEW_AGAIN = Button(label="Review again", description="Run all checks on this head once more", identifier="review")
_LEVELS = {
    Severity.info: "notice",
    Severity.warning: "warning",
    Severity.error: "failure",
    Severity.critical: "failure",
}


async def open_check(services: Services, run: Run) -> None:
    """Create the run's check, queued: the first sign people see."""
    await ensure_check(services, run, _CREATION, _build_check(run, review_texts.QUEUED, status="queued"))


def _build_check(
    run: Run, text: CheckText, conclusion: Conclusion | None = None, status: str = "in_progress"
) -> CheckRun:
    check = build_check(run.check_name, run.head_sha, run.id, text, conclusion, status)
    return check if conclusion is None else check.model_copy(update={"buttons": (REVIEW_AGAIN,)})


async def show_progress(services: Services, run: Run, step: str, doing: str, post_later: PostLater) -> None:
    """Show on the check what the run does now. Creates the check if there is none."""
    check = _build_check(run, review_texts.render_progress(doing))
    update = partial(update_check, services, run, _CREATION, check)
    await post_progress_once(services, run, step, "check", NO_ID, update, post_later)


async def show_so_far(services: Services, run: Run, text: CheckText) -> None:
    """Show what is known while the run goes on; see :class:`pipeline.publishing.publisher.ProgressUpdates`."""
    await update_check(services, run, _CREATION, _build_check(run, text))


async def show_answer(services: Services, run: Run, cause: str, text: CheckText) -> None:
    """Show on the check of a run that waits what people decided: it may have to wait for a place to go on.

    :param cause: the gate; each shows it once.
    """
    check = _build_check(run, text)
    await complete_check(services, run, _CREATION, f"answered at {cause}", check)


async def conclude(
    services: Services, run: Run, conclusion: Conclusion, text: CheckText, annotated: Sequence[Finding] = ()
) -> None:
    """Complete the run's check.

    :param annotated: findings that become annotations.
    """
    conclusion, text = await _agree_with_same_head(services, run, conclusion, text)
    check = _build_check(run, text, conclusion).model_copy(update={"annotations": _build_annotations(annotated)})
    await complete_check(services, run, _CREATION, CONCLUDED, check)


async def _agree_with_same_head(
    services: Services, run: Run, conclusion: Conclusion, text: CheckText
) -> tuple[Conclusion, CheckText]:
    """The verdict as far as other open pull requests with the same head allow it.

    On GitHub the newest check of a head counts for all of them, so a head passes only if no review of it disagrees.
    """
    if conclusion not in _PASSING:
        return conclusion, text
    others = await checkpoints.find_disagreeing(services.database, run)
    for worse in (Conclusion.action_required, Conclusion.neutral):
        for number in (number for number, theirs in others.items() if worse is theirs is not conclusion):
            if (await services.host.pull_request(run.repository, number)).is_open:
                return worse, review_texts.render_same_head(number, text)
    return conclusion, text


def _build_annotations(findings: Sequence[Finding]) -> tuple[Annotation, ...]:
    """The first of the findings, which are the gravest, on their lines: GitHub takes fifty in one write."""
    return tuple(_build_annotation(f) for f in findings if f.line is not None)[:MAX_ANNOTATIONS]


def _build_annotation(finding: Finding) -> Annotation:
    title, message = review_texts.render_annotation(finding)
    start = finding.line or 1
    return Annotation.model_validate(
        {
            "path": finding.path,
            "start_line": start,
            "end_line": max(start, finding.end_line or start),
            "level": _LEVELS[finding.severity],
            "title": title,
            "message": redact_outgoing(strip_invisible(message)),
        }
    )


async def conclude_again(services: Services, run: Run, cause: str, conclusion: Conclusion, text: CheckText) -> None:
    """Change the verdict in a run's check.

    :param cause: the delivery behind it; each changes it once.
    """
    conclusion, text = await _agree_with_same_head(services, run, conclusion, text)
    check = _build_check(run, text, conclusion)
    await complete_check(services, run, _CREATION, f"concluded by {cause}", check)


async def close(services: Services, run: Run) -> None:
    """Complete the check of a run that ended without a verdict, and say why, whoever owns the pull request now.

    A late write of that run may reopen the check, so the run itself closes it once more at its end. A run without a
    check gets one, unless nobody looks at its head any more. GitHub may not show a check yet that it just created.
    """
    found = await services.host.find_check_run(run.repository, run.head_sha, run.id)
    check_id = await outbox.find_remote_id(services.database, run.id, _CREATION, "check") if found is None else found.id
    ended = await runs.get(services.database, run.id) or run
    is_closed = ended.reason in _ABANDONED if check_id is None else await _shows_end(services, ended, found)
    if is_closed:
        return
    if ended.state is RunState.failed:
        conclusion, text = Conclusion.action_required, review_texts.render_failure(ForgeError(ended.detail), run.id)
    else:
        conclusion, text = Conclusion.cancelled, review_texts.render_cancelled(ended.reason)
    check = _build_check(run, text, conclusion)
    if check_id is not None:
        await services.host.update_check_run(run.repository, check_id, check)
        return
    with suppress(Superseded):  # the run that took over shows a check of its own
        await ensure_check(services, run, _CREATION, check)


async def _shows_end(services: Services, ended: Run, found: CheckRunRef | None) -> bool:
    """Whether the check shows that the run ended; a verdict from before the merge stays, and a question does not.

    :param found: None where GitHub does not show it yet.
    """
    if found is None:
        is_completed = await outbox.is_done(services.database, ended.id, CONCLUDED, "check")
    else:
        is_completed = found.is_completed
        if found.conclusion == Conclusion.cancelled:
            return True
    if ended.state is RunState.failed or not is_completed:
        return is_completed
    return ended.reason is ReasonCode.closed and not await was_asking(services, ended)


async def retire(services: Services, run: Run, base: str) -> None:
    """Complete the check of a verdict on a merge into another branch than ``base``, the branch of now."""
    found = await services.host.find_check_run(run.repository, run.head_sha, run.id)
    if found is not None and found.conclusion != Conclusion.cancelled:
        check = _build_check(run, review_texts.render_retargeted(base), Conclusion.cancelled)
        await services.host.update_check_run(run.repository, found.id, check)


async def is_open(services: Services, run: Run) -> bool:
    """Whether the run has a check on GitHub, or one on its way there."""
    return await outbox.is_claimed(services.database, run.id, _CREATION, "check")


async def has_concluded(services: Services, run: Run) -> bool:
    """Whether the run's verdict is on GitHub, or on its way there."""
    return await outbox.is_claimed(services.database, run.id, CONCLUDED, "check")


async def is_concluded(services: Services, run: Run) -> bool:
    """Whether the run's verdict is known to have reached GitHub."""
    return await outbox.is_done(services.database, run.id, CONCLUDED, "check")


async def was_asking(services: Services, run: Run) -> bool:
    """Whether a run waited for people when its pull request was closed; then its check shows no verdict."""
    asked = await gates.list_for_run(services.database, run.id)
    return any(gate.decision is not None and gate.decision.via == ReasonCode.closed for gate in asked)


async def show_configuration(
    services: Services, run: Run, conclusion: Conclusion, text: CheckText, annotations: Sequence[Annotation]
) -> None:
    """Create the check on the configuration file, complete at once."""
    check = build_check(config_texts.CHECK_NAME, run.head_sha, f"{run.id}:config", text, conclusion)
    await ensure_check(services, run, "configuration", check.model_copy(update={"annotations": tuple(annotations)}))


def build_check(
    name: str,
    head_sha: str,
    external_id: str,
    text: CheckText,
    conclusion: Conclusion | None = None,
    status: str = "in_progress",
) -> CheckRun:
    """A check without the secrets of this process.

    :param external_id: by which it is found after a crash.
    :param status: as long as it has no conclusion.
    """
    return CheckRun.model_validate(
        {
            "name": name,
            "head_sha": head_sha,
            "external_id": external_id,
            "status": status if conclusion is None else "completed",
            "title": redact_outgoing(text.title),
            "summary": redact_outgoing(text.summary),
            "text": redact_outgoing(text.text),
            "conclusion": conclusion,
        }
    )


async def ensure_check(
    services: Services, run: Run, step: str, check: CheckRun, tested: TestedHead | None = None
) -> tuple[int, bool]:
    """The id of a check, which is created if there is none yet, and whether this call created it.

    :param step: names its creation.
    :param tested: the tests it shows.
    """
    is_new = False
    find = partial(_find_id, services, run.repository, check.head_sha, check.external_id)

    async def create() -> int:
        nonlocal is_new
        made = await services.host.create_check_run(run.repository, check)
        is_new = True
        return made.id

    return await write_once(services, run, step, "check", create, find=find, tested=tested), is_new


async def _find_id(services: Services, repository: RepositoryRef, head_sha: str, external_id: str) -> int | None:
    found = await services.host.find_check_run(repository, head_sha, external_id)
    return None if found is None else found.id


async def update_check(
    services: Services, run: Run, creation: str, check: CheckRun, tested: TestedHead | None = None
) -> None:
    """Show progress in a check: see :class:`pipeline.publishing.publisher.ProgressUpdates`.

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
    check = build_check(name, head_sha, guid, text, conclusion)
    find = partial(_find_id, services, repository, head_sha, guid)

    async def create() -> int:
        return (await services.host.create_check_run(repository, check)).id

    await answer_once(services, guid, create, find=find)


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
