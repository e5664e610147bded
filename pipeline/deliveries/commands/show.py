"""Executes the commands that only show something: ``help``, ``status``, ``cost``, ``view``, and ``history`` of runs."""

import itertools
from collections.abc import Mapping, Sequence

from domain.deployments.deployment import Deployment
from domain.runs.run import ReasonCode, Run, Trigger
from domain.slash import AboutGate, AskHelp, PlainCommand
from domain.verbs import HelpSubject
from memory import reservations
from memory.deployments import deployments
from memory.learned import feedback
from memory.repositories import permits
from memory.runs import checkpoints, model_answers, recoveries, runs, waits, work_checkpoints
from memory.runs.outbox import find_linked_number
from messages import changes as history_texts
from messages import checkpoints as checkpoint_texts
from messages import commands as texts
from messages import deployments as deployment_texts
from messages import gates as gate_texts
from messages import instructions as instruction_texts
from messages import plan as plan_texts
from messages import recovery as recovery_texts
from messages.commands import PastRun
from messages.instructions import OpenInstruction
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.memories import describe_proposed
from pipeline.gates.decide import find_gate
from pipeline.publishing.gate_checks import list_gates
from pipeline.publishing.instructions import Instruction, load_instructions
from pipeline.publishing.issue_comment import describe_keeping
from pipeline.verdicts.settings import find_mode


async def show_help(context: CommandContext, asked: AskHelp) -> str:
    """``/forge help``"""
    if asked.about is not None:
        return texts.explain_verb(asked.about)
    return texts.render_help(context.comment.is_pull_request, await _list_silent(context))


async def _list_silent(context: CommandContext) -> Sequence[HelpSubject]:
    """The subjects about which there is nothing here."""
    waiting = await list_gates(*context.here, waiting=True)
    review = await checkpoints.load_latest_review(context.database, context.repository.id, context.number)
    found = review is not None and review.all_findings
    return [*([] if found else [HelpSubject.findings]), *([] if waiting else [HelpSubject.questions])]


async def show_status(context: CommandContext, _asked: PlainCommand) -> str:
    """``/forge status``"""
    database, repository = context.database, context.repository
    past = _leave_out(await runs.list_for_pull_request(database, repository.id, context.number))
    asked = await _render_open(context)
    last = past[0] if past and not (asked and _is_left_out(past[0])) else None
    until = None if last is None else await waits.get_until(database, last.run.id)
    doing = "" if last is None else last.run.detail if not last.run.state.is_final else ""
    waiting = await list_gates(context.services, repository, context.number, waiting=True)
    gates = gate_texts.describe_waiting(waiting) if waiting else ""
    mode = "" if last is None else await _describe_mode(context, last.run)
    remark = "" if last is None else await describe_keeping(database, last.run.id)
    paused_by = await permits.find_pauser(database, repository)
    deployed = deployment_texts.render_latest(await _list_deployments(context))
    proposed = await describe_proposed(context)
    if (deployed or asked) and last is None and paused_by is None:
        status = ""
    else:
        review = None if last is None else await checkpoints.load_review(database, last.run)
        status = texts.render_status(last, doing, until, paused_by, gates, mode, remark, review)
    return "\n\n".join(part for part in (asked, status, deployed, proposed) if part)


async def _render_open(context: CommandContext) -> str:
    """The instructions that are not done, oldest first."""
    every = await _list_instructions(context)
    waiting = [each for each in reversed(every) if not each.run.state.is_final]
    asked = await load_instructions(context.database, [each.run.id for each in every] if waiting else [])
    shown = [await _describe_open(context, each, every, asked) for each in waiting]
    return instruction_texts.render_open(shown, context.services.clock.now())


async def _describe_open(
    context: CommandContext, past: PastRun, every: Sequence[PastRun], asked: Mapping[str, Instruction]
) -> OpenInstruction:
    own = asked[past.run.id]
    newest, _ = await model_answers.load_newest(context.database, past.run.id, 1)
    beside = [each.run for each in every if own.is_of_others and asked[each.run.id].series == own.series]
    done = (sum(each.state.is_final for each in beside), len(beside)) if beside else None
    return OpenInstruction(past.run, own.short_name, own.login, past.began, newest[-1] if newest else None, done)


