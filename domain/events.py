"""An event: one thing that happened, kept for ever in the ledger."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from domain.runs.run import Phase
from domain.value import Value


class EventType(StrEnum):
    """Dot-namespaced event types that are emitted today."""

    run_admitted = "run.admitted"
    run_started = "run.started"
    run_waiting = "run.waiting"
    run_resumed = "run.resumed"
    run_completed = "run.completed"
    run_failed = "run.failed"
    run_cancelled = "run.cancelled"
    phase_entered = "phase.entered"
    phase_completed = "phase.completed"
    phase_bounced = "loop.phase_bounce"
    agent_iterated = "agent.iteration"  # a model answered a turn of an agent, or a question
    tool_executed = "tool.executed"
    test_failed = "test.failed"
    finding_detected = "finding.detected"
    checkpoint_created = "checkpoint.created"
    checkpoint_failed = "checkpoint.failed"  # an agent's work could not be kept
    permission_refused = "permission.refused"
    budget_reserved = "budget.reserved"
    budget_settled = "budget.settled"
    budget_refused = "budget.refused"
    budget_granted = "budget.granted"
    budget_half = "budget.half"  # of a phase or a run is spent or reserved
    gate_requested = "gate.requested"
    gate_approved = "gate.approved"
    gate_rejected = "gate.rejected"
    gate_expired = "gate.expired"
    gate_escalated = "gate.escalated"
    gate_voided = "gate.voided"
    gate_delegated = "gate.delegated"
    gate_contested = "gate.contested"  # an answer that came after the decision
    breaker_warning = "breaker.warning"
    breaker_tripped = "breaker.tripped"
    breaker_trial = "breaker.trial"
    breaker_closed = "breaker.closed"
    guard_tripped = "guard.tripped"
    ladder_changed = "ladder.changed"
    ladder_acted = "ladder.acted"  # an automatic action, with the level and the rule that allowed it
    ladder_refused = "ladder.refused"  # GitHub did not take an automatic action
    ladder_announced = "ladder.announced"  # an announced automatic action, which people can stop
    ladder_stopped = "ladder.stopped"  # a person, or a merge queue, stopped it
    feedback_dismissed = "feedback.dismissed"
    feedback_undismissed = "feedback.undismissed"
    feedback_disputed = "feedback.disputed"  # who may not dismiss it says that a finding is wrong
    feedback_confirmed = "feedback.confirmed"
    feedback_replied = "feedback.replied"  # to a finding, in a person's own words
    feedback_taken_up = "feedback.taken_up"  # a commented finding is gone, and nobody dismissed it
    feedback_gap = "feedback.gap"  # a reviewer's comment on a line without a finding of Forge
    feedback_reacted = "feedback.reacted"  # a thumb on the comment of a finding, by someone who may teach
    memory_stored = "memory.stored"
    memory_recalled = "memory.recalled"  # an agent got memories
    memory_archived = "memory.archived"
    memory_edited = "memory.edited"  # by a person at the command line, with the former text
    learning_stored = "learning.stored"
    learning_merged = "learning.merged"  # it was known already
    learning_refused = "learning.refused"
    reflected = "reflection.ended"  # even without a result
    consolidated = "consolidation.ended"
    paused = "safety.paused"  # a repository, by an admin
    unpaused = "safety.unpaused"
    ok_given = "safety.ok_given"  # for a stranger's head
    feedback_missed = "feedback.missed"
    feedback_merged = "feedback.merged"  # a pull request with a verdict was merged, by whomever
    feedback_decided = "feedback.decided"  # a person merged a pull request, with or against the verdict
    delivery_failed = "delivery.failed"  # what a webhook asked for could not be done
    deployment_moved = "deployment.moved"  # to another state or step
    problem_found = "production.problem"  # monitoring told of a problem that Forge did not know
    problem_issue_opened = "production.issue_opened"
    problem_held_deployment = "production.held"  # monitoring asked a deployment under way to hold
    problem_solved = "production.solved"  # a pull request was merged that closes the issue about it
    feedback_token_created = "production.token_created"
    feedback_token_revoked = "production.token_revoked"
    halted = "safety.halted"
    resumed = "safety.resumed"


class Event(Value):
    """One row of the ledger.

    :param trace: the run it belongs to.
    :param duration: seconds, where something took time.
    :param cost: USD, where something cost money.
    """

    id: str
    trace: str
    time: datetime
    source: str
    type: EventType
    phase: Phase | None = None
    payload: dict[str, Any] = {}
    tokens: int = 0
    cost: float = 0.0
    duration: float | None = None
