"""Asks people whether a stuck agent shall try once more, and with which advice (``help_needed``)."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.config.configuration import Configuration
from domain.gates import GateState, Option, digest
from domain.runs.next_step import SendBack
from domain.runs.run import Phase
from domain.verdicts import Reason
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.run_context import RunContext
from safety.gates import build_request, default_options

_NAME = "help_needed"
_UNSURE = "the tests fail, and nobody is sure enough how to mend that"


@dataclass(frozen=True)
class HelpGate:
    """The requests of one run for help. The words of an answer go into every later prompt."""

    context: RunContext
    configuration: Configuration

    async def may_fix(self, phase: Phase, head: str, send_backs: Sequence[SendBack]) -> bool:
        """Whether a person lets a change be fixed once more.

        :param phase: that sends it back.
        :raises WaitingForGate: nobody answered yet.
        """
        count = sum(each.phase is phase for each in send_backs)
        finder = "review" if phase is Phase.review else "tests"
        times = "once" if count == 1 else f"{count} times"
        text = f"the {finder} sent the change back {times}, and it is still not right" if count else _UNSURE
        reason = Reason(code="help.bounces", text=text, value=count)
        return await self._ask_for_help(phase, digest(_NAME, head, len(send_backs)), reason)

    async def may_retry(self, work: str, attempt: int, why: str) -> bool:
        """Whether a person lets a stuck agent try a piece of work once more.

        :param work: names the piece.
        :raises WaitingForGate: nobody answered yet.
        """
        reason = Reason(code="help.stuck", text=why.rstrip("."))
        return await self._ask_for_help(Phase.implementation, digest(_NAME, work, attempt), reason)

    async def _ask_for_help(self, phase: Phase, subject: str, reason: Reason) -> bool:
        prompt = "The agent does not get on by itself. Shall it try once more?"
        request = build_request(_NAME, phase, subject, prompt, [reason], self.configuration, options=_OPTIONS)
        context = self.context
        gate = await context.journal.step("ask for help", open_gate, context.services, context.run, request)
        if gate.is_waiting:
            raise WaitingForGate(gate)
        return gate.state is GateState.approved


_, _CONDITIONS, *_REST = default_options(_NAME, "the run ends; what it made stays as it is")
_OPTIONS = (
    Option(command=f"/forge approve {_NAME}", effect="it tries once more"),
    Option(
        command=_CONDITIONS.command.replace("conditions", "what to do"), effect="it tries once more, with your words"
    ),
    *_REST,
)
