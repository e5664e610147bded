"""Proposes changes as a pull request into the pull request whose findings they fix; it is reviewed like any other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from domain.github.pull_requests import PullRequest
from domain.review.line_edits import LineEdit
from domain.text.redaction import redact_outgoing
from messages.pushes import explain_refused_push
from pipeline.automation.level import find_opening_obstacle
from pipeline.feedback.answers.fix_proposal import OpenProposal, list_branches, name_push
from pipeline.feedback.answers.request import AnswerRequest
from pipeline.publishing import pull_requests
from pipeline.publishing.pull_requests import NotOpened
from pipeline.publishing.signing import find_signed
from pipeline.run_context import RunContext
from safety.line_edits import apply_edits
from workspace.mirror import Mirror
from workspace.push_result import BranchMoved, Pushed, PushRejected


@dataclass(frozen=True)
class BranchFix:
    """What a branch is made of.

    :param key: see :func:`pipeline.feedback.answers.fix_proposal.list_branches`.
    :param edits: path → its changes.
    :param message: of the commit.
    :param title, body: of the pull request.
    """

    key: str
    edits: Mapping[str, Sequence[LineEdit]]
    message: str
    title: str
    body: str


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


class ProposedFix(BaseModel):
    """Where the change is.

    :param branch: empty if it was not pushed.
    :param number: of the pull request; None if there is none.
    :param why: why it was not pushed or opened.
    """

    branch: str = ""
    number: int | None = None
    why: str = ""


async def find_obstacle(context: RunContext, into: PullRequest) -> str:
    """Why Forge may open no pull request with a fix, as a clause; empty if it may.

    :param into: the pull request whose head is fixed.
    """
    services, run = context.services, context.run
    if into.is_from_fork(run.repository.id):
        return "Forge does not write to forks"
    return await find_opening_obstacle(services, run.repository) or ""


@dataclass(frozen=True)
class FixBranch:
    """The branch and the pull request of one fix. The same fix has the same commit, so every step may be repeated.

    :param into: the pull request whose head is fixed.
    :param proposal: the open pull request that gets this fix instead of an earlier one.
    """

    context: RunContext
    request: AnswerRequest
    into: PullRequest
    fix: BranchFix
    proposal: OpenProposal | None = None

    async def propose(self) -> ProposedFix:
        """Push the commit and open the pull request, or renew the one that is open."""
        pushed = await self.context.journal.step("push the fix", self._push)
        if not pushed.branch:
            return ProposedFix(why=pushed.why)
        if self.proposal is not None:
            await self.context.journal.step("describe the pull request", self._describe, self.proposal)
            return ProposedFix(branch=pushed.branch, number=self.proposal.number)
        opened = await self.context.journal.step("open the pull request", self._open, pushed.branch)
        return ProposedFix(branch=pushed.branch, number=opened.number, why=opened.why)

    async def is_proposed(self, proposal: OpenProposal) -> bool:
        """Whether an open pull request has just this change."""
        mirror = await self.context.fetch_mirror()
        return await mirror.tree_of(await self._commit(mirror)) == await mirror.tree_of(proposal.head_sha)

    async def _push(self) -> PushedFix:
        services = self.context.services
        if not await self.request.may_still_ask(services):
            return PushedFix(why="whoever asked may not any more")
        mirror = await self.context.fetch_mirror()
        sha = await self._commit(mirror)
        if self.proposal is not None:
            return await self._renew(mirror, sha, self.proposal)
        names = list(list_branches(self.context.run, self.fix.key))
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
        run, edits = self.context.run, self.fix.edits
        contents = await mirror.read(run.head_sha, list(edits))
        changed = {path: apply_edits(contents[path], each) for path, each in edits.items()}
        signature, at = await self.context.load_stamp()
        earlier = None if self.proposal is None else self.proposal.head_sha
        return await mirror.commit(run.head_sha, changed, redact_outgoing(self.fix.message), signature, at, earlier)

    async def _push_to(
        self, mirror: Mirror, sha: str, branch: str, expected: str | None = None
    ) -> Pushed | BranchMoved | PushRejected:
        async def is_pushed() -> bool:
            services, repository = self.context.services, self.context.run.repository
            return await mirror.head_of(branch) == await find_signed(services, repository, sha)

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
        await pull_requests.describe(services, repository, proposal.number, self.fix.title, self.fix.body)

    async def _open(self, branch: str) -> OpenedFix:
        services, run, fix = self.context.services, self.context.run, self.fix
        try:
            opened = await pull_requests.open_fix_once(services, run, branch, self.into.head_ref, fix.title, fix.body)
        except NotOpened as error:
            return OpenedFix(why=error.message)
        return OpenedFix(number=opened)
