"""Runs the planner on the code as it was when the run was admitted."""

from agents.coding.planner import build_agent, build_assignment
from agents.llm.models import LanguageModel
from agents.loop.loop import Done, Stopped, Stuck, run_agent
from domain.runs.baseline import Baseline
from domain.runs.plan import Planned
from domain.runs.run import Phase
from domain.text.redaction import redact_outgoing
from pipeline.durable.steps import run_outside_journal
from pipeline.issue.issue_input import IssueRunInput, load_snapshot
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.memories import RecallTopic
from pipeline.run_context import RunContext
from safety.guards import TaskKind


async def run_planner(
    context: RunContext, issue: IssueRunInput, baseline: Baseline | None, model: LanguageModel
) -> Done[Planned] | Stuck | Stopped:
    """A plan, or questions."""
    snapshot = await run_outside_journal(load_snapshot, context)
    never_send = issue.configuration.review.never_send
    agent = build_agent(snapshot, never_send, redact_outgoing)
    assignment = build_assignment(issue.task, redact_outgoing, baseline, says_words=not never_send)
    topic = RecallTopic(f"{issue.task.title}\n{issue.task.issue.text}")
    task = GuardedTask("plan ", TaskKind.research)
    calls = BudgetedCalls(context, Phase.planning, issue.configuration, topic, task)
    return await run_agent(agent, AgentSteps(calls, agent, assignment, model))
