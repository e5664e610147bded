"""Starts deployments for a delivery, and ends those that they replace."""

from collections.abc import Sequence
from typing import Protocol

from domain.commands import EndPullRequest
from domain.deployments.deployment import Deployment
from domain.github.pull_requests import PullRequest
from domain.runs.run import ReasonCode, RepositoryRef, Run
from pipeline.deliveries.context import DeliveryContext
from pipeline.deployment.orders import Ordered, list_ended, order_merged
from pipeline.deployment.production_lessons import learn_from_merge
from pipeline.durable.queues import enqueue_run


class RunEnder(Protocol):
    """Ends runs."""

    async def end(self, repository: RepositoryRef, number: int, reason: ReasonCode) -> Sequence[Run]:
        """End what runs under a number, or in the lane of a deployment."""
        ...


class DeploymentStarter:
    """Starts the deployments that one delivery asks for."""

    def __init__(self, context: DeliveryContext, ender: RunEnder) -> None:
        self._context = context
        self._ender = ender

    async def start_merged(self, command: EndPullRequest, live: PullRequest) -> None:
        """Learn from what was merged, and deploy it to every environment that each merge reaches."""
        journal, services, guid = self._context.journal, self._context.services, self._context.guid
        await journal.step("what production taught", learn_from_merge, services, command.repository, live)
        where = (command.repository, live, command.sender)
        for each in await journal.step("order what was merged", order_merged, services, guid, *where):
            await self.start(each)

    async def start(self, ordered: Ordered) -> None:
        """Queue a deployment that was admitted, and end those that it replaces."""
        if ordered.run is None:
            return
        for run in await self._context.journal.step("what it replaces", self._list_ended, ordered.replaced):
            await self._ender.end(run.repository, run.fence_number, ReasonCode.superseded)
        await enqueue_run(ordered.run)

    async def _list_ended(self, replaced: tuple[Deployment, ...]) -> list[Run]:
        return [*await list_ended(self._context.services, replaced)]
