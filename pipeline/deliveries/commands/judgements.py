"""Executes what people say about findings of giving up: ``legitimate``, ``violation``, ``needs-review``, ``whitelist``.

Where the gate ``false_positive`` waits for just these findings, the answer decides it, by its rules.
"""

from collections.abc import Sequence

from domain.gates import Choice, Gate
from domain.review.avoidance import RULE
from domain.review.findings import Finding
from domain.review.judgements import JudgementKind, WhitelistScope
from domain.slash.commands import Judge, Whitelist
from domain.slash.verbs import Verb
from memory.findings import dismissals, findings, judgements, whitelists
from memory.gates import gates
from memory.runs import checkpoints
from messages import commands as command_texts
from messages import judgements as texts
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import answer_no_finding, find_meant
from pipeline.deliveries.commands.gate_roles import find_gate_refusal
from pipeline.gates.ask import list_gates
from pipeline.gates.decide import GateAnswer, decide_gate
from pipeline.verdicts.judging import Judging, make_cause
from safety.authorization import RefusalCode, refuse_role
from safety.avoidance_gates import may_overrule

_GATE = "false_positive"
_CHOICES = {
    Verb.legitimate: Choice.legitimate,
    Verb.whitelist: Choice.legitimate,
    Verb.violation: Choice.violation,
}
_REPOSITORY_ROLE = "maintain"
"""A whitelist of the whole repository takes from maintainers what ``destructive`` asks them."""


async def judge(context: CommandContext, asked: Judge) -> str:
    """``/forge legitimate``, ``violation`` and ``needs-review``"""
    return await context.step_with_permission(asked.verb, asked, judge_in_step, context, asked)


async def whitelist(context: CommandContext, asked: Whitelist) -> str:
    """``/forge whitelist``"""
    return await context.step_with_permission(asked.verb, asked, _whitelist, context, asked)


async def judge_in_step(context: CommandContext, asked: Judge, found: Sequence[Finding] = ()) -> str:
    """The same within a step that asked for permission, or where a gate does.

    :param found: the findings of the gate, where it is answered itself.
    """
    case = await _build_case(context, asked, asked.justification or "", found)
    if isinstance(case, str):
        return case
    if not case.words and asked.verb is not Verb.needs_review:
        return texts.ask_for_justification(asked.verb, case.found[0] if len(case.found) == 1 else None)
    match asked.verb:
        case Verb.legitimate:
            return await _decide(context, case, asked, may_report=True) or await _confirm_false_alarm(case)
        case Verb.violation:
            return await _decide(context, case, asked) or await _confirm_violation(case)
        case _:
            await case.keep(JudgementKind.needs_review)
            pull = case.pull_request
            return texts.ask_author(case.found, case.words, "" if pull.author_is_bot else pull.author_login)


async def _whitelist(context: CommandContext, asked: Whitelist) -> str:
    case = await _build_case(context, asked, asked.justification)
    if isinstance(case, str):
        return case
    scope, finding = WhitelistScope(asked.scope), case.found[0]
    if scope is WhitelistScope.repository and refuse_role(case.actor.role, _REPOSITORY_ROLE) is not None:
        return texts.refuse_scope(_REPOSITORY_ROLE, case.actor.role)
    refused = await _decide(context, case, asked)
    if refused is not None:
        return refused
    await case.count_as_false_alarm()
    where, now = (context.database, context.repository, context.number), context.services.clock.now()
    cause = f"{context.guid} {asked.verb} {finding.id}"
    listed = await whitelists.add(*where, finding, scope, context.sender, case.words, cause, now)
    return texts.confirm_whitelisting(finding, listed)


async def _build_case(
    context: CommandContext, asked: Judge | Whitelist, words: str, found: Sequence[Finding] = ()
) -> Judging | str:
    actor = await context.load_actor()
    if actor is None or actor.pull_request is None:
        return command_texts.cannot_ask(context.sender.login) if actor is None else texts.which_findings(asked.verb)
    meant = found or await find_meant(context, asked.finding)
    if asked.finding is not None and not meant:
        return await answer_no_finding(context, asked)
    meant = meant or await _list_asked(context)
    if not meant:
        return texts.which_findings(asked.verb)
    case = Judging(context.services, context.repository, actor, actor.pull_request, meant, words, context.guid)
    return await _find_obstacle(context, asked, case) or case


