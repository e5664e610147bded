"""Asks a model one question about a pull request beside its run: paid by the phase, asking nobody, paid once."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

from agents.llm.ask import Question
from agents.llm.models import ModelTier, Unusable
from domain.config.configuration import Configuration
from domain.gates import digest
from domain.runs.run import Phase
from messages import descriptions as texts
from pipeline.durable.steps import run_outside_journal
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import RunContext

A = TypeVar("A", bound=BaseModel)


async def ask_about_change(
    context: RunContext, configuration: Configuration, build: Callable[[], Awaitable[Question]], schema: type[A]
) -> A | str:
    """What the model answers, or why there is nothing, as an answer.

    :param build: the question, from what is local; only called where a model may be asked.
    """
    if not configuration.review.may_ask_model:
        return texts.CODE_KEPT
    model = context.services.models.choose(ModelTier.fast)
    if isinstance(model, Unusable):
        return texts.report_unanswered(model.reason, was_asked=False)
    question = await run_outside_journal(build)
    name = digest(question.instructions, question.content, model.name)
    calls = BudgetedCalls(context, Phase.planning, configuration)
    answer = await calls.ask_outside_run(name, question, schema, model)
    if answer.value is None:
        return texts.report_unanswered(answer.problem or "", was_asked=answer.refusal is None)
    return schema.model_validate(answer.value)
