"""Proposes a change as a pull request into the pull request whose finding it fixes; it is reviewed like any other."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from domain.review.line_edits import LineEdit
from domain.text.redaction import redact_outgoing
from memory.runs import runs
from messages import fixes as texts
from messages.pushes import explain_refused_push
from pipeline.feedback.answers.finding import FixableFinding
from pipeline.feedback.answers.fix_proposal import OpenProposal, list_branches, name_push
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.publishing import pull_requests
from pipeline.publishing.pull_requests import NotOpened
from pipeline.run_context import RunContext
from safety.line_edits import apply_edits
from workspace.mirror import Mirror
from workspace.push_result import BranchMoved, Pushed, PushRejected


class PushedFix(BaseModel):
    """Where the commit is; in journals.

    :param branch: empty if it was not pushed; ``why`` says why.
    """

    branch: str = ""
    why: str = ""


class OpenedFix(BaseModel):
    """The pull request; in journals.

    :param number: None if GitHub did not take it; ``why`` says why.
    """

    number: int | None = None
    why: str = ""


@dataclass(frozen=True)
class FixBranch:
    """The branch and the pull request of one fix. The same fix has the same commit, so every step may be repeated.

    :param is_tried: the test that shows the finding passes with it.
    :param proposal: the open pull request that gets this fix instead of an earlier one.
    """

    context: RunContext
    request: AnswerRequest
    known: FixableFinding
    edits: Sequence[LineEdit]
    summary: str
    is_tried: bool = False
    proposal: OpenProposal | None = None

    async def propose(self) -> str:
        """Push the commit and open the pull request, or renew the one that is open; the answer."""
        finding = self.known.finding
        pushed = await self.context.journal.step("push the fix", self._push)
        if not pushed.branch:
            return texts.show_fix(finding, self.edits, pushed.why, self.summary, is_tried=self.is_tried)
        if self.proposal is not None:
            await self.context.journal.step("describe the pull request", self._describe, self.proposal)
            return texts.confirm_renewal(finding, self.proposal.number, self.summary)
        opened = await self.context.journal.step("open the pull request", self._open, pushed.branch)
        if opened.number is None:
            return texts.report_unopened(finding, pushed.branch, opened.why)
        return texts.confirm_pull_request(finding, opened.number, self.known.pull_request.head_ref, self.summary)

    async def _push(self) -> PushedFix:
        services = self.context.services
        if not await self.request.may_still_ask(services):
            return PushedFix(why="whoever asked may not any more")
        mirror = await self.context.fetch_mirror()
        sha = await self._commit(mirror)
        if self.proposal is not None:
            return await self._renew(mirror, sha, self.proposal)
        names = list(list_branches(self.context.run, self.known.finding))
        for name in names:
            result = await self._push_to(mirror, sha, name)
            if isinstance(result, Pushed):
                return PushedFix(branch=name)
            if isinstance(result, PushRejected):
                return PushedFix(why=f"GitHub did not take the branch: {explain_refused_push(result.said)}")
        return PushedFix(why=f"all names for its branch are taken, such as {names[0]}")

    async def _renew(self, mirror: Mirror, sha: str, proposal: OpenProposal) -> PushedFix:
        result = await self._push_to(mirror, sha, proposal.branch, proposal.head_sha)
        if isinstance(result, Pushed):
            return PushedFix(branch=proposal.branch)
        if isinstance(result, PushRejected):
            said = explain_refused_push(result.said)
            return PushedFix(why=f"GitHub did not take the new version of #{proposal.number}: {said}")
        return PushedFix(why=f"the branch of #{proposal.number} changed meanwhile")

    async def _commit(self, mirror: Mirror) -> str:
        services, run, path = self.context.services, self.context.run, self.known.finding.path
        content = (await mirror.read(run.head_sha, [path]))[path]
        message = redact_outgoing(texts.render_commit_message(self.known.finding, run.id))
        signature = await services.host.signature(run.repository)
        at = await runs.get_started_at(services.database, run.id) or self.context.now()
        changed = {path: apply_edits(content, self.edits)}
        earlier = None if self.proposal is None else self.proposal.head_sha
        return await mirror.commit(run.head_sha, changed, message, signature, at, earlier)

    async def _push_to(
        self, mirror: Mirror, sha: str, branch: str, expected: str | None = None
    ) -> Pushed | BranchMoved | PushRejected:
        async def is_pushed() -> bool:
            return await mirror.head_of(branch) == sha

        return await pull_requests.push_once(
            self.context.services,
            self.context.run,
            name_push(branch, sha),
            mirror,
            sha,
            branch,
            expected,
            is_pushed=is_pushed,
            for_accounts=[self.request.comment.sender.id],
        )

    async def _describe(self, proposal: OpenProposal) -> None:
        services, repository = self.context.services, self.context.run.repository
        await pull_requests.describe(services, repository, proposal.number, *self._render())

    async def _open(self, branch: str) -> OpenedFix:
        services, run = self.context.services, self.context.run
        base = self.known.pull_request.head_ref
        title, body = self._render()
        try:
            return OpenedFix(number=await pull_requests.open_fix_once(services, run, branch, base, title, body))
        except NotOpened as error:
            return OpenedFix(why=error.message)

    def _render(self) -> tuple[str, str]:
        """The title and the description."""
        login = self.request.comment.sender.login
        return texts.render_pull_request(
            self.known.finding, self.context.run.number, self.summary, login, self.is_tried
        )
