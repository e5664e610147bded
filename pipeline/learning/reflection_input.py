"""Loads what a reflection asks about a run, or why it does not ask."""

from agents.reflection import ReflectionQuestion, build_question, list_facts
from domain.config.configuration import Configuration
from domain.globs import matches
from domain.runs.next_step import SendBack
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from domain.value import Value
from domain.verdicts import Reason
from memory import ledger
from memory.repositories import permits
from memory.runs import checkpoints, runs
from pipeline.context import Services
from pipeline.verdicts.settings import load_configuration
from safety.reflection_triggers import OURS, Moment, ReflectionFacts, find_obstacle, most_kept


class ReflectionInput(Value):
    """A question, or why there is none; in journals.

    :param code: of the reason.
    :param most: memories that may be kept.
    """

    question: ReflectionQuestion | None = None
    configuration: Configuration = Configuration()
    why: str = ""
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
    configuration = (await load_configuration(services, run)).configuration
    facts = ReflectionFacts(run, events, _is_enabled(configuration, run), await _is_trusted(services, run))
    reason = find_obstacle(facts)
    if reason is not None:
        return ReflectionInput(code=reason.code)
    send_backs = await checkpoints.load_send_backs(services.database, run)
    facts = list_facts(events, [_filter_sendable(each, configuration) for each in send_backs])
    question = build_question(run, moment, facts, redact_outgoing)
    return ReflectionInput(question=question, configuration=configuration, most=most_kept(events))


async def _find_pause(services: Services, run: Run) -> Reason | None:
    by = await permits.find_pauser(services.database, run.repository)
    return None if by is None else Reason(code="reflection.paused", text=f"{by} paused this repository.")


async def _is_trusted(services: Services, run: Run) -> bool:
    """Whether a member of the repository opened the issue or pull request, and not from a fork."""
    if run.is_of_issue:
        return (await services.host.issue(run.repository, run.number)).author_association in OURS
    pull_request = await services.host.pull_request(run.repository, run.number)
    return not pull_request.is_from_fork(run.repository.id) and pull_request.author_association in OURS


def _is_enabled(configuration: Configuration, run: Run) -> bool:
    """Whether Forge learns here. Where no model may read changes, none reads their results either."""
    learns = configuration.memory.enabled and configuration.memory.max > 0
    return learns and (run.is_of_issue or configuration.review.may_ask_model)


def _filter_sendable(sent_back: SendBack, configuration: Configuration) -> SendBack:
    """A send-back without what is about files that must not leave."""
    hidden = configuration.review.never_send
    return sent_back.model_copy(update={"to_fix": tuple(e for e in sent_back.to_fix if not matches(e.path, hidden))})
