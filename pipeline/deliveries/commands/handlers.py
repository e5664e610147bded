"""Maps each verb to the function that executes it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from domain.verbs import Verb
from pipeline.deliveries.commands import (
    answers,
    automation,
    cost,
    deployments,
    feedback,
    findings,
    memories,
    pause,
    places,
    runs,
    show,
)
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.gates import GateReply, answer_gate

Handler = Callable[[CommandContext, Any], Awaitable[str | GateReply]]
"""Executes a command, of the type its verb has; the reply. May be called again after a crash: its steps are kept."""

HANDLERS: Mapping[Verb, Handler] = {
    Verb.help: show.show_help,
    Verb.status: show.show_status,
    Verb.cost: cost.show_cost,
    Verb.view: show.show_gate,
    Verb.history: places.show_history,
    Verb.diff: places.show_diff,
    Verb.suggest: places.suggest,
    Verb.level: automation.answer_level,
    Verb.missed: automation.report_miss,
    Verb.why: findings.explain_why,
    Verb.explain: answers.explain,
    Verb.dismiss: feedback.answer_feedback,
    Verb.undismiss: findings.undismiss,
    Verb.confirm: feedback.answer_feedback,
    Verb.fix: answers.carry_out,
    Verb.ask: answers.ask,
    Verb.do: answers.carry_out,
    Verb.mend: answers.carry_out,
    Verb.update: answers.carry_out,
    Verb.address: answers.address,
    Verb.remember: memories.remember_text,
    Verb.forget: memories.forget,
    Verb.review: runs.review,
    Verb.test: runs.test,
    Verb.run: runs.run,
    Verb.plan: runs.plan,
    Verb.retry: runs.retry,
    Verb.resume: runs.resume,
    Verb.cancel: runs.cancel,
    Verb.abort: runs.cancel,
    Verb.more: answer_gate,
    Verb.approve: answer_gate,
    Verb.reject: answer_gate,
    Verb.delegate: answer_gate,
    Verb.accept: answer_gate,
    Verb.rollback: deployments.roll_back,
    Verb.deploy: deployments.deploy,
    Verb.pause: pause.pause,
    Verb.unpause: pause.unpause,
    Verb.describe: answers.read_change,
    Verb.walkthrough: answers.read_change,
    Verb.tests: answers.carry_out,
    Verb.changelog: answers.carry_out,
}
