"""Puts questions to people: asks each once, and shows it on GitHub."""

from collections.abc import Sequence

from domain.gates import Gate, GateRequest
from domain.runs.run import Run, Trigger
from memory import gates
from memory.runs import outbox
from pipeline.context import Services
from pipeline.gates.authorship import find_lone_author
from pipeline.publishing.gate_checks import show_gate
from pipeline.publishing.instructions import load_instruction


class WaitingForGate(Exception):
    """The run waits for a person, so this execution of it is over; the answer begins the next one."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        super().__init__(gate.short_id)


async def open_gate(services: Services, run: Run, request: GateRequest) -> Gate:
    """Ask, unless this was asked before, and show the question; may be repeated.

    :returns: the gate as it stands, decided perhaps.
    :raises Superseded: if another run owns the pull request.
    """
    gate = await gates.ask(services.database, run, await _place(services, run, request), services.clock.now())
    return await show_gate(services, run, gate)


async def _place(services: Services, run: Run, request: GateRequest) -> GateRequest:
    """The question with where it is shown: what the run of an issue asks, on its pull request, too, once that is there.

    What a deployment asks is shown on the commit that is deployed, and where somebody merged it or asked for it. Who
    changed protected files and has nobody to ask is asked in one place.

    :raises CodeHostError: if GitHub does not say what the head of that is.
    """
    if run.trigger is Trigger.deployment:
        return request.model_copy(update={"on_issue": True, "proposed_head": run.head_sha})
    if run.trigger is Trigger.instruction:
        verb = (await load_instruction(services.database, run)).asked.verb
        return request.model_copy(update={"of_instruction": True, "verb": verb.value})
    if not run.is_of_issue:
        is_shared = request.name != "protected_paths" or not request.not_author
        lone = "" if is_shared else await find_lone_author(services, run.repository, run.number, request.role)
        return request.model_copy(update={"lone_author": lone})
    number = await outbox.find_proposal(services.database, run.id)
    live = None if number is None else await services.host.pull_request(run.repository, number)
    head = live.head_sha if live is not None and live.is_open else ""
    return request.model_copy(update={"on_issue": True, "proposed_head": head})


async def list_conditions(services: Services, run: Run, *, proposed: bool) -> Sequence[str]:
    """Under which conditions people let a run go on, in their words. What they said to help is none.

    :param proposed: once its pull request was there; else before.
    """
    known = await gates.list_for_run(services.database, run.id)
    let = [gate for gate in known if gate.conditions and gate.name not in {"help_needed", "recovery"}]
    return [gate.conditions for gate in let if bool(gate.request.proposed_head) == proposed]
