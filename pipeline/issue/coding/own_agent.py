"""Has Forge's own implementer carry out a piece of a plan in a draft; in interactive mode it may run commands there."""

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from agents.coding.implementer import ImplementationTask, OnDraft, build_agent, build_assignment, carry_over
from agents.llm.models import LanguageModel
from agents.loop.loop import Done, Stopped, Stuck, run_agent
from agents.loop.tools.edits import could_not_run, make_run_command
from agents.loop.tools.tool import Tool
from domain.config.configuration import Configuration
from domain.runs.patches import Worked
from domain.runs.plan import LONGEST_WORDS
from domain.runs.run import Phase
from pipeline.issue.coding.command_shadow import CommandShadow
from pipeline.issue.coding.draft_checks import DraftChecks
from pipeline.issue.coding.work_item import WorkItem
from pipeline.model_calls.budgeted import AgentSteps, BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.memories import RecallTopic
from pipeline.run_context import RunContext
from workspace.draft import Draft
from workspace.sandbox.sandbox import LANDLOCK

_NO_SANDBOX = "Interactive mode needs sandbox level 2; at level {} the agent worked without commands."
_NONE_ALLOWED = "Interactive mode needs `execution.commands`; the agent worked without commands."
_FAILED = "Commands could not be run for this in interactive mode; the agent worked without them."


async def work_alone(
    context: RunContext,
    configuration: Configuration,
    item: WorkItem,
    draft: Draft,
    model: LanguageModel,
    run_command: Tool | None = None,
) -> Done[Worked] | Stuck | Stopped:
    """Work on one piece; what changes is in the draft afterwards.

    :param run_command: in interactive mode.
    :raises WaitingForGate: if a person has to decide first.
    """
    never_send = configuration.review.never_send
    checks = DraftChecks(context, configuration, item.task.baseline)
    test = checks.test if checks.can_test else None
    more = () if run_command is None else (run_command,)
    agent = build_agent(draft, never_send, test, checks.check, more)
    assignment = build_assignment(item.key, item.task, says_words=not never_send, is_interactive=bool(more))
    steps = AgentSteps(build_calls(context, configuration, item), agent, assignment, model)
    return await run_agent(agent, OnDraft(steps, draft, await carry_over(draft, item.left)))


async def work_with_commands(
    context: RunContext, configuration: Configuration, item: WorkItem, draft: Draft, model: LanguageModel
) -> Done[Worked] | Stuck | Stopped:
    """The same in interactive mode. Where no command can run, it works without, and says so.

    :raises WaitingForGate: if a person has to decide first.
    """
    work = partial(work_alone, context, configuration, item, draft, model)
    level, allowed = context.services.toolbox.sandbox.strongest().level, configuration.commands_of_agents
    if level < LANDLOCK:
        return add_notice(await work(), _NO_SANDBOX.format(level))
    if not allowed:
        return add_notice(await work(), _NONE_ALLOWED)
    async with AsyncExitStack() as stack:
        shadow = CommandShadow(context, configuration, draft, stack)
        says_words = not configuration.review.never_send
        done = await work(make_run_command(shadow.run, allowed, says_words=says_words))
    return add_notice(done, _FAILED) if isinstance(done, Done) and could_not_run(done.past) else done


def add_notice(done: Done[Worked] | Stuck | Stopped, notice: str) -> Done[Worked] | Stuck | Stopped:
    """What an agent handed in, with a notice before its summary."""
    if not isinstance(done, Done):
        return done
    summary = f"{notice} {done.value.summary}"[:LONGEST_WORDS]
    return replace(done, value=done.value.model_copy(update={"summary": summary}))


def build_calls(context: RunContext, configuration: Configuration, item: WorkItem) -> BudgetedCalls:
    """The calls of models for a piece of work, whoever makes them."""
    task = GuardedTask(f"{item.key} ", item.kind)
    return BudgetedCalls(context, Phase.implementation, configuration, _build_topic(item.task), task)


def _build_topic(task: ImplementationTask) -> RecallTopic:
    """The task and its files, and what is to be fixed."""
    words = [] if task.mine is None else [task.mine.title, task.mine.description]
    files = () if task.mine is None else task.mine.files
    wrong = [f"{each.rule} {each.message}" for each in task.to_fix]
    return RecallTopic("\n".join([*words, *wrong]), (*files, *(each.path for each in task.to_fix if each.path)))
