"""Reads issues, their comments and who edited them from GitHub, and opens issues."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from pydantic import AwareDatetime, JsonValue

from domain.errors import NotFound, Unavailable
from domain.github.conversation import Issue, IssueComment, TextEdit, digest_wording
from domain.runs.run import RepositoryRef
from domain.text.redaction import redact_outgoing
from domain.value import Value
from github.client import Client
from github.conversation import GitHubConversation
from github.payloads.parsing import GHOST_ID, GHOST_LOGIN, AccountShown, Actor, Node, parse
from github.request import Document

_MOST_TEXTS = 50  # in one question
_WHO = "{ __typename ... on User { databaseId } ... on Bot { databaseId } }"
_OF_TEXT = f"""userContentEdits(first: 100, after: $after) {{
      pageInfo {{ hasNextPage endCursor }}
      nodes {{ by: editor {_WHO} at: editedAt }}
    }}"""
_OF_TITLE = f"""timelineItems(last: 100, itemTypes: [RENAMED_TITLE_EVENT]) {{
      pageInfo {{ hasPreviousPage }}
      nodes {{ ... on RenamedTitleEvent {{ by: actor {_WHO} at: createdAt }} }}
    }}"""
_EDITS = Document(
    "query",
    f"""($texts: [ID!]!, $after: String) {{
  nodes(ids: $texts) {{
    id
    ... on Issue {{
      {_OF_TEXT}
      {_OF_TITLE}
    }}
    ... on PullRequest {{
      {_OF_TITLE}
    }}
    ... on IssueComment {{
      {_OF_TEXT}
    }}
    ... on PullRequestReview {{
      {_OF_TEXT}
    }}
    ... on PullRequestReviewComment {{
      {_OF_TEXT}
    }}
  }}
}}""",
)


class _Edit(Node):
    """An edit of a text or of a title; without an account where that was deleted."""

    by: Actor | None = None
    at: AwareDatetime

    def to_domain(self) -> TextEdit:
        by = self.by or Actor()
        return TextEdit(by_id=by.database_id, is_app=by.typename == "Bot", at=self.at)


class _Page(Node):
    has_next_page: bool = False
    has_previous_page: bool = False
    end_cursor: str | None = None


class _Edits(Node):
    page_info: _Page | None = None
    nodes: tuple[_Edit | None, ...] = ()


class _Text(Node):
    id: str
    user_content_edits: _Edits | None = None
    timeline_items: _Edits | None = None

    @property
    def edits(self) -> list[TextEdit]:
        """Those that GitHub lists; what it leaves out may be anybody's."""
        parts = [part for part in (self.user_content_edits, self.timeline_items) if part is not None]
        listed = [each.to_domain() for part in parts for each in part.nodes if each is not None]
        is_whole = all(part.page_info is None or not part.page_info.has_previous_page for part in parts)
        return listed if is_whole else [*listed, TextEdit(by_id=None, at=min(each.at for each in listed))]

    @property
    def next_page(self) -> str | None:
        page = self.user_content_edits.page_info if self.user_content_edits else None
        return page.end_cursor if page is not None and page.has_next_page else None


class _Texts(Node):
    nodes: tuple[_Text | None, ...]


async def read_edits(
    client: Client, repository: RepositoryRef, texts: Collection[str]
) -> Mapping[str, Collection[TextEdit]]:
    """All edits of texts, by their node ids. Those of a title count, too; of a pull request only these.

    :raises Unavailable: one of them was deleted meanwhile.
    """
    found: dict[str, set[TextEdit]] = {}
    asked = [(tuple(texts)[start : start + _MOST_TEXTS], "") for start in range(0, len(texts), _MOST_TEXTS)]
    while asked:
        ids, after = asked.pop()
        for text in await _ask(client, repository, ids, after):
            found.setdefault(text.id, set()).update(text.edits)
            if text.next_page not in {None, after}:
                asked.append(((text.id,), text.next_page or ""))
    return found


async def _ask(client: Client, repository: RepositoryRef, ids: Sequence[str], after: str) -> Sequence[_Text]:
    purpose = f"read who edited what was said in {repository.full_name}"
    variables: dict[str, JsonValue] = {"texts": [*ids], "after": after or None}
    try:
        shown = parse(_Texts, await client.graphql(repository, _EDITS, variables, purpose), purpose).nodes
    except NotFound as error:
        raise Unavailable(error.message, error.advice) from error
    return [each for each in shown if each is not None]


