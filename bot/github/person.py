"""GitHub as a person, or a job of GitHub Actions, sees it with a token of theirs."""

from pydantic import Field

from bot.github.client import repository_path
from bot.github.graphql import Document
from bot.github.host import GitHubHost
from bot.github.payloads.issues import IssueShown
from bot.github.payloads.parsing import AccountShown, RepositoryHome, parse
from domain.errors import NotFound
from domain.runs.run import RepositoryRef
from domain.value import Value

NO_INSTALLATION = 0
"""In place of an installation: limits are counted for the token."""

_VIEWER = Document("query", "{ viewer { databaseId login } }")


class _Viewer(Value):
    id: int = Field(alias="databaseId")
    login: str


class _Viewed(Value):
    viewer: _Viewer


class PersonalHost(GitHubHost):
    """Does on GitHub what one token may, and nothing that only an App can."""

    async def own_account(self, repository: RepositoryRef) -> AccountShown:
        """Who the token belongs to. REST tells it to people only, GraphQL also to the token of a job."""
        if self._bot is None:
            purpose = "find out whose token it is"
            data = await self._client.graphql(repository, _VIEWER, {}, purpose)
            viewer = parse(_Viewed, data, purpose).viewer
            self._bot = AccountShown(id=viewer.id, login=viewer.login)
        return self._bot

    async def find_repository(self, owner: str, name: str) -> RepositoryRef:
        """A repository by its name, also by an earlier one.

        :raises NotFound: there is none, or the token may not see it.
        """
        asked = RepositoryRef(installation_id=NO_INSTALLATION, id=0, owner=owner, name=name)
        purpose = f"see the repository {asked.full_name}"
        data = await self._client.get(NO_INSTALLATION, repository_path(asked), purpose)
        home = parse(RepositoryHome, data, purpose)
        return asked.model_copy(update={"id": home.id, "owner": home.owner.login, "name": home.name})

    async def is_issue(self, repository: RepositoryRef, number: int) -> bool:
        """Whether there is an issue of this number that is no pull request."""
        purpose = f"read {repository.full_name}#{number}"
        address = f"{repository_path(repository)}/issues/{number}"
        try:
            data = await self._client.get(NO_INSTALLATION, address, purpose)
        except NotFound:
            return False
        return parse(IssueShown, data, purpose).pull_request is None
