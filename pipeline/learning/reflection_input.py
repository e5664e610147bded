"""Queues reflections on runs, and loads what one asks, or why it does not ask."""

from datetime import UTC, datetime, timedelta

from agents.llm.models import LanguageModel, ModelTier
from agents.reflection import ReflectionQuestion, build_question, list_facts
from domain.config.configuration import Configuration
from domain.globs import matches
from domain.runs.next_step import SendBack
from domain.runs.run import Run, RunState
from domain.value import Value
from domain.verdicts import Reason
from memory import ledger
from memory.learned import reflections
from memory.repositories import permits
from memory.runs import checkpoints, runs
from pipeline.config.loading import load_configuration
from pipeline.context import Services
from pipeline.durable.queues import REFLECT, enqueue
from safety.learning_screening import OURS, Moment, ReflectionFacts, find_moments, find_obstacle, most_kept

_OVERLAP = timedelta(minutes=1)
"""Each sweep reads this much of the ledger again: transactions do not end in the order in which they started."""
_MISSED = timedelta(hours=1)
"""The first sweep of a process reads this much, for moments at which no process ran."""


class ReflectionInput(Value):
    """A question, or why there is none; in journals.

    :param code: of the reason.
    :param most: memories that may be kept.
    """

    question: ReflectionQuestion | None = None
    configuration: Configuration = Configuration()
    code: str = ""
    most: int = 1


async def load_input(services: Services, run: Run, moment: Moment) -> ReflectionInput:
    """What to ask now."""
    run = await runs.get(services.database, run.id) or run
    if moment is Moment.ended and not run.state.is_final:
        return ReflectionInput(code="reflection.goes_on")
    events = await ledger.load_events(services.database, run.id)
    facts = ReflectionFacts(run=run, events=events, is_enabled=True, is_trusted=True)
    reason = find_obstacle(facts) or await _find_pause(services, run)  # before GitHub is asked anything
    if reason is not None:
        return ReflectionInput(code=reason.code)
    configuration = await load_configuration(services, run.repository)
    facts = ReflectionFacts(run, events, _is_enabled(configuration, run), await _is_trusted(services, run))
    reason = find_obstacle(facts)
    if reason is not None:
        return ReflectionInput(code=reason.code)
    send_backs = await checkpoints.load_send_backs(services.database, run)
    facts = list_facts(events, [_filter_sendable(each, configuration) for each in send_backs])
    question = build_question(run, moment, facts)
    return ReflectionInput(question=question, configuration=configuration, most=most_kept(events))


async def _find_pause(services: Services, run: Run) -> Reason | None:
    by = await permits.find_pauser(services.database, run.repository)
    return None if by is None else Reason(code="reflection.paused", text=f"{by} paused this repository.")


def _is_enabled(configuration: Configuration, run: Run) -> bool:
    """Whether Forge learns here. Where no model may read changes, none reads their results either."""
    learns = configuration.memory.enabled and configuration.memory.max > 0
    return learns and (run.is_of_issue or configuration.review.may_ask_model)


async def _is_trusted(services: Services, run: Run) -> bool:
    """Whether a member of the repository opened the issue or pull request, and not from a fork."""
    if run.is_of_issue:
        return (await services.host.issue(run.repository, run.number)).author_association in OURS
    pull_request = await services.host.pull_request(run.repository, run.number)
    return not pull_request.is_from_fork(run.repository.id) and pull_request.author_association in OURS


def _filter_sendable(sent_back: SendBack, configuration: Configuration) -> SendBack:
    """A send-back without what is about files that must not leave."""
    hidden = configuration.review.never_send
    return sent_back.model_copy(update={"to_fix": tuple(e for e in sent_back.to_fix if not matches(e.path, hidden))})


async def reflect_if_ended(services: Services, run: Run, outcome: str) -> str:
    """Queue the reflection on a run if its work ended; the outcome of the work."""
    if outcome != RunState.waiting.value:
        await _enqueue_reflection(services, run.id, run.repository.id)
    return outcome


async def _enqueue_reflection(
    services: Services, run_id: str, repository_id: int, moment: Moment = Moment.ended
) -> None:
    """Queue a reflection, if Forge reflects at all; a repeated call changes nothing."""
    if _can_reflect(services):
        await enqueue(REFLECT, run_id, moment.value, run=run_id, occasion=moment.value, repository=repository_id)


def _can_reflect(services: Services) -> bool:
    """Whether the operator lets Forge reflect and there is a model to ask."""
    return services.reflects and isinstance(services.models.choose(ModelTier.fast), LanguageModel)


class ReflectionSweep:
    """Finds notable moments in runs that continue, or that people judged after they ended.

    Several processes may sweep at once: each reflection has its id.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._enqueued: set[tuple[str, Moment]] = set()
        self._since = datetime.now(UTC) - _MISSED  # the ids of events follow this machine's clock

    async def enqueue_reflections(self) -> None:
        """Queue the reflections that are due."""
        if not _can_reflect(self._services):
            return
        started = datetime.now(UTC)
        news = set(await reflections.list_newsworthy_runs(self._services.database, self._since))
        self._enqueued = {each for each in self._enqueued if each[0] in news}
        for run_id in news:
            await self._enqueue_moments(run_id)
        self._since = started - _OVERLAP

    async def _enqueue_moments(self, run_id: str) -> None:
        run = await runs.get(self._services.database, run_id)
        if run is None:
            return
        for moment in sorted(find_moments(await ledger.load_events(self._services.database, run_id))):
            if (run_id, moment) not in self._enqueued:
                await _enqueue_reflection(self._services, run_id, run.repository.id, moment)
                self._enqueued.add((run_id, moment))
