"""The settings of the workflow engine of one process."""

from dataclasses import dataclass

HEARTBEAT = 10.0  # seconds; a third of the lease


@dataclass(frozen=True)
class EngineSettings:
    """How a process takes part in the work.

    :param executor_id: stable, and unique for each process slot.
    :param polling: seconds between two polls of a queue while there is work; else a bell is rung.
    :param concurrent_runs: runs that this process works on at the same time.
    :param heartbeat: seconds between two sweeps; a fraction of the lease.
    """

    executor_id: str
    polling: float = 0.2
    concurrent_runs: int = 4
    heartbeat: float = HEARTBEAT
