"""Asks, beside the runs, what could be learned from them: when they end, and at notable moments.

Each reflection is a durable workflow in a queue of its own: it delays no run, fails none and changes no verdict. What
keeps it from asking is noted in the ledger and asks nobody.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import cast

import structlog
from dbos import DBOS, EnqueueOptions
from dbos._error import DBOSUnexpectedStepError  # not exported
from pydantic import BaseModel, JsonValue

from agents import reflection
from agents.llm.ask import ModelAnswer, ask
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.reflection import Reflection, ReflectionQuestion
from domain.config.configuration import Configuration, ReadMode
from domain.errors import ForgeError, Superseded
from domain.gates import digest
from domain.globs import matches
from domain.money import Refusal
from domain.runs.next_step import SendBack
from domain.runs.run import Phase, Run, RunState
from domain.text.redaction import PROCESS_REDACTOR, redact_outgoing
from domain.verdicts import Reason
from memory.budgets import model_answers
from memory.db.engine import Connection
from memory.learned import memories, reflections
from memory.ledger import ledger
from memory.repositories import permits
from memory.reservations import reservations
from memory.reservations.call_facts import RunCallFacts
from memory.runs import checkpoints, runs
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.names import APP_VERSION, LEARNING, REFLECT
from pipeline.model_calls.guards import build_budget
from pipeline.steps import call_dbos
from pipeline.verdicts.settings import load_configuration
from safety.learning_screening import screen_learnings
from safety.reflection_triggers import OURS, Moment, ReflectionFacts, find_moments, find_obstacle, most_kept

log = structlog.get_logger(__name__)

_OVERLAP = timedelta(minutes=1)
"""How far a look at the ledger reaches back behind the last one: transactions end in another order than they began."""
_MISSED = timedelta(hours=1)
"""How far the first look of a process reaches back, for what happened while none ran."""


async def enqueue_reflection(
    services: Services, run_id: str, repository_id: int, moment: Moment = Moment.ended
) -> None:
    """Queue a reflection, if Forge reflects at all; a repeated call changes nothing."""
    if not can_reflect(services):
        return
    options: EnqueueOptions = {
        "workflow_name": REFLECT,
        "queue_name": LEARNING,
        "workflow_id": f"{run_id}/reflection {moment.value}",
        "app_version": APP_VERSION,
        "queue_partition_key": str(repository_id),
    }
    await call_dbos(partial(DBOS.enqueue_workflow_with_options_async, options, run_id, moment.value))


async def reflect_if_ended(services: Services, run: Run, outcome: str) -> str:
    """The outcome of a run's work, of which the reflection is queued if that was its end."""
    if outcome != RunState.waiting.value:
        await enqueue_reflection(services, run.id, run.repository.id)
    return outcome


def can_reflect(services: Services) -> bool:
    """Whether the operator lets Forge reflect and there is a model to ask."""
    return services.reflects and isinstance(services.models.choose(ModelTier.fast), LanguageModel)


