"""Asks a model about the code: an agent that reads one commit and can do nothing else, or once about a change."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from agents.llm.ask import Question
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.loop.loop import Done, Stopped, run_agent
from agents.loop.turns import CompletedTurn, Turn
from agents.review.explanations import MOST_TURNS, build_agent, build_assignment, list_places
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.runs.run import Phase
from domain.verbs import Verb
from messages import descriptions as texts
from pipeline.checkout import load_change
from pipeline.context import Services
from pipeline.durable.journal import run_outside_journal
from pipeline.model_calls.budgeted import AgentSteps, BudgetedCalls
from pipeline.run_context import RunContext
from workspace.snapshot import Snapshot

A = TypeVar("A", bound=BaseModel)


class AnswerSteps(AgentSteps):
    """The steps of the agent, paid beside the run and bounded in number."""

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        """The next turn; after the last one, that there is no more."""
        if len(past) >= MOST_TURNS:
            return Turn(key=self.assignment.key, problem=f"The model looked {MOST_TURNS} times and gave no answer.")
        agent, name = self.agent, self._name_turn(past)
        return await self.calls.take_turn_outside_run(
            name, self.assignment, past, agent.schema, agent.tools, self.model
        )


@dataclass(frozen=True)
class AskedQuestion:
    """A question of a person.

    :param key: names its answer.
    :param words: untrusted Markdown.
    :param about: lines that say what it is about; see :mod:`agents.replies`.
    :param may_still_ask: whether they may at this moment: the model takes its time (T-P15).
    """

    key: str
    words: str
    about: Sequence[str]
    may_still_ask: Callable[[], Awaitable[bool]]


def choose_reader(services: Services, configuration: Configuration) -> LanguageModel | str:
    """The model that may be shown code of a repository, or why none may, as an answer."""
    if not configuration.review.may_ask_model:
        return texts.CODE_KEPT
    model = services.models.choose(ModelTier.fast)
    return texts.report_unanswered(model.reason, was_asked=False) if isinstance(model, Unusable) else model


async def answer_question(context: RunContext, asked: AskedQuestion, configuration: Configuration) -> str:
    """The answer to a question, or why there is none."""
    model = choose_reader(context.services, configuration)
    if isinstance(model, str):
        return model
    run, never = context.run, configuration.review.never_send
    mirror = await run_outside_journal(context.fetch_mirror)
    snapshot = await run_outside_journal(Snapshot.of, mirror, run.head_sha)
    agent = build_agent(snapshot, never)
    change = None if run.is_of_issue else await run_outside_journal(load_change, mirror, run)
    assignment = build_assignment(asked.key, asked.words, asked.about, change, never)
    calls = BudgetedCalls(context, Phase.planning, configuration)
    done = await run_agent(agent, AnswerSteps(calls, agent, assignment, model))
    if not isinstance(done, Done):
        was_asked = not (isinstance(done, Stopped) and done.refusal is not None)
        return texts.report_unanswered(done.why, was_asked=was_asked)
    if not await context.journal.step("is it still allowed", asked.may_still_ask):
        return texts.report_lost_permission(Verb.ask)
    places = [(each.path, each.line) for each in list_places(done.value, done.past, change, snapshot, never)]
    branch = run.base_ref if run.is_of_issue else ""
    return texts.render_answer(done.value.answer, places, run.head_sha, branch)


async def ask_about_change(
    context: RunContext, configuration: Configuration, build: Callable[[], Awaitable[Question]], schema: type[A]
) -> A | str:
    """What the model answers, or why there is nothing, as an answer.

    :param build: the question, from what is local; only called where a model may be asked.
    """
    model = choose_reader(context.services, configuration)
    if isinstance(model, str):
        return model
    question = await run_outside_journal(build)
    name = digest(question.instructions, question.content, model.name)
    calls = BudgetedCalls(context, Phase.planning, configuration)
    answer = await calls.ask_outside_run(name, question, schema, model)
    if answer.value is None:
        return texts.report_unanswered(answer.problem or "", was_asked=answer.refusal is None)
    return schema.model_validate(answer.value)
