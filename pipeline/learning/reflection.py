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
from agents.llm.ask import Answer, ask
from agents.llm.models import LanguageModel, Task, Unusable
from agents.reflection import Reflection, ReflectionQuestion
from domain.config.configuration import Configuration, Reads
from domain.errors import ForgeError, Superseded
from domain.gates import digest
from domain.globs import matches
from domain.money import Refusal
from domain.runs.next_step import Bounce
from domain.runs.run import Phase, Run, RunState
from domain.text.redaction import OWN, outgoing
from domain.verdicts import Reason
from memory.budgets import model_answers
from memory.db.engine import Connection
from memory.learned import memories, reflections
from memory.ledger import ledger
from memory.repositories import permits
from memory.reservations import reservations
from memory.reservations.call_facts import History
from memory.runs import checkpoints, runs
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.names import APP_VERSION, LEARNING, REFLECT
from pipeline.model_calls.guards import purse
from pipeline.steps import noted
from pipeline.verdicts.settings import configured
from safety.learning_screening import admitted
from safety.reflection_triggers import OURS, Moment, ReflectionFacts, moments, most_kept, not_now

log = structlog.get_logger(__name__)

_OVERLAP = timedelta(minutes=1)
"""How far a look at the ledger reaches back behind the last one: transactions end in another order than they began."""
_MISSED = timedelta(hours=1)
"""How far the first look of a process reaches back, for what happened while none ran."""


async def begin(services: Services, run_id: str, repository_id: int, moment: Moment = Moment.ended) -> None:
    """Queue a reflection, if Forge reflects at all; a repeated call changes nothing."""
    if not reflects(services):
        return
    options: EnqueueOptions = {
        "workflow_name": REFLECT,
        "queue_name": LEARNING,
        "workflow_id": f"{run_id}/reflection {moment.value}",
        "app_version": APP_VERSION,
        "queue_partition_key": str(repository_id),
    }
    await noted(partial(DBOS.enqueue_workflow_with_options_async, options, run_id, moment.value))


async def looked_back_on(services: Services, run: Run, outcome: str) -> str:
    """The outcome of a run's work, of which the reflection is queued if that was its end."""
    if outcome != RunState.waiting.value:
        await begin(services, run.id, run.repository.id)
    return outcome


def reflects(services: Services) -> bool:
    """Whether the operator lets Forge reflect and there is a model to ask."""
    return services.reflects and isinstance(services.models.choose(Task.fast), LanguageModel)


