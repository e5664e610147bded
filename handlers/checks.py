"""Checks, statuses and workflows: buttons of GitHub and on our own checks, what has ended, and merge queues."""

import re
from collections.abc import Mapping
from typing import Any

from domain import commands
from domain.commands import AnyCommand, Ignored
from domain.deployments.deployment import CHECK_ID_PREFIX as DEPLOYMENT_PREFIX
from domain.deployments.deployment import Wish
from domain.gates import BUTTONS, CHECK_ID_PREFIX, Choice
from domain.github.checks import TESTING_EVENTS
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
    """A button of a check that is ours; see :func:`handlers.translate`."""
    event = _RunEvent.model_validate(payload)
    check = event.check_run
    if event.action not in {"rerequested", "requested_action"}:
        return Ignored(reason="action_not_used")
    deployment = (check.external_id or "").partition(DEPLOYMENT_PREFIX)[2]
    gate = (check.external_id or "").partition(CHECK_ID_PREFIX)[2]
    pressed = None if event.requested_action is None else event.requested_action.identifier
    if not (deployment or gate) and event.action == "requested_action" and pressed not in {None, "review"}:
        return Ignored(reason="unknown_button")  # which one it was GitHub may leave out, and these checks have one
    ignored = _ignore(event, check, app_id)
    if ignored is not None:
        return ignored
    if deployment:
        return _handle_deployment_button(event, deployment, pressed)
    if gate:
        return _handle_gate_button(event, gate, pressed)
    return _build_rerun(event, check, Trigger[event.action])


def handle_suite(payload: Mapping[str, Any], app_id: int) -> AnyCommand | Ignored:
    """See :func:`handlers.translate`. A requested suite needs nothing: the pull request's own event starts the run."""
    event = _SuiteEvent.model_validate(payload)
    suite = event.check_suite
    if event.action == "completed":  # each App has a suite of its own on a head, and each workflow run, too
        if suite.app.id == app_id:
            return Ignored(reason="own_suite")
        return commands.ChecksEnded(repository=event.to_ref(), head_sha=suite.head_sha)
    if event.action != "rerequested":
        return Ignored(reason="action_not_used")
    return _ignore(event, suite, app_id) or _build_rerun(event, suite, Trigger.rerequested)


def _ignore(event: RepositoryEvent, check: _Check, app_id: int) -> Ignored | None:
    """Why a button does nothing, whichever it is."""
    if check.app.id != app_id:
        return Ignored(reason="check_of_another_app")
    return Ignored(reason="sent_by_an_app") if event.sender.as_sender().is_app else None


def _handle_gate_button(event: _RunEvent, gate: str, pressed: str | None) -> AnyCommand | Ignored:
    """A button of a gate's check. Running the check again decides nothing; it shows the gate's state."""
    pressed = pressed or Choice.view.value
    if pressed not in BUTTONS:
        return Ignored(reason="unknown_button")
    return commands.DecideGate(
        repository=event.to_ref(),
        gate_id=gate,
        choice=Choice(pressed),
        head_sha=event.check_run.head_sha,
        sender=event.sender.as_sender(),
    )


def _handle_deployment_button(event: _RunEvent, run_id: str, pressed: str | None) -> AnyCommand | Ignored:
    """A button of a deployment's check. Running the check again means nothing: `/forge deploy ENV` deploys again."""
    if pressed is None:
        return Ignored(reason="incomplete_payload" if event.action == "requested_action" else "unknown_button")
    if pressed not in set(Wish):
        return Ignored(reason="unknown_button")
    return commands.SteerDeployment(
        repository=event.to_ref(), run_id=run_id, wish=Wish(pressed), sender=event.sender.as_sender()
    )


def _build_rerun(event: RepositoryEvent, check: _Check, trigger: Trigger) -> commands.ReviewCheckedHead:
    return commands.ReviewCheckedHead(
        repository=event.to_ref(),
        head_sha=check.head_sha,
        run_id=check.external_id or None,
        trigger=trigger,
        sender=event.sender.as_sender(),
    )


class _StatusEvent(RepositoryEvent):
    sha: Sha
    state: str


def handle_status(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """A commit status, as older services report: one that is not pending any more has ended."""
    event = _StatusEvent.model_validate(payload)
    if event.state == "pending":
        return Ignored(reason="status_pending")
    return commands.ChecksEnded(repository=event.to_ref(), head_sha=event.sha)


class _Workflow(View):
    head_sha: Sha
    event: str


class _WorkflowEvent(RepositoryEvent):
    workflow_run: _Workflow


def handle_workflow_run(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """A workflow run: one that tests a head has ended."""
    event = _WorkflowEvent.model_validate(payload)
    if event.action != "completed":
        return Ignored(reason="action_not_used")
    if event.workflow_run.event not in TESTING_EVENTS:
        return Ignored(reason="workflow_tests_no_head")
    return commands.ChecksEnded(repository=event.to_ref(), head_sha=event.workflow_run.head_sha)


_QUEUED = re.compile(r"(?:^|/)pr-(\d{1,9})-[0-9a-f]{7,64}$")  # refs/heads/gh-readonly-queue/BASE/pr-NUMBER-SHA


class _Group(View):
    head_sha: Sha
    head_ref: str
    base_ref: str = ""


class _GroupEvent(RepositoryEvent):
    merge_group: _Group


def handle_merge_group(payload: Mapping[str, Any], _app_id: int) -> AnyCommand | Ignored:
    """Our check must also report on a merge queue's temporary head, or the queue waits for ever."""
    event = _GroupEvent.model_validate(payload)
    if event.action != "checks_requested":
        return Ignored(reason="action_not_used")
    queued = _QUEUED.search(event.merge_group.head_ref)
    if queued is None:
        return Ignored(reason="unknown_merge_group")
    return commands.ReportMergeGroup(
        repository=event.to_ref(),
        number=int(queued[1]),
        head_sha=event.merge_group.head_sha,
        base_ref=event.merge_group.base_ref.removeprefix("refs/heads/"),
        sender=event.sender.as_sender(),
    )