class GitHubIssues(GitHubConversation):
    """Reads and opens issues as an installation of the App."""

    async def issue(self, repository: RepositoryRef, number: int) -> Issue:
        """An issue or pull request.

        :raises NotFound: there is none, or it was transferred to another repository.
        """
        purpose = f"read issue {repository.full_name}#{number}"
        shown = await self._get(IssueShown, repository, f"issues/{number}", purpose)
        await self._require_here(repository, number, [shown.url])
        return shown.to_domain()

    async def issue_comments(self, repository: RepositoryRef, number: int) -> Sequence[IssueComment]:
        """All comments below an issue or pull request, oldest first.

        GitHub lists them by ascending id: https://docs.github.com/rest/issues/comments#list-issue-comments
        They are read up to 5,000, twice what GitHub lets people write below one.

        :raises NotFound: there is no such issue, or it was transferred to another repository.
        :raises Unavailable: not all of them could be read, or there are more.
        """
        purpose = f"read the comments of {repository.full_name}#{number}"
        shown = await self._list(IssueCommentShown, repository, f"issues/{number}/comments", purpose)
        await self._require_here(repository, number, (one.issue_url for one in shown))
        return [one.to_domain() for one in shown]

    async def text_edits(self, repository: RepositoryRef, texts: Collection[str]) -> Mapping[str, Collection[TextEdit]]:
        """Who edited issues with their titles, titles of pull requests, comments of any kind, and bodies of reviews.

        One that nobody edited may be missing.

        :param texts: their node ids, by which the answer is ordered as well.
        :raises Unavailable: not all of them could be read.
        """
        return await read_edits(self._client, repository, texts)

    async def find_own_issue(self, repository: RepositoryRef, marker: str, since: datetime) -> int | None:
        """The number of the issue that the App itself opened and whose body holds ``marker``; of several the oldest.

        GitHub's ``since`` is about the last change, which comes after the beginning.

        :param since: when it was opened, or earlier.
        """
        purpose = f"look for Forge's issue in {repository.full_name}"
        own = await self.own_account(repository)
        query = {
            "state": "all",
            "creator": own.login,
            "since": f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "sort": "created",
            "direction": "asc",
        }
        shown = await self._list(OpenedIssue, repository, "issues", purpose, query)
        mine = (one for one in shown if one.user is not None and one.user.id == own.id and one.pull_request is None)
        return next((one.number for one in mine if marker in (one.body or "")), None)

    async def create_issue(self, repository: RepositoryRef, title: str, body: str, labels: Sequence[str]) -> int:
        """Open an issue; its number.

        :param title: at most 256 characters.
        :param body: at most 65,536 characters.
        :param labels: those that are new are created.
        :raises NotFound: the repository is gone.
        :raises Unprocessable: the repository has no issues, or a text is too long.
        """
        purpose = f"open an issue in {repository.full_name}"
        content: dict[str, JsonValue] = {"title": title, "body": body, "labels": [*labels]}
        return (await self._write(OpenedIssue, repository, "POST", "issues", purpose, content)).number

    async def _require_here(self, repository: RepositoryRef, number: int, addresses: Iterable[str]) -> None:
        """Check that an answer is about this issue: GitHub redirects from a transferred one to its new repository.

        :raises NotFound: one of the addresses is another issue's, or the repository's name belongs to another one now.
        """
        here = f"{(await self.home(repository)).url}/issues/{number}".casefold()
        if any(address.casefold() != here for address in addresses):
            raise NotFound(f"{repository.full_name}#{number} was transferred to another repository.")


class _LabelShown(Value):
    name: str | None = None


class _AuthoredText(Value):
    """What a person or an App wrote, over REST; ``user`` is missing if the account was deleted."""

    user: AccountShown | None
    author_association: str = "NONE"
    body: str | None = None
    performed_via_github_app: dict[str, object] | None = None

    @property
    def author_id(self) -> int | None:
        return None if self.user is None or self.user.id == GHOST_ID else self.user.id

    @property
    def author_login(self) -> str:
        return self.user.login if self.user else GHOST_LOGIN

    @property
    def is_app(self) -> bool:
        is_bot = self.user is not None and self.user.type == "Bot"
        return is_bot or self.performed_via_github_app is not None


class IssueShown(_AuthoredText):
    """An issue; a label may be just a name."""

    url: str
    node_id: str
    number: int
    title: str
    state: Literal["open", "closed"]
    labels: tuple[str | _LabelShown, ...]
    pull_request: dict[str, object] | None = None
    updated_at: AwareDatetime | None = None
    closed_at: AwareDatetime | None = None

    def to_domain(self) -> Issue:
        names = (one if isinstance(one, str) else one.name for one in self.labels)
        return Issue(
            number=self.number,
            node_id=self.node_id,
            title=redact_outgoing(self.title),
            body=redact_outgoing(self.body or ""),
            is_open=self.state == "open",
            author_id=self.author_id,
            author_login=self.author_login,
            is_app=self.is_app,
            author_association=self.author_association,
            labels=tuple(name for name in names if name),
            is_pull_request=self.pull_request is not None,
            updated_at=self.updated_at,
            closed_at=self.closed_at,
            wording=digest_wording(self.title, self.body),
        )


class OpenedIssue(Value):
    """An issue in a list, or one that was just opened."""

    number: int
    user: AccountShown | None = None
    body: str | None = None
    pull_request: dict[str, object] | None = None


class IssueCommentShown(_AuthoredText):
    id: int
    node_id: str
    issue_url: str
    created_at: AwareDatetime
    updated_at: AwareDatetime

    def to_domain(self) -> IssueComment:
        return IssueComment(
            id=self.id,
            node_id=self.node_id,
            author_id=self.author_id,
            author_login=self.author_login,
            is_app=self.is_app,
            author_association=self.author_association,
            body=self.body or "",
            created_at=self.created_at,
            is_edited=self.updated_at != self.created_at,
        )
