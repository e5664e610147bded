"""Shows a review in the run's check: queued, in progress, and its verdict."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from domain.errors import ForgeError, Superseded
from domain.github.checks import Annotation, Button, CheckRun, CheckRunRef
from domain.review.findings import Finding, Severity
from domain.review.review import Conclusion
from domain.runs.run import ReasonCode, Run, RunState
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from memory import gates
from memory.runs import checkpoints, outbox, runs
from messages import config as config_texts
from messages import review as review_texts
from messages.review import CheckText
from pipeline.context import Services
from pipeline.publishing.checks import complete_check, ensure_check, update_check
from pipeline.publishing.publisher import NO_ID, PostLater, post_progress_once

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
    await ensure_check(services, run, _CREATION, _build_check(run, "queued", review_texts.QUEUED))


async def show_progress(services: Services, run: Run, step: str, doing: str, post_later: PostLater) -> None:
    """Show on the check what the run does now. Creates the check if there is none."""
    check = _build_check(run, "in_progress", review_texts.render_progress(doing))
    update = partial(update_check, services, run, _CREATION, check)
    await post_progress_once(services, run, step, "check", NO_ID, update, post_later)


async def show_so_far(services: Services, run: Run, text: CheckText) -> None:
    """Show what is known while the run goes on; see :class:`pipeline.publishing.progress.ProgressUpdates`."""
    await update_check(services, run, _CREATION, _build_check(run, "in_progress", text))


async def show_answer(services: Services, run: Run, cause: str, text: CheckText) -> None:
    """Show on the check of a run that waits what people decided: it may have to wait for a place to go on.

    :param cause: the gate; each shows it once.
    """
    check = _build_check(run, "in_progress", text)
    await complete_check(services, run, _CREATION, f"answered at {cause}", check)


async def conclude(
    services: Services, run: Run, conclusion: Conclusion, text: CheckText, annotated: Sequence[Finding] = ()
) -> None:
    """Complete the run's check.

    :param annotated: findings that become annotations.
    """
    conclusion, text = await _agree_with_same_head(services, run, conclusion, text)
    await _complete(services, run, CONCLUDED, conclusion, text, _build_annotations(annotated))


async def conclude_again(services: Services, run: Run, cause: str, conclusion: Conclusion, text: CheckText) -> None:
    """Change the verdict in a run's check.

    :param cause: the delivery behind it; each changes it once.
    """
    conclusion, text = await _agree_with_same_head(services, run, conclusion, text)
    await _complete(services, run, f"concluded by {cause}", conclusion, text)


async def _complete(
    services: Services,
    run: Run,
    step: str,
    conclusion: Conclusion,
    text: CheckText,
    annotations: tuple[Annotation, ...] = (),
) -> None:
    check = _build_check(run, "completed", text, conclusion, annotations)
    await complete_check(services, run, _CREATION, step, check)


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
    check = _build_check(run, "completed", text, conclusion)
    if check_id is not None:
        await services.host.update_check_run(run.repository, check_id, check)
        return
    with suppress(Superseded):  # the run that took over shows a check of its own
        await ensure_check(services, run, _CREATION, check)


async def retire(services: Services, run: Run, base: str) -> None:
    """Complete the check of a verdict on a merge into another branch than ``base``, the branch of now."""
    found = await services.host.find_check_run(run.repository, run.head_sha, run.id)
    if found is not None and found.conclusion != Conclusion.cancelled:
        check = _build_check(run, "completed", review_texts.render_retargeted(base), Conclusion.cancelled)
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
    check = _build_check(run, "completed", text, conclusion, tuple(annotations)).model_copy(
        update={"name": config_texts.CHECK_NAME, "external_id": f"{run.id}:config", "buttons": ()}
    )
    await ensure_check(services, run, "configuration", check)


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


def _build_check(
    run: Run,
    status: str,
    text: CheckText,
    conclusion: Conclusion | None = None,
    annotations: tuple[Annotation, ...] = (),
) -> CheckRun:
    return CheckRun.model_validate(
        {
            "name": run.check_name,
            "head_sha": run.head_sha,
            "external_id": run.id,
            "status": status,
            "title": redact_outgoing(text.title),
            "summary": redact_outgoing(text.summary),
            "text": redact_outgoing(text.text),
            "conclusion": conclusion,
            "annotations": annotations,
            "buttons": (REVIEW_AGAIN,) if conclusion is not None else (),
        }
    )


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
