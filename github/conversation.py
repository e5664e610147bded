"""Reads and writes comments, replies, reactions and review threads on GitHub."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from pydantic import Field, JsonValue

from domain.errors import NotFound
from domain.github.commits import AN_APP
from domain.github.conversation import (
    CommentKind,
    CommentRef,
    Reaction,
    Remark,
    ReviewThread,
    ThreadComment,
    Thumb,
    ThumbGiven,
)
from domain.runs.run import RepositoryRef
from domain.value import Value
from github.client import Client, quote_segment, repository_path, require_same
from github.errors import bad_answer
from github.payloads.apps import AppShown
from github.payloads.parsing import (
    AccountShown,
    Actor,
    Created,
    Node,
    RepositoryHome,
    RepositoryShown,
    Shape,
    parse,
    parse_all,
)
from github.request import Document

MAX_PAGES = 50

_THREADS = Document(
    "query",
    """($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    databaseId
    pullRequest(number: $number) {
      reviewThreads(first: 50, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved path line resolvedBy { databaseId }
          comments(first: 100) {
            pageInfo { hasNextPage }
            nodes { fullDatabaseId body author { __typename ... on User { databaseId } ... on Bot { databaseId } } }
          }
        }
      }
    }
  }
}""",
)
_RESOLVE = Document(
    "mutation",
    """($thread: ID!) {
  resolveReviewThread(input: {threadId: $thread}) { thread { isResolved } }
}""",
)
_UNRESOLVE = Document(
    "mutation",
    """($thread: ID!) {
  unresolveReviewThread(input: {threadId: $thread}) { thread { isResolved } }
}""",
)
_FOLD = Document(
    "mutation",
    """($subject: ID!) {
  minimizeComment(input: {subjectId: $subject, classifier: OUTDATED}) { minimizedComment { __typename isMinimized } }
}""",
)
_UNFOLD = Document(
    "mutation",
    """($subject: ID!) {
  unminimizeComment(input: {subjectId: $subject}) { unminimizedComment { __typename isMinimized } }
}""",
)
_REACT = Document(
    "mutation",
    """($subject: ID!, $content: ReactionContent!) {
  addReaction(input: {subjectId: $subject, content: $content}) { reaction { content } }
}""",
)
_CONTENTS = {Reaction.seen: "EYES", Reaction.done: "THUMBS_UP", Reaction.confused: "CONFUSED"}
_REACTIONS = {CommentKind.issue_comment: "issues", CommentKind.review_comment: "pulls"}


class _Comment(Node):
    full_database_id: int  # may pass 32 bits, so GitHub sends a string
    author: Actor | None
    body: str = ""


class _Page(Node):
    has_next_page: bool
    end_cursor: str | None = None


class _Comments(Node):
    page_info: _Page
    nodes: tuple[_Comment, ...]


class _Thread(Node):
    id: str
    is_resolved: bool
    path: str = ""
    line: int | None = None
    resolved_by: Actor | None = None
    comments: _Comments

    def to_domain(self) -> ReviewThread:
        shown = self.comments.nodes
        return ReviewThread(
            id=self.id,
            is_resolved=self.is_resolved,
            path=self.path,
            line=self.line,
            resolved_by=None if self.resolved_by is None else self.resolved_by.database_id,
            comments=tuple(
                ThreadComment(
                    id=one.full_database_id,
                    author_id=one.author.database_id if one.author else None,
                    body=one.body,
                    is_person=one.author is not None and one.author.typename == "User",
                )
                for one in shown
            ),
            is_whole=not self.comments.page_info.has_next_page,
        )


class _Threads(Node):
    page_info: _Page
    nodes: tuple[_Thread, ...]


class _PullRequest(Node):
    review_threads: _Threads


class _Repository(Node):
    database_id: int
    pull_request: _PullRequest


class _Found(Node):
    repository: _Repository


class _Named(Value):
    node_id: str


class _Remark(Value):
    """A comment of any kind over REST."""

    id: int
    node_id: str
    user: AccountShown | None
    body: str | None
    in_reply_to_id: int | None = None

    def to_domain(self, ours: int) -> Remark:
        is_own = self.user is not None and self.user.id == ours
        by = None if self.user is None else self.user.id if is_own or self.user.type == "User" else AN_APP
        return Remark(id=self.id, node_id=self.node_id, author_id=by, body=self.body or "", is_own=is_own)


class _Thumbs(Value):
    """How many of each a comment has."""

    up: int = Field(default=0, alias="+1")
    down: int = Field(default=0, alias="-1")


class _ReviewComment(Value):
    id: int
    reactions: _Thumbs = _Thumbs()

    @property
    def has_thumbs(self) -> bool:
        return bool(self.reactions.up or self.reactions.down)


class _Given(Value):
    """A reaction; ``user`` is missing if the account was deleted."""

    user: AccountShown | None
    content: str

    def to_domain(self, comment_id: int) -> ThumbGiven | None:
        if self.user is None or self.content not in set(Thumb):
            return None
        return ThumbGiven(
            comment_id=comment_id,
            account_id=self.user.id,
            login=self.user.login,
            is_person=self.user.type == "User",
            thumb=Thumb(self.content),
        )


class GitHubConversation:
    """Reads and writes comments as the App."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._bot: AccountShown | None = None

    async def _get(
        self,
        shape: type[Shape],
        repository: RepositoryRef,
        path: str,
        purpose: str,
        query: Mapping[str, str | int] | None = None,
    ) -> Shape:
        """One object of a repository.

        :param path: below the repository's address; empty: the repository itself.
        :param purpose: completes "Could not …".
        """
        address = "/".join(filter(None, (repository_path(repository), path)))
        return parse(shape, await self._client.get(repository.installation_id, address, purpose, query), purpose)

    async def _list(
        self,
        shape: type[Shape],
        repository: RepositoryRef,
        path: str,
        purpose: str,
        query: Mapping[str, str | int] | None = None,
        key: str | None = None,
    ) -> list[Shape]:
        """A whole list of a repository, as :meth:`github.client.Client.items` reads it."""
        address = f"{repository_path(repository)}/{path}"
        return parse_all(
            shape, await self._client.items(repository.installation_id, address, purpose, query, key), purpose
        )

    async def _send(
        self, repository: RepositoryRef, method: str, path: str, purpose: str, body: JsonValue = None
    ) -> object:
        """One write in a repository; what GitHub answers."""
        address = f"{repository_path(repository)}/{path}"
        return await self._client.write(repository.installation_id, method, address, purpose, body)

    async def _write(
        self, shape: type[Shape], repository: RepositoryRef, method: str, path: str, purpose: str, body: JsonValue
    ) -> Shape:
        """One write in a repository, and what it made."""
        return parse(shape, await self._send(repository, method, path, purpose, body), purpose)

    async def react(self, repository: RepositoryRef, comment: CommentRef, reaction: Reaction) -> None:
        """Give a reaction; giving it again changes nothing. To the body of a review, only GraphQL can."""
        purpose = f"react to a comment in {repository.full_name}"
        if comment.kind is CommentKind.review:
            variables: dict[str, JsonValue] = {"subject": comment.node_id, "content": _CONTENTS[reaction]}
            await self._client.graphql(repository, _REACT, variables, purpose)
            return
        await self._send(
            repository,
            "POST",
            f"{_REACTIONS[comment.kind]}/comments/{comment.id}/reactions",
            purpose,
            {"content": reaction.value},
        )

    async def find_comment(self, repository: RepositoryRef, number: int, marker: str) -> int | None:
        """The id of the App's own comment below an issue or pull request whose body holds ``marker``."""
        purpose = f"look for Forge's comment on {repository.full_name}#{number}"
        remarks = await self._list(_Remark, repository, f"issues/{number}/comments", purpose)
        return await self._own(repository, remarks, marker)

    async def create_comment(self, repository: RepositoryRef, number: int, body: str) -> int:
        """Comment below an issue or pull request."""
        purpose = f"comment on {repository.full_name}#{number}"
        return await self._say(repository, f"issues/{number}/comments", purpose, body)

    async def edit_comment(self, repository: RepositoryRef, comment_id: int, body: str) -> None:
        """Change the App's own comment below an issue or pull request."""
        purpose = f"edit a comment in {repository.full_name}"
        await self._send(repository, "PATCH", f"issues/comments/{comment_id}", purpose, {"body": body})

    async def edit_review_comment(self, repository: RepositoryRef, comment_id: int, body: str) -> None:
        """Change the App's own comment on a line of the diff.

        :raises NotFound: somebody deleted it.
        """
        purpose = f"edit a review comment in {repository.full_name}"
        await self._send(repository, "PATCH", f"pulls/comments/{comment_id}", purpose, {"body": body})

    async def fold_comment(self, repository: RepositoryRef, comment_id: int, *, folded: bool) -> None:
        """Fold the App's own comment below an issue or pull request as outdated, or unfold it; done twice is done once.

        Only GraphQL can, and it needs the node id.

        :raises NotFound: somebody deleted it.
        """
        purpose = f"{'fold' if folded else 'unfold'} a comment in {repository.full_name}"
        found = await self._get(_Named, repository, f"issues/comments/{comment_id}", purpose)
        document = _FOLD if folded else _UNFOLD
        await self._client.graphql(repository, document, {"subject": found.node_id}, purpose)

    async def add_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Put a label on an issue or pull request; one it has already stays, and one that is new is created."""
        purpose = f"label {repository.full_name}#{number}"
        await self._send(repository, "POST", f"issues/{number}/labels", purpose, {"labels": [label]})

    async def remove_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Take a label off an issue or pull request, if it has it."""
        purpose = f"take a label off {repository.full_name}#{number}"
        with suppress(NotFound):
            await self._send(repository, "DELETE", f"issues/{number}/labels/{quote_segment(label)}", purpose, None)

    async def find_reply(self, repository: RepositoryRef, number: int, root: int, marker: str) -> int | None:
        """The id of the App's own reply with ``marker`` in the review thread that began with comment ``root``."""
        purpose = f"look for Forge's reply on {repository.full_name}#{number}"
        remarks = await self._list(_Remark, repository, f"pulls/{number}/comments", purpose)
        return await self._own(repository, [one for one in remarks if one.in_reply_to_id == root], marker)

    async def create_reply(self, repository: RepositoryRef, number: int, root: int, body: str) -> int:
        """Reply in the review thread that began with comment ``root``."""
        purpose = f"reply in a thread of {repository.full_name}#{number}"
        return await self._say(repository, f"pulls/{number}/comments/{root}/replies", purpose, body)

    async def comments_of_review(self, repository: RepositoryRef, number: int, review_id: int) -> Mapping[int, str]:
        """The inline comments of a review: id → body."""
        purpose = f"read the comments of a review on {repository.full_name}#{number}"
        shown = await self._list(_Remark, repository, f"pulls/{number}/reviews/{review_id}/comments", purpose)
        return {one.id: one.body or "" for one in shown}

    async def own_remarks(self, repository: RepositoryRef, number: int, *, with_reviews: bool) -> Sequence[Remark]:
        """What the App itself wrote below an issue or pull request, oldest first.

        :param with_reviews: then the bodies of its reviews of the pull request.
        """
        purpose = f"read Forge's comments on {repository.full_name}#{number}"
        found = await self._list(_Remark, repository, f"issues/{number}/comments", purpose)
        if with_reviews:
            found += await self._list(_Remark, repository, f"pulls/{number}/reviews", purpose)
        return [one for one in await self._mark_own(repository, found) if one.is_own]

    async def thread_remarks(self, repository: RepositoryRef, number: int, root: int) -> Sequence[Remark]:
        """The comments of the review thread that began with comment ``root``, oldest first."""
        purpose = f"read a thread of {repository.full_name}#{number}"
        listed = await self._list(_Remark, repository, f"pulls/{number}/comments", purpose)
        return await self._mark_own(repository, [one for one in listed if root in {one.id, one.in_reply_to_id}])

    async def thumbs(self, repository: RepositoryRef, number: int, comments: Collection[int]) -> Sequence[ThumbGiven]:
        """The thumbs up and down that stand at this moment at review comments of a pull request.

        Who gave them is read only for comments that have some: the list of comments has the numbers.

        :param comments: ids of those that are of interest.
        """
        purpose = f"read the reactions on {repository.full_name}#{number}"
        listed = await self._list(_ReviewComment, repository, f"pulls/{number}/comments", purpose)
        wanted = [one for one in listed if one.id in comments and one.has_thumbs]
        found: list[ThumbGiven | None] = []
        for comment in wanted:
            shown = await self._list(_Given, repository, f"pulls/comments/{comment.id}/reactions", purpose)
            found += [given.to_domain(comment.id) for given in shown]
        return [given for given in found if given is not None]

    async def review_threads(self, repository: RepositoryRef, number: int) -> Sequence[ReviewThread]:
        """All review threads of a pull request, in order."""
        purpose = f"read the review threads of {repository.full_name}#{number}"
        threads: list[ReviewThread] = []
        after: str | None = None
        seen: set[str | None] = set()
        while after not in seen and len(seen) < MAX_PAGES:
            seen.add(after)
            page = await self._threads(repository, number, after, purpose)
            threads += [thread.to_domain() for thread in page.nodes]
            if not page.page_info.has_next_page:
                return threads
            after = page.page_info.end_cursor
        raise bad_answer(purpose, "pages without an end")

    async def resolve_thread(self, repository: RepositoryRef, thread_id: str) -> None:
        """Resolve a review thread; one that is resolved stays so."""
        purpose = f"resolve a review thread in {repository.full_name}"
        await self._client.graphql(repository, _RESOLVE, {"thread": thread_id}, purpose)

    async def unresolve_thread(self, repository: RepositoryRef, thread_id: str) -> None:
        """Open a review thread again; one that is open stays so."""
        purpose = f"open a review thread in {repository.full_name} again"
        await self._client.graphql(repository, _UNRESOLVE, {"thread": thread_id}, purpose)

    async def own_account(self, repository: RepositoryRef) -> AccountShown:
        """The App's own bot account; only its numeric id identifies what it wrote."""
        if self._bot is None:
            purpose = "find the App's own account"
            app = parse(AppShown, await self._client.get_as_app("app", purpose), purpose)
            address = f"users/{quote_segment(f'{app.name}[bot]')}"
            data = await self._client.get(repository.installation_id, address, purpose)
            self._bot = parse(AccountShown, data, purpose)
        return self._bot

    async def home(self, repository: RepositoryRef) -> RepositoryHome:
        """The repository under its present name.

        :raises NotFound: it is gone, or its name belongs to another one now.
        """
        purpose = f"see the repository {repository.full_name}"
        data = await self._client.get(repository.installation_id, repository_path(repository), purpose)
        require_same(repository, parse(RepositoryShown, data, purpose).id)
        return parse(RepositoryHome, data, purpose)

    async def _mark_own(self, repository: RepositoryRef, remarks: Sequence[_Remark]) -> list[Remark]:
        ours = (await self.own_account(repository)).id
        return [one.to_domain(ours) for one in remarks]

    async def _own(self, repository: RepositoryRef, remarks: Sequence[_Remark], marker: str) -> int | None:
        ours = (await self.own_account(repository)).id
        mine = (
            one.id for one in remarks if one.user is not None and one.user.id == ours and marker in (one.body or "")
        )
        return next(mine, None)

    async def _say(self, repository: RepositoryRef, path: str, purpose: str, body: str) -> int:
        return (await self._write(Created, repository, "POST", path, purpose, {"body": body})).id

    async def _threads(self, repository: RepositoryRef, number: int, after: str | None, purpose: str) -> _Threads:
        variables: dict[str, JsonValue] = {
            "owner": repository.owner,
            "name": repository.name,
            "number": number,
            "after": after,
        }
        data = await self._client.graphql(repository, _THREADS, variables, purpose)
        found = parse(_Found, data, purpose).repository
        require_same(repository, found.database_id)
        return found.pull_request.review_threads
