"""Everything a workflow works with, put together once at the start of the process."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.llm.models import Models
from agents.toolbox import Toolbox
from domain.money import NO_CEILINGS, Ceilings
from domain.ports import Clock, CodeHost
from domain.text.markers import Markers
from memory.db.engine import Database
from pipeline.durable.steps import LAG, PAUSES, STUBBORN, Durable, run_durable_step
from workspace.mirror import Mirrors

SETTLING = 10.0
"""Seconds after which GitHub shows what was written, even where it lags: then what is not there did not happen."""

PROGRESS_DELAY = 2.0
"""Seconds: progress that is overtaken sooner is not worth one of an installation's writes."""


@dataclass(frozen=True)
class Services:
    """The parts a workflow is given; none of them is made or replaced while the process runs."""

    database: Database
    host: CodeHost
    clock: Clock
    mirrors: Mirrors
    toolbox: Toolbox
    markers: Markers
    models: Models
    ceilings: Ceilings = NO_CEILINGS
    pauses: Sequence[float] = PAUSES  # seconds before each repetition of a failed step
    lag: Sequence[float] = LAG  # seconds before each further look at what GitHub does not show yet
    settling: float = SETTLING
    stubbornness: int = STUBBORN  # how often the last pause is repeated where giving up would lose something
    durable: Durable = run_durable_step  # how a step is made durable
    progress_delay: float = PROGRESS_DELAY
    reflects: bool = True  # whether a model is asked what could be learned from runs

    @property
    def long_pauses(self) -> Sequence[float]:
        """Seconds before each repetition of a step that nobody would ask for again."""
        return (*self.pauses, *[self.pauses[-1]] * self.stubbornness)