class Attention:
    """The look of one process for moments in runs that go on, or that people judged after they ended.

    Several processes at once do no harm: each reflection has its name.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._begun: set[tuple[str, Moment]] = set()
        self._since = datetime.now(UTC) - _MISSED  # events get their ids by this machine's clock

    async def look(self) -> None:
        """Begin the reflections that became due."""
        if not reflects(self._services):
            return
        began = datetime.now(UTC)
        news = set(await reflections.runs_with_news(self._services.database, self._since))
        self._begun = {each for each in self._begun if each[0] in news}
        for run_id in news:
            await self._begin(run_id)
        self._since = began - _OVERLAP

    async def _begin(self, run_id: str) -> None:
        run = await runs.get(self._services.database, run_id)
        if run is None:
            return
        for moment in sorted(moments(await ledger.replay(self._services.database, run_id))):
            if (run_id, moment) not in self._begun:
                await begin(self._services, run_id, run.repository.id, moment)
                self._begun.add((run_id, moment))


class _Known(BaseModel):
    """What a reflection begins with: a question, or why there is none."""

    question: ReflectionQuestion | None = None
    configuration: Configuration = Configuration()
    why: str = ""
    code: str = ""
    most: int = 1


class Reflecting:
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
            return await self._leave("Something else owns its issue or pull request by now.")
        except ForgeError as error:
            log.warning("reflection.failed", run=self._run.id, error=str(error))
            return await self._leave(error.message)
        except DBOSUnexpectedStepError:
            raise
        except Exception:
            log.exception("reflection.unexpected", run=self._run.id)
            return "failed"

    async def _execute(self) -> str:
        known = _Known.model_validate(await self._journal.step("what is known", self._known))
        if known.question is None:
            return known.code
        question, configuration = known.question, known.configuration
        given = await self._journal.step("reflect", lambda: self._ask(question, configuration))
        answer = Answer.model_validate(given)
        if answer.value is None:
            return await self._leave(answer.problem or "There was no answer.")
        kept = await self._journal.step("keep what is worth it", lambda: self._keep(question, answer, known))
        return f"{kept} kept"

    async def _leave(self, why: str) -> str:
        """Note that nothing came of it."""
        try:
            await self._journal.step("leave it", lambda: self._note(why))
        except ForgeError as error:
            log.warning("reflection.unnoted", run=self._run.id, error=str(error))
        return "not asked"

    # --- steps -------------------------------------------------------------------------------------------------

    async def _known(self) -> JsonValue:
        services, database = self._services, self._services.database
        run = await runs.get(database, self._run.id) or self._run
        if self._moment is Moment.ended and not run.state.is_final:
            return _Known(code="reflection.goes_on").model_dump(mode="json")
        events = await ledger.replay(database, run.id)
        facts = ReflectionFacts(run=run, events=events, is_enabled=True, is_trusted=True)
        reason = not_now(facts) or await self._paused()  # before GitHub is asked anything
        if reason is not None:
            return _Known(code=reason.code).model_dump(mode="json")
        configuration = (await configured(services, run)).configuration
        facts = ReflectionFacts(run, events, _is_enabled(configuration, run), await self._is_trusted())
        reason = not_now(facts)
        if reason is not None:
            return _Known(code=reason.code).model_dump(mode="json")
        bounces = [_sendable(each, configuration) for each in await checkpoints.sent_back(database, run)]
        asked = reflection.question(run, self._moment, reflection.facts(events, bounces), outgoing)
        known = _Known(question=asked, configuration=configuration, most=most_kept(events))
        return known.model_dump(mode="json")

    async def _paused(self) -> Reason | None:
        by = await permits.paused_by(self._services.database, self._run.repository)
        return None if by is None else Reason(code="reflection.paused", text=f"{by} paused this repository.")

    async def _is_trusted(self) -> bool:
        """Whether what the run is about comes from somebody who belongs to the repository, and lies in it."""
        host, run = self._services.host, self._run
        if run.is_of_issue:
            return (await host.issue(run.repository, run.number)).author_association in OURS
        pull_request = await host.pull_request(run.repository, run.number)
        return not pull_request.is_from_fork(run.repository.id) and pull_request.author_association in OURS

    async def _ask(self, question: ReflectionQuestion, configuration: Configuration) -> JsonValue:
        """What the model says, or what it said before this process died."""
        services = self._services
        model = services.models.choose(Task.fast)
        if isinstance(model, Unusable):
            return Answer(key=question.key, problem=model.reason).model_dump(mode="json")
        name = digest(model.name, question.instructions, question.content, question.key)
        known = await model_answers.find(services.database, self._run, name)
        if known is not None:
            return known

        async def keep(answer: Answer) -> None:
            value = cast(dict[str, JsonValue], OWN.values(answer.model_dump(mode="json")))
            await model_answers.keep(services.database, self._run, name, value, services.clock.now())

        money = purse(services, self._run, Phase.reflection, configuration, self._stopped)
        answer = await ask(question, Reflection, model, money, keep=keep)
        return OWN.values(answer.model_dump(mode="json"))

    def _stopped(self, _connection: Connection, known: History, _now: datetime) -> Refusal | None:
        """Who is halted, paused or lost the pull request spends nothing."""
        permits.require(known.sums.standing, self._run)
        return None

    async def _keep(self, question: ReflectionQuestion, answer: Answer, known: _Known) -> JsonValue:
        await self._close_books(question.key)
        database, run, now = self._services.database, self._run, self._services.clock.now()
        live = await memories.live(database, run.repository.id)
        proposed = reflection.learnings(answer, question)
        decided = await asyncio.to_thread(admitted, proposed, question.shown, live, most=known.most)
        may_live = known.configuration.memory.max
        return await reflections.keep(database, run, self._moment.value, decided, "", now, may_live)

    async def _note(self, why: str) -> JsonValue:
        await self._close_books(reflection.key(self._moment))
        await reflections.keep(
            self._services.database, self._run, self._moment.value, (), outgoing(why), self._services.clock.now()
        )
        return None

    async def _close_books(self, step: str) -> None:
        """What an earlier try left reserved was lost."""
        now = self._services.clock.now()
        await reservations.close(
            self._services.database, self._run.id, now, in_phase=Phase.reflection.value, at_step=step
        )


def _is_enabled(configuration: Configuration, run: Run) -> bool:
    """Whether Forge learns here; where no model reads changes, none reads what became of them either."""
    learns = configuration.memory.enabled and configuration.memory.max > 0
    return learns and (run.is_of_issue or configuration.review.model is not Reads.never)


def _sendable(bounce: Bounce, configuration: Configuration) -> Bounce:
    """A bounce without what was said of files that must not leave."""
    hidden = configuration.review.never_send
    return bounce.model_copy(update={"to_fix": tuple(e for e in bounce.to_fix if not matches(e.path, hidden))})