def _is_left_out(past: PastRun) -> bool:
    """Whether it is a review that nobody asked for and the configuration leaves out."""
    return past.run.reason is ReasonCode.excluded and past.run.trigger is Trigger.pull_request


def _leave_out(past: Sequence[PastRun]) -> Sequence[PastRun]:
    """Without such reviews, where anything else ran."""
    return [each for each in past if not _is_left_out(each)] or past


async def _list_deployments(context: CommandContext, linked: int | None = None) -> Sequence[Deployment]:
    """:param linked: another number whose deployments belong here, too."""
    numbers = [context.number, *([] if linked is None else [linked])]
    found = [await deployments.list_for_number(context.database, context.repository.id, each) for each in numbers]
    return sorted(itertools.chain(*found), key=lambda each: each.run_id, reverse=True)


async def _describe_mode(context: CommandContext, run: Run) -> str:
    mode = await find_mode(context.database, run)
    return checkpoint_texts.describe_mode(mode, is_asked=run.mode is not None)


async def render_past_runs(context: CommandContext) -> str:
    """Every run, also those of the issue's pull request or the pull request's issue, and what the newest here tried."""
    past = await runs.list_for_pull_request(context.database, context.repository.id, context.number)
    linked = await find_linked_number(context.database, past[0].run) if past else None
    beside: Sequence[PastRun] = ()
    if linked is not None:
        beside = await runs.list_for_pull_request(context.database, context.repository.id, linked)
    deployed = deployment_texts.render_past(await _list_deployments(context, linked))
    if not past:
        return deployed or texts.render_history(past)
    newest = past[0].run.id
    tried, count = await model_answers.load_newest(context.database, newest, history_texts.MOST)
    kept = await work_checkpoints.list_of_run(context.database, newest)
    everything = _leave_out([*past, *beside, *await _list_instructions(context)])
    listed = sorted(everything, key=lambda each: each.run.id, reverse=True)
    shown = [each.run.id for each in listed[: texts.MOST_LINES]]
    asked = await load_instructions(context.database, shown)
    named = {run_id: each.short_name for run_id, each in asked.items()}
    parts = (
        texts.render_history(listed, await checkpoints.load_reviews(context.database, shown), named),
        history_texts.render_turns(newest, tried, count),
        checkpoint_texts.render_timeline(newest, kept),
        deployed,
    )
    return "\n\n".join(part for part in parts if part)


async def _list_instructions(context: CommandContext) -> Sequence[PastRun]:
    every = await runs.list_for_pull_request(*context.rows, with_questions=True)
    return [each for each in every if each.run.trigger is Trigger.instruction]


async def show_gate(context: CommandContext, asked: AboutGate) -> str:
    """``/forge view``: a gate that waits or is named; if none waits, the last verdict."""
    name = asked.gate
    known = await list_gates(*context.here, waiting=name is None)
    if name is None and not known:
        return await _render_verdict(context)
    found = known[0] if name is None and len(known) == 1 else await find_gate(*context.here, name)
    if isinstance(found, str):
        return found
    spent = await reservations.load_cost(context.database, found.run_id)
    shown = gate_texts.render_comment(found, spent, "").rstrip()
    if found.name != recovery_texts.NAME:
        return shown
    past = await recoveries.list_of_issue(context.database, found.repository.id, found.number)
    return f"{shown}\n\n{recovery_texts.render_attempts(past)}"


async def _render_verdict(context: CommandContext) -> str:
    database, repository, number = context.database, context.repository, context.number
    if not context.comment.is_pull_request:
        return plan_texts.render_summary(await checkpoints.load_latest_plan(database, repository.id, number))
    review = await checkpoints.load_latest_review(database, repository.id, number)
    if review is None:
        return texts.render_verdict(None, {})
    everything = review.all_findings
    known = await feedback.find_dismissed(database, repository, number, [each.fingerprint for each in everything])
    dismissed = {each.id: known[each.fingerprint] for each in everything if each.fingerprint in known}
    return texts.render_verdict(review, dismissed)
