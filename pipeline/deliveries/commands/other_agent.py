"""Says whether another agent can carry out what the gate ``recovery`` asks about."""

from domain.gates import Gate
from domain.runs.recovery import AgentMake
from memory.runs import recoveries
from messages import recovery as texts
from pipeline.config import loading
from pipeline.context import Services
from workspace.sandbox.sandbox import BUBBLEWRAP


async def find_lacking_agent(services: Services, gate: Gate) -> str:
    """Why there is no other agent; empty if there is one."""
    past = await recoveries.list_of_issue(services.database, gate.repository.id, gate.number)
    mine = [each for each in past if each.run_id == gate.run_id]
    if not mine or mine[-1].agent is AgentMake.other:  # then Forge's own takes over
        return ""
    loaded = await loading.load_live(services, gate.repository)
    if loaded.configuration.agents.implementer.command is None:
        return texts.explain_no_other_agent(gate)
    level = services.toolbox.sandbox.strongest().level
    return texts.explain_no_place(gate, level) if level != BUBBLEWRAP else ""