class ReflectionSweep:
    """The look of one process for moments in runs that go on, or that people judged after they ended.

    Several processes at once do no harm: each reflection has its name.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._begun: set[tuple[str, Moment]] = set()
        self._since = datetime.now(UTC) - _MISSED  # events get their ids by this machine's clock

    async def enqueue_reflections(self) -> None:
        """Begin the reflections that became due."""
        if not can_reflect(self._services):
            return
        began = datetime.now(UTC)
        news = set(await reflections.list_newsworthy_runs(self._services.database, self._since))
        self._begun = {each for each in self._begun if each[0] in news}
        for run_id in news:
            await self._enqueue_moments(run_id)
        self._since = began - _OVERLAP

    async def _enqueue_moments(self, run_id: str) -> None:
        run = await runs.get(self._services.database, run_id)
        if run is None:
            return
        for moment in sorted(find_moments(await ledger.load_events(self._services.database, run_id))):
            if (run_id, moment) not in self._begun:
                await enqueue_reflection(self._services, run_id, run.repository.id, moment)
                self._begun.add((run_id, moment))


class _ReflectionInput(BaseModel):
    """What a reflection begins with: a question, or why there is none."""

    question: ReflectionQuestion | None = None
    configuration: Configuration = Configuration()
    why: str = ""
    code: str = ""
    most: int = 1


class ReflectionRun:
    """One reflection on one run."""

    def __init__(self, services: Services, run: Run, moment: Moment, workflow_id: str) -> None:
        self._services = services
        self._run = run
        self._moment = moment
        self._journal = WorkflowJournal(services, workflow_id)

    async def execute(self) -> str:
        """Reflect and keep what is worth it; what that came to, in a few words."""
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
        known = _ReflectionInput.model_validate(await self._journal.step("what is known", self._load_input))
        if known.question is None:
            return known.code
        question, configuration = known.question, known.configuration
        given = await self._journal.step("reflect", lambda: self._ask_model(question, configuration))
        answer = ModelAnswer.model_validate(given)
        if answer.value is None:
            return await self._record_nothing(answer.problem or "There was no answer.")
        kept = await self._journal.step("keep what is worth it", lambda: self._keep(question, answer, known))
        return f"{kept} kept"

    async def _record_nothing(self, why: str) -> str:
        """Note that nothing came of it."""
        try:
            await self._journal.step("leave it", lambda: self._record_reason(why))
        except ForgeError as error:
            log.warning("reflection.unnoted", run=self._run.id, error=str(error))
        return "not asked"

    # --- steps -------------------------------------------------------------------------------------------------

    async def _load_input(self) -> JsonValue:
        services, database = self._services, self._services.database
        run = await runs.get(database, self._run.id) or self._run
        if self._moment is Moment.ended and not run.state.is_final:
            return _ReflectionInput(code="reflection.goes_on").model_dump(mode="json")
        events = await ledger.load_events(database, run.id)
        facts = ReflectionFacts(run=run, events=events, is_enabled=True, is_trusted=True)
        reason = find_obstacle(facts) or await self._find_pause()  # before GitHub is asked anything
        if reason is not None:
            return _ReflectionInput(code=reason.code).model_dump(mode="json")
        configuration = (await load_configuration(services, run)).configuration
        facts = ReflectionFacts(run, events, _is_enabled(configuration, run), await self._is_trusted())
        reason = find_obstacle(facts)
        if reason is not None:
            return _ReflectionInput(code=reason.code).model_dump(mode="json")
        bounces = [_filter_sendable(each, configuration) for each in await checkpoints.load_send_backs(database, run)]
        asked = reflection.build_question(run, self._moment, reflection.list_facts(events, bounces), redact_outgoing)
        known = _ReflectionInput(question=asked, configuration=configuration, most=most_kept(events))
        return known.model_dump(mode="json")

    async def _find_pause(self) -> Reason | None:
        by = await permits.find_pauser(self._services.database, self._run.repository)
        return None if by is None else Reason(code="reflection.paused", text=f"{by} paused this repository.")

    async def _is_trusted(self) -> bool:
        """Whether what the run is about comes from somebody who belongs to the repository, and lies in it."""
        host, run = self._services.host, self._run
        if run.is_of_issue:
            return (await host.issue(run.repository, run.number)).author_association in OURS
        pull_request = await host.pull_request(run.repository, run.number)
        return not pull_request.is_from_fork(run.repository.id) and pull_request.author_association in OURS

    async def _ask_model(self, question: ReflectionQuestion, configuration: Configuration) -> JsonValue:
        """What the model says, or what it said before this process died."""
        services = self._services
        model = services.models.choose(ModelTier.fast)
        if isinstance(model, Unusable):
            return ModelAnswer(key=question.key, problem=model.reason).model_dump(mode="json")
        name = digest(model.name, question.instructions, question.content, question.key)
        known = await model_answers.find(services.database, self._run, name)
        if known is not None:
            return known

        async def keep(answer: ModelAnswer) -> None:
            value = cast(dict[str, JsonValue], PROCESS_REDACTOR.redact_values(answer.model_dump(mode="json")))
            await model_answers.keep(services.database, self._run, name, value, services.clock.now())

        money = build_budget(services, self._run, Phase.reflection, configuration, self._find_refusal)
        answer = await ask(question, Reflection, model, money, keep=keep)
        return PROCESS_REDACTOR.redact_values(answer.model_dump(mode="json"))

    def _find_refusal(self, _connection: Connection, known: RunCallFacts, _now: datetime) -> Refusal | None:
        """Who is halted, paused or lost the pull request spends nothing."""
        permits.require(known.sums.permit, self._run)
        return None

    async def _keep(self, question: ReflectionQuestion, answer: ModelAnswer, known: _ReflectionInput) -> JsonValue:
        await self._close_reservations(question.key)
        database, run, now = self._services.database, self._run, self._services.clock.now()
        live = await memories.list_live(database, run.repository.id)
        proposed = reflection.read_learnings(answer, question)
        decided = await asyncio.to_thread(screen_learnings, proposed, question.shown, live, most=known.most)
        may_live = known.configuration.memory.max
        return await reflections.keep(database, run, self._moment.value, decided, "", now, may_live)

    async def _record_reason(self, why: str) -> JsonValue:
        await self._close_reservations(reflection.build_key(self._moment))
        await reflections.keep(
            self._services.database, self._run, self._moment.value, (), redact_outgoing(why), self._services.clock.now()
        )
        return None

    async def _close_reservations(self, step: str) -> None:
        """What an earlier try left reserved was lost."""
        now = self._services.clock.now()
        await reservations.close(
            self._services.database, self._run.id, now, in_phase=Phase.reflection.value, at_step=step
        )


def _is_enabled(configuration: Configuration, run: Run) -> bool:
    """Whether Forge learns here; where no model reads changes, none reads what became of them either."""
    learns = configuration.memory.enabled and configuration.memory.max > 0
    return learns and (run.is_of_issue or configuration.review.model is not ReadMode.never)


def _filter_sendable(bounce: SendBack, configuration: Configuration) -> SendBack:
    """A bounce without what was said of files that must not leave."""
    hidden = configuration.review.never_send
    return bounce.model_copy(update={"to_fix": tuple(e for e in bounce.to_fix if not matches(e.path, hidden))})
