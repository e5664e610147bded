"""Reads issues, their comments and who edited them from GitHub, and opens issues."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from pydantic import AwareDatetime, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from bot.github.client import Client, repository_path
from bot.github.conversation import GitHubConversation
from bot.github.graphql import Document
from bot.github.payloads.issues import IssueCommentShown, IssueShown, OpenedIssue
from bot.github.payloads.parsing import parse, parse_all
from domain.errors import NotFound, Unavailable
from domain.github.conversation import Issue, IssueComment, TextEdit
from domain.ports import Issues
from domain.runs.run import RepositoryRef
from domain.value import Value

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


class _Part(Value):
    """Part of a GraphQL answer; its names are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel)


class _Account(_Part):
    database_id: int | None = None
    kind: str = Field(default="", alias="__typename")


class _Edit(_Part):
    """An edit of a text or of a title; without an account where that was deleted."""

    by: _Account | None = None
    at: AwareDatetime

    def to_domain(self) -> TextEdit:
        by = self.by or _Account()
        return TextEdit(by_id=by.database_id, is_app=by.kind == "Bot", at=self.at)


class _Page(_Part):
    has_next_page: bool = False
    has_previous_page: bool = False
    end_cursor: str | None = None


class _Edits(_Part):
    page_info: _Page | None = None
    nodes: tuple[_Edit | None, ...] = ()


class _Text(_Part):
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


class _Texts(_Part):
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


class GitHubIssues(GitHubConversation, Issues):
    """Reads and opens issues as an installation of the App."""

    async def issue(self, repository: RepositoryRef, number: int) -> Issue:
        purpose = f"read issue {repository.full_name}#{number}"
        address = f"{repository_path(repository)}/issues/{number}"
        shown = parse(IssueShown, await self._client.get(repository.installation_id, address, purpose), purpose)
        await self._require_here(repository, number, [shown.url])
        return shown.to_domain()

    async def issue_comments(self, repository: RepositoryRef, number: int) -> Sequence[IssueComment]:
        """GitHub lists them by ascending id: https://docs.github.com/rest/issues/comments#list-issue-comments"""
        purpose = f"read the comments of {repository.full_name}#{number}"
        address = f"{repository_path(repository)}/issues/{number}/comments"
        items = await self._client.items(repository.installation_id, address, purpose)
        shown = parse_all(IssueCommentShown, items, purpose)
        await self._require_here(repository, number, (one.issue_url for one in shown))
        return [one.to_domain() for one in shown]

    async def text_edits(self, repository: RepositoryRef, texts: Collection[str]) -> Mapping[str, Collection[TextEdit]]:
        return await read_edits(self._client, repository, texts)

    async def find_own_issue(self, repository: RepositoryRef, marker: str, since: datetime) -> int | None:
        """GitHub's ``since`` is about the last change, which comes after the beginning."""
        purpose = f"look for Forge's issue in {repository.full_name}"
        own = await self.own_account(repository)
        query = {
            "state": "all",
            "creator": own.login,
            "since": f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "sort": "created",
            "direction": "asc",
        }
        address = f"{repository_path(repository)}/issues"
        items = await self._client.items(repository.installation_id, address, purpose, query)
        shown = parse_all(OpenedIssue, items, purpose)
        mine = (one for one in shown if one.user is not None and one.user.id == own.id and one.pull_request is None)
        return next((one.number for one in mine if marker in (one.body or "")), None)

    async def create_issue(self, repository: RepositoryRef, title: str, body: str, labels: Sequence[str]) -> int:
        purpose = f"open an issue in {repository.full_name}"
        address = f"{repository_path(repository)}/issues"
        content: dict[str, JsonValue] = {"title": title, "body": body, "labels": [*labels]}
        data = await self._client.write(repository.installation_id, "POST", address, purpose, content)
        return parse(OpenedIssue, data, purpose).number

    async def _require_here(self, repository: RepositoryRef, number: int, addresses: Iterable[str]) -> None:
        """Check that an answer is about this issue: GitHub redirects from a transferred one to its new repository.

        :raises NotFound: one of the addresses is another issue's, or the repository's name belongs to another one now.
        """
        here = f"{(await self.home(repository)).url}/issues/{number}".casefold()
        if any(address.casefold() != here for address in addresses):
            raise NotFound(f"{repository.full_name}#{number} was transferred to another repository.")
