"""Hands in what an issue's run made: a branch and a draft pull request, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agents.llm.models import ModelTier
from domain.errors import CommitGone
from domain.github.branches import make_branch_name
from domain.github.issues import Issue
from domain.runs.plan import RatedPlan, sort_tasks
from domain.runs.run import ReasonCode, Run, RunState
from domain.text.redaction import redact_outgoing
from messages import pull_request as pull_request_texts
from messages.pull_request import PullRequestDescription, TaskReport, VerifiedResult
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import list_conditions
from pipeline.issue.branch import BranchPusher, PushedBranch
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.implementation import BuiltChange
from pipeline.issue.planning import IssueRunInput, RunEnd
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.publishing.publisher import write_once
from workspace.mirror import Mirror
from workspace.push_result import BranchMoved


@dataclass(frozen=True)
class OpenedPullRequest:
    """The run's pull request."""

    number: int
    branch: str


class PullRequestPublisher:
    """Brings what an issue's run made before people.

    :param locks: on the contracts it changes.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        begun: IssueRunInput,
        plan: RatedPlan,
        locks: ContractLocks,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._begun = begun
        self._plan = plan
        self._locks = locks
        self._proposal = BranchPusher(services, run)
        self._status = IssueStatus(services, run)

    async def publish(self, built: BuiltChange) -> OpenedPullRequest | RunEnd:
        """Propose what was made, also where it is only a part, or push what was made since; how the run ends else."""
        work = _list_task_reports(self._plan, built)
        if built.head == self._run.base_sha:
            unchanged = pull_request_texts.nothing_changed(work, spent=await self._status.load_cost())
            return built.ended or RunEnd(RunState.completed, ReasonCode.unchanged, unchanged)
        placed = await self._journal.step("push the branch", lambda: self._push(built.head))
        if not isinstance(placed, str):
            return await self._end_not_pushed(placed)
        opened = await self._journal.step("open the pull request", lambda: self._open(placed, work, built.tests_added))
        return OpenedPullRequest(int(str(opened)), placed)

    async def write_result(self, opened: OpenedPullRequest, head: str, proved: VerifiedResult) -> None:
        """Say in the description what the review and the tests came to; the words of people in it stay."""
        host, repository, number = self._services.host, self._run.repository, opened.number

        async def write() -> int:
            live = await host.issue(repository, number)
            body = await self._describe(live, proved)
            if body is not None:
                await host.update_pull_request(repository, number, live.title, body)
            return number

        await write_once(self._services, self._run, f"result {head}", "description", write)

    async def mark_ready(
        self, opened: OpenedPullRequest, head: str, proved: VerifiedResult, step: str, text: str
    ) -> bool:
        """Make it a plain pull request, say there what it came to as :meth:`write_result` does, and below the issue how
        the run ended: all in one write.

        :param step: names the last state of the comment below the issue.
        :param text: of that comment.
        :returns: False, and nothing is said, where it is closed, or its head no longer the one that was proved.
        :raises CommitGone: what it was made on was taken back meanwhile.
        """
        host, repository, number = self._services.host, self._run.repository, opened.number
        await self._require_base(await fetch_mirror(self._services, self._run))
        await self._locks.require_held()

        async def write() -> int:
            body = await self._describe(await host.issue(repository, number), proved)
            edit = await self._status.build_edit(text)
            if await host.mark_ready(repository, number, body, edit):
                await self._status.record_shown(step, edit)
            return number

        live = await host.pull_request(repository, number)
        if not live.is_open or live.head_sha != head:
            return False
        await write_once(self._services, self._run, f"ready {head}", "pull_request_state", write)
        return True

    async def _describe(self, live: Issue, proved: VerifiedResult) -> str | None:
        """The description with the result in it; None if it stays as it is."""
        body = pull_request_texts.add_result(live.body, proved, await self._status.load_cost())
        return None if body is None or body == live.body else redact_outgoing(body)

    async def _push(self, head: str) -> JsonValue:
        """The branch; or, in a list, why there is none: that somebody moved it, or GitHub's reason."""
        mirror = await fetch_mirror(self._services, self._run)
        await self._require_base(mirror)
        await self._locks.require_held()
        branch = make_branch_name(self._run.number, self._begun.task.title)
        match await self._proposal.push(mirror, head, branch):
            case PushedBranch(name):
                return name
            case BranchMoved():
                return [branch, None]
            case refused:
                return [branch, refused.said]

    async def _require_base(self, mirror: Mirror) -> None:
        """That the default branch still holds the commit this was made on: what was taken back is not published again.

        :raises CommitGone: it does not.
        """
        live = await self._services.host.default_branch(self._run.repository)
        await mirror.fetch(live.head_sha, self._run.base_sha, self._run.number)
        if not await mirror.follows(live.head_sha, self._run.base_sha):
            raise CommitGone(
                f"{live.name} no longer holds {self._run.base_sha[:10]}, on which this was made: it was rewritten.",
                "Write /forge run to begin anew on what is there now.",
            )

    async def _end_not_pushed(self, why: JsonValue) -> RunEnd:
        assert isinstance(why, list)
        branch, refused = str(why[0]), why[1]
        spent = await self._status.load_cost()
        if refused is None:
            text = pull_request_texts.branch_moved(branch, spent=spent)
            return RunEnd(RunState.failed, ReasonCode.branch_moved, text)
        text = pull_request_texts.push_refused(branch, str(refused), spent=spent)
        return RunEnd(RunState.failed, ReasonCode.error, text)

    async def _open(self, branch: str, work: Sequence[TaskReport], tests: Sequence[str]) -> JsonValue:
        proposed = PullRequestDescription(
            issue=self._run.number,
            weighed=self._plan,
            work=work,
            tests=tests,
            model=self._services.models.names[ModelTier.strong],
            conditions=await list_conditions(self._services, self._run, proposed=False),
        )
        title = pull_request_texts.render_title(self._run.number, self._begun.task.title, self._plan.plan)
        body = pull_request_texts.render_body(proposed, self._proposal.marker)
        return (await self._proposal.open(branch, title, body)).number


def _list_task_reports(plan: RatedPlan, built: BuiltChange) -> list[TaskReport]:
    """What became of every task of the plan."""
    done = {each.task.id: each.worked for each in built.finished}
    return [
        TaskReport(task, done[task.id].summary, done[task.id].not_done)
        if task.id in done
        else TaskReport(task, not_done="The run ended before it.")
        for task in sort_tasks(plan.plan)
    ]
