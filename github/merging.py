"""Approves and merges pull requests on GitHub, and reads which checks they require."""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence

from pydantic import JsonValue

from domain.errors import Forbidden, NotFound, Unprocessable
from domain.github.pull_requests import (
    Approval,
    ChangeRequest,
    Merged,
    MergeMethod,
    MergeObstacle,
    NotMerged,
    Queued,
    RequiredCheck,
)
from domain.runs.run import RepositoryRef
from github.client import never_stop, quote_segment, repository_path, require_same
from github.conversation import GitHubConversation
from github.errors import bad_answer, error_message, quote, to_error
from github.issues import read_edits
from github.payloads.parsing import AccountShown, parse
from github.payloads.pulls import (
    DraftShown,
    LineShown,
    MergeAnswer,
    MergeSettings,
    NamedBranch,
    ProtectedBranch,
    PullShown,
    QueueAnswer,
    QueuedPull,
    QueueShown,
    ReviewShown,
    RuleShown,
)
from github.request import Document
from github.transport import Answer

_REFUSALS = (403, 405, 409)
_DRAFT = Document(
    "query",
    "($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { "
    "pull: pullRequest(number: $number) { draft: isDraft } } }",
)
_QUEUE = Document(
    "query",
    "($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { "
    "pull: pullRequest(number: $number) { id isMergeQueueEnabled isInMergeQueue } } }",
)
_ENQUEUE = Document(
    "mutation",
    "($pull: ID!, $head: GitObjectID!) { "
    "enqueuePullRequest(input: {pullRequestId: $pull, expectedHeadOid: $head}) { mergeQueueEntry { id } } }",
)
# GitHub's 405 has no code: https://docs.github.com/rest/pulls/pulls#merge-a-pull-request
_METHOD = re.compile(
    r"(merge commits|squash merges|rebase merges) are not allowed|must not contain merge commits|linear history",
    re.IGNORECASE,
)
_OBSTACLES = (
    (_METHOD, MergeObstacle.method),
    (re.compile(r"base branch was modified", re.IGNORECASE), MergeObstacle.base_moved),
    (re.compile(r"not mergeable|still a draft|conflict|is closed", re.IGNORECASE), MergeObstacle.not_mergeable),
)


