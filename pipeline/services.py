"""Everything a workflow works with, put together once at the start of the process."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.checks import Toolbox
from domain.markers import Markers
from domain.ports import Clock, CodeHost
from memory.database import Database
from pipeline.journal import PAUSES
from pipeline.publish import Publisher
from workspace.mirror import Mirrors


@dataclass(frozen=True)
class Services:
    """The parts a workflow is given; none of them is made or replaced while the process runs."""

    database: Database
    host: CodeHost
    clock: Clock
    mirrors: Mirrors
    toolbox: Toolbox
    markers: Markers
    pauses: Sequence[float] = PAUSES  # seconds before each repetition of a failed step

    @property
    def publisher(self) -> Publisher:
        return Publisher(self.database, self.host, self.clock, self.markers)
