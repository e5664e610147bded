"""Says in the pull request where an agent worked in another mode than it should have."""

from dataclasses import replace

from agents.loop.loop import Done, Stopped, Stuck
from domain.runs.patches import Worked
from domain.runs.plan import LONGEST_WORDS


def add_notice(done: Done[Worked] | Stuck | Stopped, notice: str) -> Done[Worked] | Stuck | Stopped:
    """What an agent handed in, with a notice before its summary."""
    if not isinstance(done, Done):
        return done
    summary = f"{notice} {done.value.summary}"[:LONGEST_WORDS]
    return replace(done, value=done.value.model_copy(update={"summary": summary}))
