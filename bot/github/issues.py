"""Reads issues and their comments from GitHub."""

from collections.abc import Iterable, Sequence

from bot.github.client import repository_path
from bot.github.conversation import GitHubConversation
from bot.github.payloads.issues import IssueCommentShown, IssueShown
from bot.github.payloads.parsing import parse, parse_all
from domain.errors import NotFound
from domain.github.issues import Issue, IssueComment
from domain.ports import Issues
from domain.runs.run import RepositoryRef


class GitHubIssues(GitHubConversation, Issues):
    """Reads issues as an installation of the App sees them."""

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

    async def _require_here(self, repository: RepositoryRef, number: int, addresses: Iterable[str]) -> None:
        """Check that an answer is about this issue: GitHub redirects from a transferred one to its new repository.

        :raises NotFound: one of the addresses is another issue's, or the repository's name belongs to another one now.
        """
        here = f"{(await self.home(repository)).url}/issues/{number}".casefold()
        if any(address.casefold() != here for address in addresses):
            raise NotFound(f"{repository.full_name}#{number} was transferred to another repository.")
