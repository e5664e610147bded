"""The planning phase of an issue's run: has one plan made on the code as it was, and posts it."""

from collections.abc import Sequence

from agents.coding.planner import build_agent, build_assignment
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.loop.loop import Done, Stopped, Stuck, run_agent
from domain.config.configuration import Configuration
from domain.runs.earlier_tests import Baseline
from domain.runs.plan import Plan, Planned, RatedPlan
from domain.runs.run import Phase, ReasonCode, RunState, Trigger
from memory.runs import checkpoints, model_answers
from messages import plan as plan_texts
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.baseline import establish_baseline
from pipeline.issue.issue_input import IssueRunInput, PlannedIssue, load_snapshot
from pipeline.issue.status_comment import RunEnd, end_unfinished, end_without_model
from pipeline.model_calls.budgeted import AgentSteps, BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.memories import RecallTopic
from pipeline.run_context import RunContext
from safety.guards import TaskKind
from safety.plan_risk import rate_plan


async def run_planner(
    context: RunContext, issue: IssueRunInput, baseline: Baseline | None, model: LanguageModel
) -> Done[Planned] | Stuck | Stopped:
    """A plan, or questions."""
    snapshot = await run_outside_journal(load_snapshot, context)
    never_send = issue.configuration.review.never_send
    agent = build_agent(snapshot, never_send)
    assignment = build_assignment(issue.task, baseline, says_words=not never_send)
    topic = RecallTopic(f"{issue.task.title}\n{issue.task.issue.text}")
    task = GuardedTask("plan ", TaskKind.research)
    calls = BudgetedCalls(context, Phase.planning, issue.configuration, topic, task)
    return await run_agent(agent, AgentSteps(calls, agent, assignment, model))


async def make_plan(context: RunContext, issue: IssueRunInput) -> PlannedIssue | RunEnd:
    """The issue with its plan, which is made once; or how the run ends without one.

    :raises WaitingForGate: the tests of the base show nothing, and nobody said yet whether to go on.
    """
    baseline = await establish_baseline(context, issue)
    if isinstance(baseline, RunEnd):
        return baseline
    plan = await context.journal.step("is it planned", load_plan, context)
    if plan is not None:
        return PlannedIssue(issue, plan, baseline)
    made = issue.kept or await _make_plan(context, issue, baseline)
    if isinstance(made, RunEnd):
        return made
    plan = await context.journal.step("keep the plan", save_plan, context, issue.configuration, made)
    return PlannedIssue(issue, plan, baseline)


async def _make_plan(context: RunContext, issue: IssueRunInput, baseline: Baseline | None) -> Plan | RunEnd:
    """The plan, or how the run ends without one."""
    model = context.services.models.choose(ModelTier.strong)
    if isinstance(model, Unusable):
        return end_without_model(model.reason)
    match await run_planner(context, issue, baseline, model):
        case Done(Planned(plan=Plan() as plan)):
            return plan
        case Done(Planned(nothing_to_do=str() as why)):
            return await _post_nothing_to_do(context, why)
        case Done(planned):
            return await _post_questions(context, planned.questions)
        case unfinished:
            return await end_unfinished(context, unfinished)


async def _post_nothing_to_do(context: RunContext, why: str) -> RunEnd:
    plans_only = context.run.trigger is Trigger.plan
    text = plan_texts.render_nothing_to_do(why, plans_only=plans_only, spent=await context.load_cost())
    await context.journal.step("post that there is nothing to do", context.status.post, "nothing to do", text)
    return RunEnd(RunState.completed, ReasonCode.unchanged, plan_texts.NOTHING_TO_DO)


async def _post_questions(context: RunContext, questions: Sequence[str]) -> RunEnd:
    """Ask people what the issue leaves open, and end the run."""
    plans_only = context.run.trigger is Trigger.plan
    text = plan_texts.render_questions(questions, plans_only=plans_only, spent=await context.load_cost())
    await context.journal.step("post the questions", _ask, context, questions, text)
    return RunEnd(RunState.completed, ReasonCode.questions, plan_texts.QUESTIONS_ASKED)


async def _ask(context: RunContext, questions: Sequence[str], text: str) -> None:
    """Post the questions, and keep them for the planner of the next run, who is to know what was answered."""
    kept = {"questions": [*questions]}
    await model_answers.keep(context.database, context.run, model_answers.QUESTION, kept, context.now())
    await context.status.post("questions", text)


async def post_plan(context: RunContext, planned: PlannedIssue) -> None:
    """Post the plan in a comment of its own."""
    await context.journal.step("post the plan", _post_comment, context, planned)


async def _post_comment(context: RunContext, planned: PlannedIssue) -> None:
    spent = await context.load_cost()
    text = plan_texts.render_comment(planned.plan, version=planned.input.version, spent=spent)
    await context.status.post("plan", text)


async def load_plan(context: RunContext) -> RatedPlan | None:
    """The plan of the run, if there is one yet."""
    return await checkpoints.load_plan(context.database, context.run)


async def save_plan(context: RunContext, configuration: Configuration, plan: Plan) -> RatedPlan:
    """Keep a plan with its risk."""
    rated = rate_plan(plan, configuration.paths)
    await checkpoints.save_plan(context.database, context.run, rated, context.now())
    return rated
