"""Asks, beside a run, what could be learned from it, and keeps the answer.

Each reflection is a durable workflow in a queue of its own: it delays no run, fails none and changes no verdict. What
stops it is recorded in the ledger; nobody is asked.
"""

import asyncio

import structlog
from dbos._error import DBOSUnexpectedStepError  # not exported

from agents import reflection
from agents.llm.ask import ModelAnswer, ask
from agents.llm.models import ModelTier, Unusable
from agents.reflection import Reflection, ReflectionQuestion
from domain.config.configuration import Configuration
from domain.errors import ForgeError, Superseded
from domain.gates import digest
from domain.runs.run import Phase, Run
from domain.text.redaction import PROCESS_REDACTOR, redact_outgoing
from memory import reservations
from memory.learned import memories, reflections
from memory.runs import model_answers
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.learning.reflection_input import ReflectionInput, load_input
from pipeline.model_calls.budget import build_side_budget
from safety.learning_screening import Moment, screen_learnings

log = structlog.get_logger(__name__)


class ReflectionRun:
    """One reflection on one run.

    :param moment: a :class:`~safety.learning_screening.Moment`, as it was queued.
    """

    def __init__(self, services: Services, run: Run, moment: str, workflow_id: str) -> None:
        self._services = services
        self._run = run
        self._moment = Moment(moment)
        self._journal = WorkflowJournal(services, workflow_id)

    async def execute(self) -> str:
        """Reflect, and keep what is worth it; the outcome in a few words."""
        try:
            return await self._execute()
        except Superseded:
            return await self._record_nothing("Something else owns its issue or pull request by now.")
        except ForgeError as error:
            log.warning("reflection.failed", run=self._run.id, error=str(error))
            return await self._record_nothing(error.message)
        except DBOSUnexpectedStepError:
            raise
        except Exception:
            log.exception("reflection.unexpected", run=self._run.id)
            return "failed"

    async def _execute(self) -> str:
        known = await self._journal.step("what is known", load_input, self._services, self._run, self._moment)
        if known.question is None:
            return known.code
        answer = await self._journal.step("reflect", self._ask_model, known.question, known.configuration)
        if answer.value is None:
            return await self._record_nothing(answer.problem or "There was no answer.")
        kept = await self._journal.step("keep what is worth it", self._keep, known.question, answer, known)
        return f"{kept} kept"

    async def _record_nothing(self, why: str) -> str:
        try:
            await self._journal.step("leave it", self._record_reason, why)
        except ForgeError as error:
            log.warning("reflection.unnoted", run=self._run.id, error=str(error))
        return "not asked"

    # --- steps -------------------------------------------------------------------------------------------------

    async def _ask_model(self, question: ReflectionQuestion, configuration: Configuration) -> ModelAnswer:
        """The model's answer, or the one from before this process died."""
        services = self._services
        model = services.models.choose(ModelTier.fast)
        if isinstance(model, Unusable):
            return ModelAnswer(key=question.key, problem=model.reason)
        name = digest(model.name, question.instructions, question.content, question.key)
        known = await model_answers.find(services.database, self._run, name)
        if known is not None:
            return ModelAnswer.model_validate(known)

        async def keep(answer: ModelAnswer) -> None:
            value = _redact(answer).model_dump(mode="json")
            await model_answers.keep(services.database, self._run, name, value, services.clock.now())

        money = build_side_budget(services, self._run, configuration)
        return _redact(await ask(question, Reflection, model, money, keep=keep))

    async def _keep(self, question: ReflectionQuestion, answer: ModelAnswer, known: ReflectionInput) -> int:
        """How many memories were proposed."""
        await self._close_reservations(question.key)
        database, run, now = self._services.database, self._run, self._services.clock.now()
        there = await memories.list_known(database, run.repository.id)
        proposed = reflection.read_learnings(answer, question)
        decided = await asyncio.to_thread(screen_learnings, proposed, question.shown, there, most=known.most)
        return await reflections.keep(database, run, self._moment.value, decided, "", now)

    async def _record_reason(self, why: str) -> None:
        await self._close_reservations(reflection.build_key(self._moment))
        await reflections.keep(
            self._services.database, self._run, self._moment.value, (), redact_outgoing(why), self._services.clock.now()
        )

    async def _close_reservations(self, step: str) -> None:
        """Count what an earlier attempt left reserved as spent."""
        database, now = self._services.database, self._services.clock.now()
        await reservations.close(database, self._run.id, now, in_phase=Phase.reflection.value, at_step=step)


def _redact(answer: ModelAnswer) -> ModelAnswer:
    """The answer without secrets of this process."""
    return ModelAnswer.model_validate(PROCESS_REDACTOR.redact_values(answer.model_dump(mode="json")))
