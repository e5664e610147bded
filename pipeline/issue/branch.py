"""Pushes the branch of an issue's run, and opens one pull request from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from domain.errors import Behind, CommitGone, ForgeError, NotFound
from domain.github.commits import add_suffix
from domain.github.pull_requests import PullRequest
from domain.runs.run import Run
from memory.runs import outbox
from messages import pull_request as pull_request_texts
from pipeline.context import Services
from pipeline.gates.askers import list_askers
from pipeline.publishing import pull_requests
from pipeline.publishing.pull_requests import NotOpened, find_signed
from workspace.commits import BranchMoved, Pushed, PushRejected
from workspace.mirror import Mirror

MAX_NAMES = 10
"""Names tried for a branch before Forge gives up."""

_MAX_COMMITS = 200  # of a run, among which its last pushed one is searched


class NotProposed(ForgeError):
    """GitHub refused a branch or a pull request. Nothing happened."""


@dataclass(frozen=True, slots=True)
class PushedBranch:
    """The run's commit is on its branch, perhaps below commits of people.

    :param branch: another name than the wanted one if that was taken.
    """

    branch: str


@dataclass(frozen=True)
class BranchPusher:
    """The branch and the pull request of one run. Every method may be repeated and then changes nothing."""

    services: Services
    run: Run

    @property
    def marker(self) -> str:
        """The marker of the pull request: one per run."""
        return self.services.markers.make("proposal", self.run.id)

    async def push(self, mirror: Mirror, sha: str, branch: str) -> PushedBranch | BranchMoved | PushRejected:
        """Push a commit to the run's own branch, which the first push creates. Never overwrites commits of others.

        :param sha: a commit in the mirror, on top of the run's ``head_sha`` and of everything it pushed before.
        :param branch: the wanted name. If it is taken, the next free one with a number is used.
        :returns: ``BranchMoved`` if somebody moved or removed the branch since the run's last push.
        :raises NotProposed: all tried names are taken.
        :raises CodeAccessError: the remote was not reached or denies access; the push may have happened.
        :raises Superseded: another run owns the issue, and this commit was not pushed before.
        """
        names = [branch, *(add_suffix(branch, number) for number in range(2, MAX_NAMES + 1))]
        commits = await self._list_commits(mirror, sha)
        for name in names:
            last = await self._find_last_pushed(name, commits)
            if last is not None:
                return await self._push(mirror, sha, name, last)
        for name in names:
            result = await self._push(mirror, sha, name, None)
            if not isinstance(result, BranchMoved):
                return result
        raise NotProposed(*pull_request_texts.names_taken(branch, len(names)))

    async def open(self, branch: str, title: str, body: str, draft: bool = True) -> PullRequest:
        """Open a pull request from the branch, once per run; the pull request as it is now.

        :param body: with or without :attr:`marker`.
        :raises Behind: it is open, and GitHub does not show it yet.
        :raises NotProposed: somebody else opened one from the branch, or GitHub refused.
        :raises Superseded: another run owns the issue, and this was not opened before.
        """
        host, repository = self.services.host, self.run.repository
        text = body if self.marker in body else f"{body}\n\n{self.marker}"

        async def find() -> int | None:
            return await self._find_own_pull_request(branch)

        try:
            number = await pull_requests.open_once(self.services, self.run, branch, title, text, draft=draft, find=find)
        except NotOpened as error:
            raise await self._explain_not_opened(branch, error) from error
        try:
            return await host.pull_request(repository, number)
        except NotFound as error:
            raise Behind(error.message, error.advice) from error

    async def _push(
        self, mirror: Mirror, sha: str, branch: str, expected: str | None
    ) -> PushedBranch | BranchMoved | PushRejected:
        is_pushed = partial(self._is_on, mirror, sha, branch)
        result = await pull_requests.push_once(
            self.services,
            self.run,
            _step_name(branch, sha),
            mirror,
            sha,
            branch,
            expected,
            is_pushed=is_pushed,
            for_accounts=sorted(await list_askers(self.services, self.run)),
        )
        return PushedBranch(branch) if isinstance(result, Pushed) else result

    async def _list_commits(self, mirror: Mirror, sha: str) -> Sequence[str]:
        """The run's own commits, the newest first."""
        options = ("--first-parent", f"--max-count={_MAX_COMMITS}", "--end-of-options")
        listed = await mirror.git.run("rev-list", *options, f"{self.run.head_sha}..{sha}")
        return listed.stdout.decode().split()

    async def _find_last_pushed(self, branch: str, commits: Sequence[str]) -> str | None:
        """The newest of the run's commits that was pushed to a branch.

        The branch itself does not show that: somebody may have reset it.
        """
        for commit in commits:
            if await outbox.is_done(
                self.services.database, self.run.id, _step_name(branch, commit), pull_requests.PUSH
            ):
                return commit
        return None

    async def _is_on(self, mirror: Mirror, sha: str, branch: str) -> bool:
        """Whether a branch of the remote contains a commit, as GitHub signed it."""
        sha = await find_signed(self.services, self.run.repository, sha)
        head = await mirror.head_of(branch)
        if head is None or head == sha:
            return head is not None
        try:
            await mirror.fetch(head, self.run.head_sha, self.run.number)
        except CommitGone:  # it moved again, and the push finds that out
            return False
        return await mirror.follows(head, sha)

    async def _find_own_pull_request(self, branch: str) -> int | None:
        """The number of this run's open pull request from a branch. Others may have opened more from it."""
        host, repository = self.services.host, self.run.repository
        oldest = await host.find_pull_request(repository, branch)
        if oldest is None:
            return None
        others = await host.open_pull_requests(repository, oldest.head_sha)
        for pull in (oldest, *others):
            if pull.head_ref == branch and not pull.is_from_fork(repository.id) and await self._is_own(pull):
                return pull.number
        return None

    async def _is_own(self, pull: PullRequest) -> bool:
        """Whether this run opened it: the marker counts only if the App is the author."""
        app = await self.services.host.signature(self.run.repository)
        if not pull.author_is_bot or pull.author_login != app.name:
            return False
        return self.marker in (await self.services.host.issue(self.run.repository, pull.number)).body

    async def _explain_not_opened(self, branch: str, error: ForgeError) -> NotProposed:
        other = await self.services.host.find_pull_request(self.run.repository, branch)
        if other is not None:
            return NotProposed(*pull_request_texts.report_foreign_proposal(branch, other.number))
        return NotProposed(*pull_request_texts.not_opened(branch, str(error)))


def _step_name(branch: str, sha: str) -> str:
    return f"push {branch} {sha}"
