"""Says how long a process waits for what it depends on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.webhook import BODY_SECONDS
from memory.db.engine import BUSY_SECONDS
from pipeline.context import PROGRESS_DELAY, SETTLING, Services
from pipeline.deliveries.intake import PATIENCE
from pipeline.durable.journal import LAG, STUBBORN
from pipeline.worker.queues import HEARTBEAT, EngineSettings


@dataclass(frozen=True)
class Patience:
    """How long Forge waits for things, in seconds. Tests wait less.

    :param body: for the body of a webhook.
    :param door: until a delivery is stored; its database connection waits a little less.
    :param worker: for the database, everywhere else.
    :param heartbeat: between two sweeps.
    :param stubborn: a count, not seconds: how often the longest pause is repeated where giving up would lose work.
    :param telling: before progress is written, if nothing newer replaces it.
    :param lag: pauses before reading again what a webhook reported and GitHub's API does not show yet.
    :param settling: until GitHub's API shows what Forge wrote.
    """

    body: float = BODY_SECONDS
    door: float = PATIENCE
    worker: float = BUSY_SECONDS
    heartbeat: float = HEARTBEAT
    stubborn: int = STUBBORN
    telling: float = PROGRESS_DELAY
    lag: Sequence[float] = LAG
    settling: float = SETTLING

    def apply_to(self, services: Services) -> Services:
        return replace(
            services,
            lag=self.lag,
            settling=self.settling,
            stubbornness=self.stubborn,
            progress_delay=self.telling,
        )

    def build_engine_settings(self, slot: str, polling: float, concurrent_runs: int) -> EngineSettings:
        return EngineSettings(slot, polling=polling, concurrent_runs=concurrent_runs, heartbeat=self.heartbeat)


USUAL = Patience()
