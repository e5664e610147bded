"""Makes the automatic writes to GitHub: fix, approval, merge, and its announcement, each once."""

from dataclasses import dataclass
from functools import partial

import structlog

from domain.errors import Behind, CodeHostError, ForgeError, NotFound, RateLimited
from domain.github.merging import Merged, NotMerged
from domain.github.pull_requests import Approval
from domain.runs.run import Run
from memory.runs import outbox
from pipeline.automation.preconditions import find_merge_obstacle
from pipeline.context import Services
from pipeline.publishing import comments, pull_requests, reviews
from pipeline.publishing.publisher import NO_ID
from pipeline.verdicts.approval import build_approval_marker, is_approval_of, withdraw_if_lost
from workspace.mirror import Mirror
from workspace.push_result import Pushed, PushRejected

log = structlog.get_logger(__name__)

_ANNOUNCEMENT = "auto_merge"  # the step of the announcement in the outbox


class NotDone(ForgeError):
    """GitHub refused a write. Nothing happened."""


@dataclass(frozen=True)
class AutomaticWrites:
    """The automatic writes of one run. Every method may be repeated and then changes nothing."""

    services: Services
    run: Run

    @property
    def approval_marker(self) -> str:
        """See :func:`pipeline.verdicts.approval.approval_marker`."""
        return build_approval_marker(self.services, self.run)

    @property
    def merge_marker(self) -> str:
        """The marker of the announcement of a merge: one per run, so each run announces again."""
        return self.services.markers.make("merge", self.run.id)

    async def push(self, mirror: Mirror, sha: str, branch: str) -> None:
        """Push a commit on top of the reviewed head to the pull request's branch.

        :raises NotDone: the branch moved, or GitHub refused the push.
        :raises Superseded: another run owns the pull request.
        """

        async def is_pushed() -> bool:
            live = await self.services.host.pull_request(self.run.repository, self.run.number)
            await mirror.fetch(live.head_sha, live.base_sha, self.run.number)
            return await mirror.follows(live.head_sha, sha)

        head = self.run.head_sha
        result = await pull_requests.push_once(
            self.services, self.run, "auto_fix", mirror, sha, branch, head, is_pushed=is_pushed
        )
        if not isinstance(result, Pushed):
            raise NotDone(result.said if isinstance(result, PushRejected) else "The branch moved meanwhile.")

    async def approve(self, body: str) -> bool:
        """Approve exactly this head once; whether Forge's approval is there.

        If a person dismissed an approval of this head, for any base, it is not given again.
        """
        host, repository, number = self.services.host, self.run.repository, self.run.number

        async def find() -> int | None:
            return next(
                (each.id for each in await self._list_approvals() if each.is_dismissed or self._is_given_here(each)),
                None,
            )

        again = len(await outbox.list_withdrawn(self.services.database, repository.id, number))
        step = f"{outbox.APPROVAL} {again}" if again else outbox.APPROVAL
        given = await reviews.approve_once(self.services, self.run, step, body, find=find)
        await withdraw_if_lost(self.services, self.run)
        shown = {each.id: each for each in await host.approvals(repository, number)}.get(given)
        return shown is None or not shown.is_dismissed  # GitHub may not show it yet

    async def _list_approvals(self) -> list[Approval]:
        """The approvals of this head, without those that Forge withdrew: it may give them again."""
        repository, number = self.run.repository, self.run.number
        taken_back = await outbox.list_withdrawn(self.services.database, repository.id, number)
        given = await self.services.host.approvals(repository, number)
        return [each for each in given if each.head_sha == self.run.head_sha and each.id not in taken_back]

    def _is_given_here(self, given: Approval) -> bool:
        return is_approval_of(given, self.services, self.run)

    async def announce(self, body: str) -> int:
        """Announce a merge; the id of the comment."""
        comment_id, _ = await comments.ensure_comment(self.services, self.run, _ANNOUNCEMENT, self.merge_marker, body)
        return comment_id

    async def merge(self, look: int) -> Merged | NotMerged:
        """Merge exactly this head.

        :param look: the number of the check.
        """

        async def find() -> int | None:
            return NO_ID if await self.is_merged() else None

        find_obstacle = partial(find_merge_obstacle, self.services, self.run)
        result = await pull_requests.merge_once(
            self.services, self.run, self.step_name(look), find=find, find_obstacle=find_obstacle
        )
        if result is not None:
            return result
        if not await self.is_merged():
            raise Behind(f"GitHub does not show yet that #{self.run.number} was merged.", "Forge looks again.")
        return await pull_requests.find_merge_commit(self.services, self.run)

    async def is_merged(self) -> bool:
        """Whether the pull request is merged with this head."""
        live = await self.services.host.pull_request(self.run.repository, self.run.number)
        return live.is_merged and live.head_sha == self.run.head_sha

    @staticmethod
    def step_name(look: int) -> str:
        """The step of a merge in the outbox: one for each check."""
        return f"auto_merge {look}"

    async def update_announcement(self, body: str) -> None:
        """Show the outcome in the announcement, whoever owns the pull request now."""
        host, repository = self.services.host, self.run.repository
        try:
            comment = await outbox.find_remote_id(self.services.database, self.run.id, _ANNOUNCEMENT, "comment")
            comment = comment or await host.find_comment(repository, self.run.number, self.merge_marker)
            if comment is not None:
                await comments.edit_comment(self.services, repository, comment, body)
        except RateLimited:
            raise
        except NotFound:
            log.info("merge.announcement_gone", run=self.run.id)
        except CodeHostError as error:
            log.warning("merge.not_told", run=self.run.id, error=str(error))
