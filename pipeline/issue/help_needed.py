"""Asks people whether, and with which words, an agent that does not get on shall try once more (``help_needed``)."""

from collections.abc import Sequence
from functools import partial

from pydantic import JsonValue

from domain.config.configuration import Configuration
from domain.gates import Gate, GateRequest, GateState, Option, digest
from domain.runs.next_step import SendBack
from domain.runs.run import Phase, Run
from domain.verdicts import Reason
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import WaitingForGate, open_gate
from safety.gates import build_request, default_options

_NAME = "help_needed"
_UNSURE = "the tests fail, and nobody is sure enough how to mend that"


class HelpGate:
    """What one run asks for help with. The words of an answer go into every later prompt."""

    def __init__(self, services: Services, journal: WorkflowJournal, run: Run) -> None:
        self._services = services
        self._journal = journal
        self._run = run

    async def may_mend(
        self, configuration: Configuration, phase: Phase, head: str, bounces: Sequence[SendBack]
    ) -> bool:
        """Whether a person lets a change be mended once more.

        :raises AtGate: nobody answered yet.
        """
        count = sum(bounce.phase is phase for bounce in bounces)
        finder = "review" if phase is Phase.review else "tests"
        times = "once" if count == 1 else f"{count} times"
        text = f"the {finder} sent the change back {times}, and it is still not right" if count else _UNSURE
        reason = Reason(code="help.bounces", text=text, value=count)
        return await self._ask_for_help(configuration, phase, digest(_NAME, head, len(bounces)), [reason])

    async def may_retry(self, configuration: Configuration, phase: Phase, what: str, attempt: int, why: str) -> bool:
        """Whether a person lets an agent that is stuck try a piece of work once more.

        :raises AtGate: nobody answered yet.
        """
        reason = Reason(code="help.stuck", text=why.rstrip("."))
        return await self._ask_for_help(configuration, phase, digest(_NAME, what, attempt), [reason])

    async def _ask_for_help(
        self, configuration: Configuration, phase: Phase, subject: str, reasons: Sequence[Reason]
    ) -> bool:
        prompt = "The agent does not get on by itself. Shall it try once more?"
        wanted = build_request(_NAME, phase, subject, prompt, reasons, configuration, options=_OPTIONS)
        gate = Gate.model_validate(await self._journal.step("ask for help", partial(self._open_gate, wanted)))
        if gate.is_waiting:
            raise WaitingForGate(gate)
        return gate.state is GateState.approved

    async def _open_gate(self, wanted: GateRequest) -> JsonValue:
        return (await open_gate(self._services, self._run, wanted)).model_dump(mode="json")


_, _CONDITIONS, *_REST = default_options(_NAME, "the run ends; what it made stays as it is")
_OPTIONS = (
    Option(command=f"/forge approve {_NAME}", effect="it tries once more"),
    Option(
        command=_CONDITIONS.command.replace("conditions", "what to do"), effect="it tries once more, with your words"
    ),
    *_REST,
)
