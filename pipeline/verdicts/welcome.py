"""Says again in a check what its run said there of Forge itself."""

from domain.runs.run import Run
from memory.repositories import welcomes
from messages import welcome as texts
from pipeline.context import Services


async def load_welcome(services: Services, run: Run) -> str:
    """The part of a run's check in which Forge introduced itself; empty in almost all."""
    known = await welcomes.find(services.database, run.repository.id)
    if known is None or known.run_id != run.id or known.overview is None:
        return ""
    return texts.render_part(known.overview)
