"""Reads from GitHub who edited texts. Only GraphQL says it: REST tells when, and an event only while somebody hears."""

from collections.abc import Collection, Mapping, Sequence

from pydantic import AwareDatetime, BaseModel, ConfigDict, JsonValue
from pydantic.alias_generators import to_camel

from bot.github.client import Client
from bot.github.graphql import Document
from bot.github.payloads.parsing import parse
from domain.errors import NotFound, Unavailable
from domain.github.issues import TextEdit
from domain.runs.run import RepositoryRef

_MOST_TEXTS = 50  # in one question
_WHO = "{ __typename ... on User { databaseId } ... on Bot { databaseId } }"
_OF_TEXT = f"""userContentEdits(first: 100, after: $after) {{
      pageInfo {{ hasNextPage endCursor }}
      nodes {{ by: editor {_WHO} at: editedAt }}
    }}"""
_OF_TITLE = f"""timelineItems(last: 100, itemTypes: [RENAMED_TITLE_EVENT]) {{
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


class _Part(BaseModel):
    """Part of a GraphQL answer; its names are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel)


class _Account(_Part):
    database_id: int | None = None


class _Edit(_Part):
    """An edit of a text or of a title; without an account where that was deleted."""

    by: _Account | None = None
    at: AwareDatetime

    def to_domain(self) -> TextEdit:
        return TextEdit(by_id=None if self.by is None else self.by.database_id, at=self.at)


class _Page(_Part):
    has_next_page: bool
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
        parts = [part.nodes for part in (self.user_content_edits, self.timeline_items) if part is not None]
        return [each.to_domain() for nodes in parts for each in nodes if each is not None]

    @property
    def next_page(self) -> str | None:
        page = self.user_content_edits.page_info if self.user_content_edits else None
        return page.end_cursor if page is not None and page.has_next_page else None


class _Texts(_Part):
    nodes: tuple[_Text | None, ...]


async def read_edits(
    client: Client, repository: RepositoryRef, texts: Collection[str]
) -> Mapping[str, Collection[TextEdit]]:
    """All edits of texts, by their node ids. Those of a title count, too: the last 100. Of a pull request only these.

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
