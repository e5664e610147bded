"""Reads issues and their comments from GitHub, and opens issues."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from pydantic import JsonValue

from bot.github.client import repository_path
from bot.github.conversation import GitHubConversation
from bot.github.edits import read_edits
from bot.github.payloads.issues import IssueCommentShown, IssueShown, OpenedIssue
from bot.github.payloads.parsing import parse, parse_all
from domain.errors import NotFound
from domain.github.issues import Issue, IssueComment, TextEdit
from domain.ports import Issues
from domain.runs.run import RepositoryRef


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
