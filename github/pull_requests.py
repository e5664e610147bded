"""Reads and reviews pull requests on GitHub, and opens Forge's own from a branch of the repository."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from pydantic import JsonValue

from domain.errors import CodeHostError, Forbidden, NotFound, Unprocessable
from domain.github.commits import Commit, Push
from domain.github.conversation import CommentEdit
from domain.github.installations import RepositoryTraits
from domain.github.pull_requests import Branch, DraftReview, InlineComment, MergedPull, PullRequest
from domain.runs.run import RepositoryRef
from domain.value import Value
from github.client import quote_segment
from github.errors import bad_answer
from github.merging import GitHubMerging
from github.payloads.parsing import Created, parse
from github.payloads.pulls import ActivityShown, BranchTip, CommitShown, ListedPull, PullShown
from github.request import Document

_PERIODS = {"day": 1, "week": 7, "month": 28}  # of the list of activities: its name, and how many days it surely has
_NO_DRAFTS = "draft pull requests are not supported"  # private repositories without a paid plan
_DESCRIBE = "updatePullRequest(input: {pullRequestId: $pull, body: $body}) { clientMutationId }"
_MARK = "done: markPullRequestReadyForReview(input: {pullRequestId: $pull}) { pull: pullRequest { draft: isDraft } }"
_SAY = "updateIssueComment(input: {id: $comment, body: $said}) { clientMutationId }"


class _Write(NamedTuple):
    """One mutation, with its declared variables and their values."""

    declares: str
    does: str
    values: Mapping[str, JsonValue]


class _Node(Value):
    node_id: str


class _Review(Value):
    body: str | None


class _ReadyAnswer(Value):
    class _Payload(Value):
        class _Pull(Value):
            draft: bool

        pull: _Pull

    done: _Payload


class GitHubPullRequests(GitHubMerging):
    """Opens pull requests as an installation of the App, and keeps them up to date."""

    async def default_branch(self, repository: RepositoryRef) -> Branch:
        """The branch that changes are proposed to.

        :raises NotFound: the repository is gone, or has no commit yet.
        """
        return await self.branch(repository, (await self.home(repository)).default_branch)

    async def branch(self, repository: RepositoryRef, name: str) -> Branch:
        """A branch as it is now.

        :raises NotFound: there is none of this name.
        """
        purpose = f"read the branch {name} of {repository.full_name}"
        return (await self._get(BranchTip, repository, f"branches/{quote_segment(name)}", purpose)).to_domain()

    async def traits(self, repository: RepositoryRef) -> RepositoryTraits:
        """What GitHub says about a repository as a whole.

        :raises NotFound: it is gone, or its name belongs to another one now.
        """
        home = await self.home(repository)
        try:
            await self.default_branch(repository)
            has_commits = True
        except NotFound:
            has_commits = False
        return RepositoryTraits(
            default_branch=home.default_branch,
            is_archived=home.archived,
            is_fork=home.fork,
            has_issues=home.has_issues,
            has_commits=has_commits,
        )

    async def find_pull_request(self, repository: RepositoryRef, head_branch: str) -> PullRequest | None:
        """The open pull request from this branch of the repository itself, whoever opened it; of several the oldest.

        GitHub ignores a filter that it does not understand, so this filters again.
        """
        purpose = f"look for a pull request from {head_branch} of {repository.full_name}"
        owner = (await self.home(repository)).owner.login  # the filter does not know former names
        query = {"state": "open", "head": f"{owner}:{head_branch}"}
        listed = await self._list(ListedPull, repository, "pulls", purpose, query)
        numbers = [one.number for one in listed if one.comes_from(repository.id, head_branch)]
        if not numbers:
            return None
        pull = (await self.read_pull(repository, min(numbers))).to_domain()
        return pull if pull.is_open else None

    async def find_merged_pull(self, repository: RepositoryRef, sha: str) -> MergedPull | None:
        """The merged pull request that brought a commit into its branch; None if it was pushed directly.

        GitHub names the pull requests of a commit of the default branch by which it came there.
        """
        purpose = f"find the pull request that brought {sha[:7]} into {repository.full_name}"
        try:
            listed = await self._list(ListedPull, repository, f"commits/{quote_segment(sha)}/pulls", purpose)
        except (NotFound, Unprocessable):
            return None
        merged = [pull for pull in listed if pull.merged_at is not None]
        merged.sort(key=lambda pull: (pull.merge_commit_sha != sha, -pull.number))
        return None if not merged else MergedPull(merged[0].number, merged[0].title, merged[0].head.sha)

    async def open_pull_request(
        self, repository: RepositoryRef, head_branch: str, base_branch: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        """Propose a branch of the repository itself. Where GitHub offers no drafts it becomes a plain pull request.

        :param title: at most 256 characters.
        :param body: at most 65,536 characters.
        :raises Unprocessable: there is an open one already, a branch is missing, nothing differs, a text is too long.
        """
        wanted: dict[str, JsonValue] = {"title": title, "head": head_branch, "base": base_branch, "body": body}
        try:
            return await self._open(repository, {**wanted, "draft": draft})
        except Unprocessable as error:  # so nothing was opened
            if not draft or _NO_DRAFTS not in error.message.lower():
                raise
        return await self._open(repository, {**wanted, "draft": False})

    async def mark_ready(
        self, repository: RepositoryRef, number: int, body: str | None = None, said: CommentEdit | None = None
    ) -> bool:
        """Make a draft a plain pull request, describe it anew and edit a comment, all in one write.

        One that is no draft is only described. Only GraphQL can, and the App needs to write contents for it:
        https://github.com/cli/cli/issues/8910

        :param body: at most 65,536 characters; None leaves what is there.
        :returns: whether the comment was edited: never one that is gone, and only of a draft.
        """
        pull = await self.read_pull(repository, number)
        if not pull.draft:
            if body is not None:
                await self.update_pull_request(repository, number, pull.title, body)
            return False
        purpose = f"mark {repository.full_name}#{number} as ready for review"
        comment = None if said is None else await self._comment(repository, said.comment_id)
        writes = [_Write("$pull: ID!", _MARK, {"pull": pull.node_id})]
        if body is not None:
            writes.insert(0, _Write("$body: String!", _DESCRIBE, {"body": body}))
        if said is not None and comment is not None:
            writes.append(_Write("$comment: ID!, $said: String!", _SAY, {"comment": comment, "said": said.body}))
        try:
            data = await self._write_together(repository, writes, purpose)
        except CodeHostError:
            if (await self.read_pull(repository, number)).draft:
                raise
            return await self.mark_ready(repository, number, body)  # GitHub did a part of it; do the rest
        if parse(_ReadyAnswer, data, purpose).done.pull.draft:
            raise bad_answer(purpose, "a success that left it a draft")
        return comment is not None

    async def _write_together(self, repository: RepositoryRef, writes: Sequence[_Write], purpose: str) -> object:
        """Make several writes with one request, in their order."""
        declared = ", ".join(write.declares for write in writes)
        document = Document("mutation", f"({declared}) {{\n  " + "\n  ".join(write.does for write in writes) + "\n}")
        values = {name: value for write in writes for name, value in write.values.items()}
        return await self._client.graphql(repository, document, values, purpose)

    async def _comment(self, repository: RepositoryRef, comment_id: int) -> str | None:
        """A comment's node id for GraphQL; None if it is gone."""
        purpose = f"read a comment in {repository.full_name}"
        try:
            return (await self._get(_Node, repository, f"issues/comments/{comment_id}", purpose)).node_id
        except NotFound:
            return None

    async def update_pull_request(self, repository: RepositoryRef, number: int, title: str, body: str) -> None:
        """Replace the title and description; the limits are those of ``open_pull_request``."""
        purpose = f"update pull request {repository.full_name}#{number}"
        wanted: JsonValue = {"title": title, "body": body}
        await self._send(repository, "PATCH", f"pulls/{number}", purpose, wanted)

    async def _open(self, repository: RepositoryRef, wanted: dict[str, JsonValue]) -> PullRequest:
        purpose = f"open a pull request from {wanted['head']} of {repository.full_name}"
        made = await self._write(PullShown, repository, "POST", "pulls", purpose, wanted)
        return (
            made if made.draft is not None else made.model_copy(update={"draft": wanted["draft"] is True})
        ).to_domain()

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequest:
        return (await self.read_pull(repository, number)).to_domain()

    async def pull_commits(self, repository: RepositoryRef, number: int) -> Sequence[Commit]:
        """The commits of a pull request, oldest first; at most :data:`domain.github.commits.MOST_COMMITS`."""
        purpose = f"list the commits of {repository.full_name}#{number}"
        listed = await self._list(CommitShown, repository, f"pulls/{number}/commits", purpose)
        return [item.to_domain() for item in listed]

    async def pushes_to(self, repository: RepositoryRef, branch: str, age: timedelta | None = None) -> Sequence[Push]:
        """Who moved a branch of the repository when, newest first.

        Nothing where GitHub keeps no such list, or does not show it.

        :param age: how far back, at least; None: all.
        """
        purpose = f"list who pushed to a branch of {repository.full_name}"
        query = {"ref": f"refs/heads/{branch}"}
        period = next((name for name, days in _PERIODS.items() if age is not None and age < timedelta(days=days)), None)
        if period is not None:
            query["time_period"] = period
        try:
            listed = await self._list(ActivityShown, repository, "activity", purpose, query)
        except (Forbidden, NotFound):  # an Enterprise Server without it
            return ()
        found = [item.to_domain() for item in listed]
        return [push for push in found if push is not None]

    async def open_pull_requests(self, repository: RepositoryRef, head_sha: str) -> Sequence[PullRequest]:
        """Open pull requests with this head, also from forks.

        Asks for the commit's pull requests, then searches all open ones, because GitHub leaves out forks there.
        """
        numbers = await self._numbers_by_commit(repository, head_sha) or await self._numbers_by_scan(
            repository, head_sha
        )
        pulls = [await self.pull_request(repository, number) for number in numbers]
        return [pull for pull in pulls if pull.is_open and pull.head_sha == head_sha]

    async def find_review(self, repository: RepositoryRef, number: int, marker: str) -> int | None:
        """The id of the App's own review whose body holds ``marker``."""
        found = await self.own_reviews(repository, number, marker)
        return found[0].id if found else None

    async def create_review(self, repository: RepositoryRef, number: int, review: DraftReview) -> int:
        """Create the review; raises ``Unprocessable`` if GitHub refuses any of its positions, or what it is to be."""
        purpose = f"post the review on {repository.full_name}#{number}"
        body: JsonValue = {
            "commit_id": review.head_sha,
            "event": review.event.value,
            "body": review.body,
            "comments": [_comment(comment) for comment in review.comments],
        }
        return (await self._write(Created, repository, "POST", f"pulls/{number}/reviews", purpose, body)).id

    async def review_body(self, repository: RepositoryRef, number: int, review_id: int) -> str:
        """What a review says, apart from its comments.

        :raises NotFound: there is none.
        """
        purpose = f"read the review on {repository.full_name}#{number}"
        return (await self._get(_Review, repository, f"pulls/{number}/reviews/{review_id}", purpose)).body or ""

    async def edit_review(self, repository: RepositoryRef, number: int, review_id: int, body: str) -> None:
        """Change the body of a review of the own account.

        :raises NotFound: there is none.
        """
        purpose = f"edit the review on {repository.full_name}#{number}"
        await self._send(repository, "PUT", f"pulls/{number}/reviews/{review_id}", purpose, {"body": body})

    async def _numbers_by_commit(self, repository: RepositoryRef, head_sha: str) -> list[int]:
        purpose = f"find the pull requests of {head_sha[:7]} in {repository.full_name}"
        try:
            listed = await self._list(ListedPull, repository, f"commits/{quote_segment(head_sha)}/pulls", purpose)
        except (NotFound, Unprocessable):  # the commit is known in the fork only
            return []
        return _open_with_head(listed, head_sha)

    async def _numbers_by_scan(self, repository: RepositoryRef, head_sha: str) -> list[int]:
        purpose = f"list the open pull requests of {repository.full_name}"
        return _open_with_head(await self._list(ListedPull, repository, "pulls", purpose, {"state": "open"}), head_sha)


def _open_with_head(pulls: Sequence[ListedPull], head_sha: str) -> list[int]:
    return [pull.number for pull in pulls if pull.state == "open" and pull.head.sha == head_sha]


def _comment(comment: InlineComment) -> JsonValue:
    """A review comment; GitHub refuses a range of one line, so that is sent as a line."""
    body: dict[str, JsonValue] = {
        "path": comment.path,
        "line": comment.line,
        "side": "RIGHT",
        "body": comment.body,
    }
    if comment.start_line < comment.line:
        body |= {"start_line": comment.start_line, "start_side": "RIGHT"}
    return body
