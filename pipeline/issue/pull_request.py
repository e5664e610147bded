"""Pushes what an issue's run made, and opens one draft pull request for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from domain.errors import CommitGone
from domain.github.commits import make_branch_name
from domain.runs.plan import RatedPlan, sort_tasks
from domain.runs.run import Phase, ReasonCode, RunState
from domain.value import Value
from memory import reservations
from memory.deliveries import pushes
from messages import pull_request as pull_request_texts
from messages.pull_request import PullRequestDescription, TaskReport
from pipeline.durable.steps import run_outside_journal
from pipeline.gates.ask import list_conditions
from pipeline.issue.branch import BranchPusher, PushedBranch
from pipeline.issue.built_change import BuiltChange
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.run_end import RunEnd
from pipeline.run_context import RunContext
from workspace.mirror import Mirror
from workspace.push_result import BranchMoved


@dataclass(frozen=True)
class OpenedPullRequest:
    """The run's pull request.

    :param signed: commit as Forge made it → as GitHub signed it.
    """

    number: int
    branch: str
    signed: Mapping[str, str]


class PushResult(Value):
    """The result of a push; in journals.

    :param refusal: GitHub's reason, if it refused the push.
    """

    outcome: Literal["pushed", "moved", "refused"]
    branch: str
    refusal: str = ""


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
        if pushed.outcome != "pushed":
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
        match await self._branch.push(mirror, head, branch):
            case PushedBranch(name):
                return PushResult(outcome="pushed", branch=name)
            case BranchMoved():
                return PushResult(outcome="moved", branch=branch)
            case refused:
                return PushResult(outcome="refused", branch=branch, refusal=refused.said)

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
        text = pull_request_texts.push_refused(result.branch, result.refusal, spent=spent)
        return RunEnd(RunState.failed, ReasonCode.error, text)


def _list_task_reports(plan: RatedPlan, built: BuiltChange) -> list[TaskReport]:
    done = {each.task.id: each.worked for each in built.finished}
    return [
        TaskReport(task, done[task.id].summary, done[task.id].not_done)
        if task.id in done
        else TaskReport(task, not_done="The run ended before it.")
        for task in sort_tasks(plan.plan)
    ]
