"""Hands in what an issue's run made: a branch and a draft pull request, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agents.llm.models import Task as Strength
from domain.errors import CommitGone
from domain.github.branches import branch_of
from domain.github.issues import Issue
from domain.runs.plan import Weighed, in_order
from domain.runs.run import ReasonCode, Run, RunState
from domain.text.redaction import outgoing
from messages import pull_request as pull_request_texts
from messages.pull_request import Proposed, Proved, TaskReport
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import conditions
from pipeline.issue.branch import Placed, Proposal
from pipeline.issue.contract_locks import Locks
from pipeline.issue.implementation import Built
from pipeline.issue.planning import Begun, Ended
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.publishing.publisher import Publisher
from workspace.mirror import Mirror
from workspace.push_result import Moved


@dataclass(frozen=True)
class Opened:
    """The run's pull request."""

    number: int
    branch: str


class HandingIn:
    """Brings what an issue's run made before people.

    :param locks: on the contracts it changes.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        begun: Begun,
        plan: Weighed,
        locks: Locks,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._begun = begun
        self._plan = plan
        self._locks = locks
        self._proposal = Proposal(services, run)
        self._status = IssueStatus(services, run)

    async def hand_in(self, built: Built) -> Opened | Ended:
        """Propose what was made, also where it is only a part, or push what was made since; how the run ends else."""
        work = _work(self._plan, built)
        if built.head == self._run.base_sha:
            unchanged = pull_request_texts.nothing_changed(work, spent=await self._status.spent())
            return built.ended or Ended(RunState.completed, ReasonCode.unchanged, unchanged)
        placed = await self._journal.step("push the branch", lambda: self._push(built.head))
        if not isinstance(placed, str):
            return await self._not_pushed(placed)
        opened = await self._journal.step("open the pull request", lambda: self._open(placed, work, built.tests_added))
        return Opened(int(str(opened)), placed)

    async def tell_result(self, opened: Opened, head: str, proved: Proved) -> None:
        """Say in the description what the review and the tests came to; the words of people in it stay."""
        host, repository, number = self._services.host, self._run.repository, opened.number

        async def write() -> int:
            live = await host.issue(repository, number)
            body = await self._described(live, proved)
            if body is not None:
                await host.update_pull_request(repository, number, live.title, body)
            return number

        await Publisher.of(self._services).once(self._run, f"result {head}", "description", _no_trace, write)

    async def mark_ready(self, opened: Opened, head: str, proved: Proved, step: str, text: str) -> bool:
        """Make it a plain pull request, say there what it came to as :meth:`tell_result` does, and below the issue how
        the run ended: all in one write.

        :param step: names the last state of the comment below the issue.
        :param text: of that comment.
        :returns: False, and nothing is said, where it is closed, or its head no longer the one that was proved.
        :raises CommitGone: what it was made on was taken back meanwhile.
        """
        host, repository, number = self._services.host, self._run.repository, opened.number
        await self._require_base(await fetch_mirror(self._services, self._run))
        await self._locks.require()

        async def write() -> int:
            body = await self._described(await host.issue(repository, number), proved)
            edit = await self._status.edit(text)
            if await host.mark_ready(repository, number, body, edit):
                await self._status.shown(step, edit)
            return number

        live = await host.pull_request(repository, number)
        if not live.is_open or live.head_sha != head:
            return False
        await Publisher.of(self._services).once(self._run, f"ready {head}", "pull_request_state", _no_trace, write)
        return True

    async def _described(self, live: Issue, proved: Proved) -> str | None:
        """The description with the result in it; None if it stays as it is."""
        body = pull_request_texts.with_result(live.body, proved, await self._status.spent())
        return None if body is None or body == live.body else outgoing(body)

    async def _push(self, head: str) -> JsonValue:
        """The branch; or, in a list, why there is none: that somebody moved it, or GitHub's reason."""
        mirror = await fetch_mirror(self._services, self._run)
        await self._require_base(mirror)
        await self._locks.require()
        branch = branch_of(self._run.number, self._begun.task.title)
        match await self._proposal.push(mirror, head, branch):
            case Placed(name):
                return name
            case Moved():
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

    async def _not_pushed(self, why: JsonValue) -> Ended:
        assert isinstance(why, list)
        branch, refused = str(why[0]), why[1]
        spent = await self._status.spent()
        if refused is None:
            text = pull_request_texts.branch_moved(branch, spent=spent)
            return Ended(RunState.failed, ReasonCode.branch_moved, text)
        text = pull_request_texts.push_refused(branch, str(refused), spent=spent)
        return Ended(RunState.failed, ReasonCode.error, text)

    async def _open(self, branch: str, work: Sequence[TaskReport], tests: Sequence[str]) -> JsonValue:
        proposed = Proposed(
            issue=self._run.number,
            weighed=self._plan,
            work=work,
            tests=tests,
            model=self._services.models.names[Strength.strong],
            conditions=await conditions(self._services, self._run, proposed=False),
        )
        title = pull_request_texts.title(self._run.number, self._begun.task.title, self._plan.plan)
        body = pull_request_texts.body(proposed, self._proposal.marker)
        return (await self._proposal.open(branch, title, body)).number


async def _no_trace() -> int | None:
    """It may be said twice; it is the same."""
    return None


def _work(plan: Weighed, built: Built) -> list[TaskReport]:
    """What became of every task of the plan."""
    done = {each.task.id: each.worked for each in built.finished}
    return [
        TaskReport(task, done[task.id].summary, done[task.id].not_done)
        if task.id in done
        else TaskReport(task, not_done="The run ended before it.")
        for task in in_order(plan.plan)
    ]