async def _find_obstacle(context: CommandContext, asked: Judge | Whitelist, case: Judging) -> str | None:
    """Why these findings are not judged so; None if they may be."""
    where = (context.database, context.repository.id, context.number)
    review = await checkpoints.load_latest_review(*where)
    there: set[str] = set() if review is None else {each.fingerprint for each in review.all_findings}
    said = await judgements.load_standing(*where, [each.fingerprint for each in case.found])
    known = await dismissals.find_by_fingerprint(
        context.database, context.repository, context.number, [each.fingerprint for each in case.found]
    )
    for each in case.found:
        if not each.rule.startswith(RULE):
            return texts.no_avoidance(each, asked.verb)
        if each.fingerprint not in there:
            return texts.not_there(each)
        is_known = each.fingerprint in known and not isinstance(asked, Whitelist)
        if is_known and not await _is_own(context, each):
            return command_texts.already_dismissed(each, known[each.fingerprint])
        before = said.get(each.fingerprint)
        if (
            before is not None
            and asked.verb is not Verb.violation
            and not may_overrule(before, case.actor.facts, context.sender.id)
        ):
            return texts.refuse_to_overrule(each, before)
    return None


async def _is_own(context: CommandContext, finding: Finding) -> bool:
    """Whether an execution of this command that died dismissed it."""
    where = (context.database, context.repository.id, context.number)
    cause = make_cause(context.guid, JudgementKind.legitimate, finding)
    return await judgements.is_kept(*where, finding.fingerprint, cause)


async def _list_asked(context: CommandContext) -> Sequence[Finding]:
    """The findings that the gate asks about, if it waits."""
    known = await list_gates(context.services, context.repository, context.number)
    asking = next((each for each in reversed(known) if each.name == _GATE and _is_open(context, each)), None)
    where = (context.database, context.repository.id, context.number)
    return () if asking is None else await findings.load_by_fingerprint(*where, asking.request.findings)


def _is_open(context: CommandContext, gate: Gate) -> bool:
    """Whether it waits, or an execution of this command that died decided it."""
    return gate.is_waiting or (gate.decision is not None and gate.decision.cause == context.guid)


async def _decide(
    context: CommandContext, case: Judging, asked: Judge | Whitelist, *, may_report: bool = False
) -> str | None:
    """Decide the gate if it asks about nothing else; why the findings are not judged, or None if they may be.

    :param may_report: whether who may not decide can say so all the same, so that others are asked.
    """
    judged = {each.fingerprint for each in case.found}
    known = await list_gates(context.services, context.repository, context.number)
    gate = next(
        (g for g in known if g.name == _GATE and _is_open(context, g) and {*g.request.findings} <= judged), None
    )
    if gate is not None:
        answer = GateAnswer(context.sender, _CHOICES[asked.verb], case.words, None, context.comment.written_at)
        return await _answer_gate(context, gate, answer)
    refused = await find_gate_refusal(context, _GATE, asked)
    if refused is None:
        return None
    if (
        refused.code is not RefusalCode.second
        and may_report
        and (case.actor.facts.is_author or refuse_role(case.actor.role, "triage") is None)
    ):
        return await _report(case)
    await context.record_refusal(refused)
    return command_texts.refuse(refused.model_copy(update={"verb": asked.verb}), context.sender.login)


async def _report(case: Judging) -> str:
    """Have others asked about what people are asked about in any case, or what blocks; nothing else begins to."""
    if not await case.matters():
        return texts.nothing_to_report(case.found)
    await case.keep(JudgementKind.reported)
    return texts.confirm_report(case.found)


async def _answer_gate(context: CommandContext, gate: Gate, answer: GateAnswer) -> str | None:
    reply = await decide_gate(context.services, context.guid, gate, answer)
    now = await gates.get(context.database, gate.id)
    is_decided = now is not None and now.decision is not None and now.decision.cause == context.guid
    return None if is_decided else reply.text


async def _confirm_false_alarm(case: Judging) -> str:
    await case.count_as_false_alarm()
    return texts.confirm_legitimate(case.found, case.words) + await _hint(case)


async def _confirm_violation(case: Judging) -> str:
    await case.keep(JudgementKind.violation)
    return texts.confirm_violation(case.found) + await _hint(case)


async def _hint(case: Judging) -> str:
    """What has to be done for it to count, where no verdict can change any more."""
    return f" {texts.look_again()}" if await case.is_run_over() else ""
