"""Check runs and suites: the re-run buttons of GitHub, the buttons on our own checks, and workflows that ended."""

from collections.abc import Mapping
from typing import Any

from domain.commands import AnyCommand, ChecksEnded, DecideGate, Ignored, ReviewCheckedHead, SteerDeployment
from domain.deployments.deployment import CHECK_ID_PREFIX as DEPLOYMENT_PREFIX
from domain.deployments.deployment import Wish
from domain.gates import BUTTONS, CHECK_ID_PREFIX, Choice
from domain.runs.run import Trigger
from handlers.payloads import Id, RepositoryEvent, Sha, View


class _App(View):
    id: Id


class _Check(View):
    head_sha: Sha
    app: _App
    external_id: str | None = None


class _Requested(View):
    identifier: str


class _RunEvent(RepositoryEvent):
    check_run: _Check
    requested_action: _Requested | None = None


class _SuiteEvent(RepositoryEvent):
    check_suite: _Check


def handle_run(payload: Mapping[str, Any], app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`."""
    event = _RunEvent.model_validate(payload)
    deployment = (event.check_run.external_id or "").partition(DEPLOYMENT_PREFIX)[2]
    if deployment and event.action in {"rerequested", "requested_action"}:
        return _handle_deployment_button(event, deployment, app_id)
    gate = (event.check_run.external_id or "").partition(CHECK_ID_PREFIX)[2]
    if gate and event.action in {"rerequested", "requested_action"}:
        return _handle_button(event, gate, app_id)
    if event.action == "rerequested":
        return _handle_rerun(event, event.check_run, app_id, Trigger.rerequested)
    if event.action != "requested_action":
        return Ignored(reason="action_not_used")
    if event.requested_action is not None and event.requested_action.identifier != "review":
        return Ignored(reason="unknown_button")  # which one it was GitHub may leave out, and these checks have one
    return _handle_rerun(event, event.check_run, app_id, Trigger.requested_action)


def handle_suite(payload: Mapping[str, Any], app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`. A requested suite needs nothing: the pull request's own event starts the run."""
    event = _SuiteEvent.model_validate(payload)
    if event.action == "completed":
        return _handle_ended(event, app_id)
    if event.action != "rerequested":
        return Ignored(reason="action_not_used")
    return _handle_rerun(event, event.check_suite, app_id, Trigger.rerequested)


def _handle_ended(event: _SuiteEvent, app_id: int) -> AnyCommand | Ignored:
    """Each App has a suite of its own on a head, and each workflow run, too."""
    if event.check_suite.app.id == app_id:
        return Ignored(reason="own_suite")
    return ChecksEnded(repository=event.to_ref(), head_sha=event.check_suite.head_sha)


def _handle_button(event: _RunEvent, gate: str, app_id: int) -> AnyCommand | Ignored:
    """A button of a gate's check. Running the check again decides nothing; it shows the gate's state."""
    sender = event.sender.as_sender()
    if event.check_run.app.id != app_id:
        return Ignored(reason="check_of_another_app")
    if sender.is_app:
        return Ignored(reason="sent_by_an_app")
    pressed = Choice.view.value if event.requested_action is None else event.requested_action.identifier
    if pressed not in BUTTONS:
        return Ignored(reason="unknown_button")
    return DecideGate(
        repository=event.to_ref(),
        gate_id=gate,
        choice=Choice(pressed),
        head_sha=event.check_run.head_sha,
        sender=sender,
    )


def _handle_deployment_button(event: _RunEvent, run_id: str, app_id: int) -> AnyCommand | Ignored:
    """A button of a deployment's check. Running the check again means nothing: `/forge deploy ENV` deploys again."""
    sender = event.sender.as_sender()
    if event.check_run.app.id != app_id:
        return Ignored(reason="check_of_another_app")
    if sender.is_app:
        return Ignored(reason="sent_by_an_app")
    if event.requested_action is None:
        return Ignored(reason="incomplete_payload" if event.action == "requested_action" else "unknown_button")
    if event.requested_action.identifier not in set(Wish):
        return Ignored(reason="unknown_button")
    wish = Wish(event.requested_action.identifier)
    return SteerDeployment(repository=event.to_ref(), run_id=run_id, wish=wish, sender=sender)


def _handle_rerun(event: RepositoryEvent, check: _Check, app_id: int, trigger: Trigger) -> AnyCommand | Ignored:
    sender = event.sender.as_sender()
    if check.app.id != app_id:
        return Ignored(reason="check_of_another_app")
    if sender.is_app:
        return Ignored(reason="sent_by_an_app")
    return ReviewCheckedHead(
        repository=event.to_ref(),
        head_sha=check.head_sha,
        run_id=check.external_id or None,
        trigger=trigger,
        sender=sender,
    )
