"""Pushes what an issue's run made, and opens one draft pull request for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from domain.errors import Behind, CommitGone, ForgeError, NotFound
from domain.github.commits import add_suffix, make_branch_name
from domain.github.pull_requests import PullRequest
from domain.runs.plan import RatedPlan, sort_tasks
from domain.runs.run import Phase, ReasonCode, Run, RunState
from memory import reservations
from memory.deliveries import pushes
from memory.runs import outbox
from messages import pull_request as pull_request_texts
from messages.pull_request import PullRequestDescription, TaskReport
from pipeline.context import Services
from pipeline.durable.journal import run_outside_journal
from pipeline.gates.ask import list_conditions
from pipeline.gates.authorship import list_askers
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.draft_commits import BuiltChange
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.status_comment import RunEnd
from pipeline.publishing import pull_requests
from pipeline.publishing.pull_requests import NotOpened, PushResult, find_signed
from pipeline.run_context import RunContext
from workspace.mirror import Mirror

MAX_NAMES = 10
"""Names tried for a branch before Forge gives up."""
_MAX_COMMITS = 200  # of a run, among which its last pushed one is searched


class NotProposed(ForgeError):
    """GitHub refused a branch or a pull request. Nothing happened."""


@dataclass(frozen=True)
class BranchPusher:
    """The branch and the pull request of one run. Every method may be repeated and then changes nothing."""

    services: Services
    run: Run

    @property
    def marker(self) -> str:
        """The marker of the pull request: one per run."""
        return self.services.markers.make("proposal", self.run.id)

    async def push(self, mirror: Mirror, sha: str, branch: str) -> PushResult:
        """Push a commit to the run's own branch, which the first push creates. Never overwrites commits of others.

        :param sha: a commit in the mirror, on top of the run's ``head_sha`` and of everything it pushed before.
        :param branch: the wanted name. If it is taken, the next free one with a number is used.
        :returns: ``moved`` if somebody moved or removed the branch since the run's last push.
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
            if result.outcome != "moved":
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
        find = partial(self._find_own_pull_request, branch)
        try:
            number = await pull_requests.open_once(self.services, self.run, branch, title, text, draft=draft, find=find)
        except NotOpened as error:
            raise await self._explain_not_opened(branch, error) from error
        try:
            return await host.pull_request(repository, number)
        except NotFound as error:
            raise Behind(error.message, error.advice) from error

    async def _push(self, mirror: Mirror, sha: str, branch: str, expected: str | None) -> PushResult:
        return await pull_requests.push_once(
            self.services,
            self.run,
            _step_name(branch, sha),
            mirror,
            sha,
            branch,
            expected,
            is_pushed=partial(self._is_on, mirror, sha, branch),
            for_accounts=sorted(await list_askers(self.services, self.run)),
        )

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


@dataclass(frozen=True)
class OpenedPullRequest:
    """The run's pull request.

    :param signed: commit as Forge made it → as GitHub signed it.
    """

    number: int
    branch: str
    signed: Mapping[str, str]


@dataclass(frozen=True)
class PullRequestPublisher:
    """The pull request of one run.

    :param locks: on the contracts that it changes.
    """

    context: RunContext
    planned: PlannedIssue
    locks: ContractLocks

    @cached_property
    def _branch(self) -> BranchPusher:
        return BranchPusher(self.context.services, self.context.run)

    async def publish(self, built: BuiltChange) -> OpenedPullRequest | RunEnd:
        """Push what was made, even if it is a part, and open the pull request once; or how the run ends."""
        if built.tip == self.context.run.base_sha:
            return built.ended or await self._end_unchanged(built)
        pushed = await self.context.journal.step("push the branch", self._push, built.tip)
        if not pushed.is_pushed:
            return await self._end_not_pushed(pushed)
        work = _list_task_reports(self.planned.plan, built)
        number = await self.context.journal.step(
            "open the pull request", self._open, pushed.branch, work, built.tests_added
        )
        commits = [*built.before, built.tip]
        repository = self.context.run.repository.id
        signed = await run_outside_journal(pushes.find_signed, self.context.database, repository, commits)
        return OpenedPullRequest(number, pushed.branch, signed)

    async def require_pushable(self) -> Mirror:
        """Check right before a write that the base is still there and the locks are held.

        :raises CommitGone: the default branch was rewritten: what was removed there is not published again.
        :raises ForgeError: another run took a lock.
        """
        mirror = await self.context.fetch_mirror()
        await self._require_base(mirror)
        await self.locks.require_held()
        return mirror

    async def _require_base(self, mirror: Mirror) -> None:
        run = self.context.run
        live = await self.context.services.host.default_branch(run.repository)
        await mirror.fetch(live.head_sha, run.base_sha, run.number)
        if not await mirror.follows(live.head_sha, run.base_sha):
            raise CommitGone(
                f"{live.name} no longer holds {run.base_sha[:10]}, on which this was made: it was rewritten.",
                "Write /forge run to begin anew on what is there now.",
            )

    async def _push(self, head: str) -> PushResult:
        mirror = await self.require_pushable()
        branch = make_branch_name(self.context.run.number, self.planned.title)
        result = await self._branch.push(mirror, head, branch)
        return result if result.is_pushed else result.model_copy(update={"branch": branch})

    async def _open(self, branch: str, work: Sequence[TaskReport], tests: Sequence[str]) -> int:
        run = self.context.run
        description = PullRequestDescription(
            issue=run.number,
            weighed=self.planned.plan,
            work=work,
            tests=tests,
            models=await self._list_models(),
            conditions=await list_conditions(self.context.services, run, proposed=False),
        )
        title = pull_request_texts.render_title(run.number, self.planned.title, self.planned.plan.plan)
        body = pull_request_texts.render_body(description, self._branch.marker)
        return (await self._branch.open(branch, title, body)).number

    async def _list_models(self) -> Sequence[str]:
        """The models that planned and implemented it, the one that cost most first."""
        shares = await reservations.list_shares(self.context.database, run_id=self.context.run.id)
        theirs = [each for each in shares if each.phase in {Phase.planning.value, Phase.implementation.value}]
        return list(dict.fromkeys(each.model for each in theirs if each.spent.usage.output_tokens))

    async def _end_unchanged(self, built: BuiltChange) -> RunEnd:
        work, spent = _list_task_reports(self.planned.plan, built), await self.context.load_cost()
        text = pull_request_texts.nothing_changed(work, spent=spent)
        return RunEnd(RunState.completed, ReasonCode.unchanged, text)

    async def _end_not_pushed(self, result: PushResult) -> RunEnd:
        spent = await self.context.load_cost()
        if result.outcome == "moved":
            text = pull_request_texts.branch_moved(result.branch, spent=spent)
            return RunEnd(RunState.failed, ReasonCode.branch_moved, text)
        text = pull_request_texts.push_refused(result.branch, result.said, spent=spent)
        return RunEnd(RunState.failed, ReasonCode.error, text)


def _list_task_reports(plan: RatedPlan, built: BuiltChange) -> list[TaskReport]:
    done = {each.task.id: each.worked for each in built.finished}
    return [
        TaskReport(task, done[task.id].summary, done[task.id].not_done)
        if task.id in done
        else TaskReport(task, not_done="The run ended before it.")
        for task in sort_tasks(plan.plan)
    ]