class GitHubMerging(GitHubConversation):
    """Approvals and merges as an installation of the App does them."""

    async def approve(self, repository: RepositoryRef, number: int, head_sha: str, body: str) -> int:
        """Approve exactly this head; the review's id. GitHub takes an earlier head of the pull request, too.

        :raises Unprocessable: the pull request is the App's own, or never had this commit.
        """
        purpose = f"approve {head_sha[:7]} of {repository.full_name}#{number}"
        wanted: JsonValue = {"commit_id": head_sha, "event": "APPROVE", "body": body}
        made = await self._write(ReviewShown, repository, "POST", f"pulls/{number}/reviews", purpose, wanted)
        if (made.state, made.commit_id) != ("APPROVED", head_sha):
            raise bad_answer(purpose, f"a review {quote(made.state)} of another commit or kind")
        return made.id

    async def approvals(self, repository: RepositoryRef, number: int) -> Sequence[Approval]:
        """The App's own approvals, oldest first, of whatever head, also those that were dismissed."""
        return [
            Approval(
                id=one.id, head_sha=one.commit_id or "", body=one.body or "", is_dismissed=one.state == "DISMISSED"
            )
            for one in await self.own_reviews(repository, number, "")
            if one.state in {"APPROVED", "DISMISSED"}
        ]

    async def dismiss_approval(self, repository: RepositoryRef, number: int, review_id: int, message: str) -> None:
        """Dismiss an approval of the App's own, so that it counts no more.

        :raises Unprocessable: it is dismissed already.
        """
        purpose = f"dismiss Forge's approval of {repository.full_name}#{number}"
        wanted: JsonValue = {"message": message, "event": "DISMISS"}
        await self._send(repository, "PUT", f"pulls/{number}/reviews/{review_id}/dismissals", purpose, wanted)

    async def objections(self, repository: RepositoryRef, number: int) -> Collection[str]:
        """The logins of those whose newest review with an opinion requests changes and was not dismissed.

        As in GitHub's merge box: of each account, only the newest review that is more than a comment counts.
        """
        against = await self._latest_objections(repository, number)
        return ["ghost" if one.user is None else one.user.login for one in against]

    async def change_requests(self, repository: RepositoryRef, number: int, head_sha: str) -> Sequence[ChangeRequest]:
        """What those ask for whose newest review with an opinion is about this head and requests changes.

        An App's, and one whose account is gone, is left out.
        """
        against = await self._latest_objections(repository, number)
        return [
            await self._complete_request(repository, number, one, one.user)
            for one in against
            if one.user is not None and one.user.type == "User" and one.commit_id == head_sha
        ]

    async def _complete_request(
        self, repository: RepositoryRef, number: int, shown: ReviewShown, by: AccountShown
    ) -> ChangeRequest:
        lines = await self._lines_of_review(repository, number, shown.id)
        edits = await read_edits(self._client, repository, [shown.node_id, *(one.node_id for one in lines)])
        return ChangeRequest(
            login=by.login,
            account_id=by.id,
            body=shown.body or "",
            editors=frozenset(edit.writer for made in edits.values() for edit in made),
            comments=tuple((one.path, one.line or one.original_line, one.body or "") for one in lines),
        )

    async def _latest_objections(self, repository: RepositoryRef, number: int) -> list[ReviewShown]:
        """For each account, the newest review that is more than a comment, if it requests changes."""
        opinions: dict[int, ReviewShown] = {}
        for one in await self._reviews(repository, number, f"read the reviews of {repository.full_name}#{number}"):
            if one.state in {"APPROVED", "CHANGES_REQUESTED", "DISMISSED"}:
                opinions[0 if one.user is None else one.user.id] = one
        return [one for one in opinions.values() if one.state == "CHANGES_REQUESTED"]

    async def _lines_of_review(self, repository: RepositoryRef, number: int, review_id: int) -> list[LineShown]:
        purpose = f"read the comments of a review on {repository.full_name}#{number}"
        return await self._list(LineShown, repository, f"pulls/{number}/reviews/{review_id}/comments", purpose)

    async def own_reviews(self, repository: RepositoryRef, number: int, marker: str) -> list[ReviewShown]:
        """The App's own reviews with ``marker`` in their body, oldest first."""
        purpose = f"look for Forge's review on {repository.full_name}#{number}"
        ours = (await self.own_account(repository)).id
        reviews = await self._reviews(repository, number, purpose)
        return [one for one in reviews if one.user and one.user.id == ours and marker in (one.body or "")]

    async def _reviews(self, repository: RepositoryRef, number: int, purpose: str) -> list[ReviewShown]:
        """All reviews of a pull request, oldest first."""
        return await self._list(ReviewShown, repository, f"pulls/{number}/reviews", purpose)

    async def merge(
        self,
        repository: RepositoryRef,
        number: int,
        head_sha: str,
        method: MergeMethod | None = None,
        still: Callable[[], Awaitable[None]] | None = None,
    ) -> Merged | Queued | NotMerged:
        """Merge if the head is still this one. Looks first whether it is merged, so it may be repeated after a crash.

        Where the base requires a merge queue, the head is put into it, and never merged around it.

        :param method: without a queue; by default the first of merge, squash and rebase that the repository allows.
        :param still: asked right before the merge is sent, once it need not wait for other writes any more; what it
            raises keeps the merge from being sent.
        """
        pull = await self.read_pull(repository, number)
        if pull.head.sha != head_sha:
            return NotMerged(obstacle=MergeObstacle.head_moved, said=f"The head is {pull.head.sha[:7]} now.")
        if pull.merged:
            return Merged(sha=pull.merge_commit_sha or head_sha)
        queue = await self._read_queue(repository, number)
        if queue.is_enabled:
            return await self._enqueue(repository, number, head_sha, queue, still)
        refused = NotMerged(obstacle=MergeObstacle.method, said="No merge method is allowed.")
        for way in [method] if method else await self._list_methods(repository, pull.base.ref):
            result = await self._merge(repository, number, head_sha, way, still)
            if isinstance(result, Merged) or result.obstacle is not MergeObstacle.method:
                return result
            refused = result
        return refused

    async def is_queued(self, repository: RepositoryRef, number: int) -> bool:
        """Whether the pull request is in the merge queue of its base."""
        return (await self._read_queue(repository, number)).is_queued

    async def _read_queue(self, repository: RepositoryRef, number: int) -> QueuedPull:
        """REST says only of rulesets that they require a queue, and not at all what is in it."""
        purpose = f"read whether {repository.full_name}#{number} goes through a merge queue"
        data = await self._client.graphql(repository, _QUEUE, _name_pull(repository, number), purpose)
        return parse(QueueShown, data, purpose).repository.pull

    async def _enqueue(
        self,
        repository: RepositoryRef,
        number: int,
        head_sha: str,
        queue: QueuedPull,
        still: Callable[[], Awaitable[None]] | None,
    ) -> Queued | NotMerged:
        if queue.is_queued:
            return NotMerged(obstacle=MergeObstacle.queued, said="It is in the merge queue already.")
        purpose = f"put {repository.full_name}#{number} into the merge queue"
        asked = {"pull": queue.id, "head": head_sha}
        try:
            data = await self._client.graphql(repository, _ENQUEUE, asked, purpose, still or never_stop)
        except Unprocessable as error:
            return NotMerged(obstacle=MergeObstacle.protected, said=error.message)
        except Forbidden as error:
            return NotMerged(obstacle=MergeObstacle.not_allowed, said=error.message)
        if parse(QueueAnswer, data, purpose).enqueued.entry is None:
            raise bad_answer(purpose, "a success that queued nothing")
        return Queued()

    async def read_pull(self, repository: RepositoryRef, number: int) -> PullShown:
        purpose = f"read pull request {repository.full_name}#{number}"
        pull = await self._get(PullShown, repository, f"pulls/{number}", purpose)
        require_same(repository, pull.base.repo.id)
        if pull.draft is not None:
            return pull
        return pull.model_copy(update={"draft": await self._is_draft(repository, number, purpose)})

    async def _is_draft(self, repository: RepositoryRef, number: int, purpose: str) -> bool:
        """REST may leave that out. A draft that passed for a plain pull request would be reviewed and merged."""
        asked = _name_pull(repository, number)
        shown = parse(DraftShown, await self._client.graphql(repository, _DRAFT, asked, purpose), purpose)
        return shown.repository.pull.draft

    async def required_checks(self, repository: RepositoryRef, branch: str) -> Sequence[RequiredCheck] | None:
        """What branch protection and rulesets require of a branch; None if that cannot be known for certain.

        :raises NotFound: there is no such branch.
        """
        purpose = f"read what {branch} of {repository.full_name} requires"
        shown = await self._get(ProtectedBranch, repository, f"branches/{quote_segment(branch)}", purpose)
        rules = await self._rules(repository, branch)
        if rules is None:
            return None
        found: dict[tuple[str, int | None], RequiredCheck] = {}
        for checks in (shown.list_checks(), *(rule.list_checks() for rule in rules)):
            if checks is None:
                return None
            found |= {(check.name, check.app_id): check for check in checks}
        return list(found.values())

    async def list_protected_branches(self, repository: RepositoryRef) -> Sequence[str]:
        """The names of the branches to which branch protection or a ruleset applies."""
        purpose = f"list the protected branches of {repository.full_name}"
        return [
            branch.name
            for branch in await self._list(NamedBranch, repository, "branches", purpose, {"protected": "true"})
        ]

    async def _list_methods(self, repository: RepositoryRef, branch: str) -> list[MergeMethod]:
        """The merge methods that are not known to be off; GitHub hides the settings from some tokens."""
        purpose = f"read how {repository.full_name} merges"
        shown = await self._get(MergeSettings, repository, "", purpose)
        require_same(repository, shown.id)
        rules = await self._rules(repository, branch) or []
        return [way for way in MergeMethod if shown.allows(way) and all(rule.allows(way) for rule in rules)]

    async def _rules(self, repository: RepositoryRef, branch: str) -> list[RuleShown] | None:
        """The active rules of all rulesets for a branch; None if GitHub does not show them.

        Rulesets of private repositories need a paid plan; if GitHub says so, there are none.
        """
        purpose = f"read the rules for {branch} of {repository.full_name}"
        try:
            return await self._list(RuleShown, repository, f"rules/branches/{quote_segment(branch)}", purpose)
        except Forbidden as error:
            return [] if "upgrade to " in error.message.lower() else None
        except NotFound:
            return None

    async def _merge(
        self,
        repository: RepositoryRef,
        number: int,
        head_sha: str,
        way: MergeMethod,
        still: Callable[[], Awaitable[None]] | None,
    ) -> Merged | NotMerged:
        purpose = f"merge {repository.full_name}#{number}"
        response = await self._client.attempt(
            repository.installation_id,
            "PUT",
            f"{repository_path(repository)}/pulls/{number}/merge",
            purpose,
            {"sha": head_sha, "merge_method": way.value},
            _REFUSALS,
            still or never_stop,
        )
        answer = response.answer
        if answer.status == 403 and "suspended" in error_message(answer).lower():
            raise to_error(answer, purpose)
        if answer.status in _REFUSALS:
            return NotMerged(obstacle=_to_obstacle(answer), said=error_message(answer))
        made = parse(MergeAnswer, response.data, purpose)
        if not made.merged:
            raise bad_answer(purpose, "a success that merged nothing")
        return Merged(sha=made.sha)


def _name_pull(repository: RepositoryRef, number: int) -> dict[str, JsonValue]:
    """The variables of a query about a pull request."""
    owner, _, name = repository.full_name.partition("/")
    return {"owner": owner, "name": name, "number": number}


def _to_obstacle(answer: Answer) -> MergeObstacle:
    """The obstacle that GitHub names. A 405 with an unknown message counts as a rule of the branch."""
    if answer.status == 403:
        return MergeObstacle.not_allowed
    if answer.status == 409:
        return MergeObstacle.head_moved
    said = error_message(answer)
    return next((meant for pattern, meant in _OBSTACLES if pattern.search(said)), MergeObstacle.protected)
