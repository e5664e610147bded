"""What every part of a run works with, made once for each execution of the run."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.errors import Superseded
from domain.github.commits import Signature
from domain.review.changes import Change
from domain.runs.run import Run
from memory import reservations
from memory.db.engine import Database
from memory.process import halts
from memory.runs import runs
from pipeline.checkout import fetch_mirror, load_change
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.publishing.publisher import ProgressUpdates
from workspace.mirror import Mirror

T = TypeVar("T")

_POLL_SECONDS = 1.0  # between two checks whether a run still owns its issue or pull request


@dataclass(frozen=True)
class RunContext:
    """One execution of one run.

    :param journal: of the workflow that works on the run.
    """

    services: Services
    run: Run
    journal: WorkflowJournal

    @property
    def database(self) -> Database:
        return self.services.database

    def now(self) -> datetime:
        return self.services.clock.now()

    @cached_property
    def status(self) -> IssueStatus:
        """The comment of an issue's run."""
        return IssueStatus(self.services, self.run)

    @cached_property
    def progress(self) -> ProgressUpdates:
        """Debounced updates of the check or comment that shows the run."""
        return ProgressUpdates(self.database, self.run, self.services.progress_delay)

    async def load_cost(self) -> int:
        """What the run cost so far, in micro-USD."""
        return await reservations.load_cost(self.database, self.run.id)

    async def load_commit_time(self) -> datetime:
        """The time of the run's commits, the same for every repetition, so that it makes the same commit again."""
        return await runs.get_started_at(self.database, self.run.id) or self.now()

    async def load_stamp(self) -> tuple[Signature, datetime]:
        """Author and time of the run's commits."""
        return await self.services.host.signature(self.run.repository), await self.load_commit_time()

    async def load_change(self, mirror: Mirror, head: str) -> Change:
        """What the run changed up to a head, which is in the mirror."""
        return await load_change(mirror, self.run, head)

    async def fetch_mirror(self) -> Mirror:
        """The mirror of the repository with the run's head and base in it.

        :raises NotFound: the name belongs to another repository now.
        :raises CommitGone: the head or the base is gone.
        """
        return await fetch_mirror(self.services, self.run)

    def build_tester(self, mirror: Mirror, configuration: Configuration) -> Tester:
        """What runs the repository's tests on commits that the mirror has."""
        return Tester(mirror, self.services.toolbox, configuration.commands)


async def run_while_current(services: Services, run: Run, work: Awaitable[T], *, ends_at_halt: bool = True) -> T:
    """The answer of ``work``, which is stopped soon after the run is superseded, or the operator halts Forge.

    :param ends_at_halt: it can be done again after a halt.
    :raises Superseded: it was superseded.
    :raises Halted: Forge was halted while it worked.
    """
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=_POLL_SECONDS))[0]:
            if not await runs.is_current(services.database, run):
                raise make_superseded(run)
            if ends_at_halt:
                await halts.require_none(services.database)
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def describe_place(services: Services, configuration: Configuration) -> tuple[object, ...]:
    """The commands of a repository and the place where they run, as parts of a digest."""
    toolbox = services.toolbox
    return configuration.commands.model_dump_json(), toolbox.sandbox.strongest().level, toolbox.proxy, toolbox.reads


def make_superseded(run: Run) -> Superseded:
    return Superseded(f"Run {run.id} was put an end to.")
