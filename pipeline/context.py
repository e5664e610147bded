"""The parts of a process that workflows use, built once at its start."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agents.llm.gateway.gateway import GatewayOpener
from agents.llm.models import Models
from agents.toolbox import Toolbox
from domain.deployments.deployment import NO_ACCESS, DeployAccess, DeployAccesses
from domain.money import NO_CEILINGS, Ceilings
from domain.notices import NO_NOTICES, NoticeAccess
from domain.ports import Clock, Outbound
from domain.text.escaping import Markers
from github.host import GitHubHost
from memory.db.engine import Database
from pipeline.durable.journal import LAG, PAUSES, STUBBORN, Durable, WorkflowJournal, run_durable_step
from workspace.mirror import Mirrors

SETTLING = 10.0
"""Seconds after which GitHub shows every write: what it does not show then did not happen."""

MOST_SHADOWS = 5
"""Shadows of repositories that agents change at once; each may take a gigabyte."""

PROGRESS_DELAY = 2.0
"""Seconds: progress that newer progress replaces sooner is not written."""


@dataclass(frozen=True)
class Services:
    """The parts of a process; none is replaced while it runs."""

    database: Database
    host: GitHubHost
    outbound: Outbound
    clock: Clock
    mirrors: Mirrors
    toolbox: Toolbox
    open_gateway: GatewayOpener
    markers: Markers
    models: Models
    ceilings: Ceilings = NO_CEILINGS
    pauses: Sequence[float] = PAUSES  # seconds before each repetition of a failed step
    lag: Sequence[float] = LAG  # seconds before GitHub is read again that lags
    settling: float = SETTLING
    stubbornness: int = STUBBORN  # repetitions of the last pause where giving up would lose something
    durable: Durable = run_durable_step  # makes a step durable
    progress_delay: float = PROGRESS_DELAY
    reflects: bool = True  # whether Forge asks a model what it can learn from runs
    public_url: str = ""  # of this server; empty if the operator named none
    welcomes: bool = True  # whether Forge introduces itself where it is installed
    permissions: Mapping[str, str] = field(default_factory=dict[str, str])  # that it asks for, name → level
    deploy_access: DeployAccesses = field(default_factory=dict[tuple[str, str], DeployAccess])
    notices: NoticeAccess = NO_NOTICES
    shadow_places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_SHADOWS))

    def find_deploy_access(self, repository: str, environment: str) -> DeployAccess:
        """What the operator lets the deploy command of an environment reach and know.

        :param repository: owner and name.
        """
        return self.deploy_access.get((repository.lower(), environment), NO_ACCESS)

    @property
    def long_pauses(self) -> Sequence[float]:
        """Seconds before each repetition of a step that nobody would request again."""
        return (*self.pauses, *[self.pauses[-1]] * self.stubbornness)


@dataclass(frozen=True)
class DeliveryContext:
    """What the handling of one delivery works with.

    :param journal: of the delivery's workflow, or of one that follows from it.
    :param guid: of the delivery, or what else is the cause.
    """

    services: Services
    journal: WorkflowJournal
    guid: str
