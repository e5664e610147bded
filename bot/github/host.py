"""GitHub as the domain's ``CodeHost``: each method reads or changes one thing."""

import asyncio
import base64
from collections.abc import Collection
from urllib.parse import urlsplit

from bot.github.app import GitHubApp, GitHubDeliveries
from bot.github.check_runs import GitHubCheckRuns, GitHubFailingChecks
from bot.github.client import Client, Stop, never_stop, quote_segment, repository_path
from bot.github.contents import GitHubCommits, GitHubContents
from bot.github.deployments import GitHubDeployments
from bot.github.issues import GitHubIssues
from bot.github.limits import LimitStore
from bot.github.pacing import Budget, Sleep
from bot.github.payloads.apps import ROLES, CollaboratorShown, PermissionShown
from bot.github.payloads.parsing import RepositoryShown, parse, parse_all
from bot.github.pull_requests import GitHubPullRequests
from bot.github.settings import GitHubSettings, PersonalAccess
from domain.errors import NotFound
from domain.github.commits import Signature
from domain.ports import Clock, CodeHost
from domain.runs.run import RepositoryRef


class GitHubHost(
    GitHubPullRequests,
    GitHubIssues,
    GitHubDeployments,
    GitHubFailingChecks,
    GitHubCommits,
    GitHubContents,
    GitHubCheckRuns,
    GitHubApp,
    CodeHost,
):
    """Talks to GitHub for all installations of the App.

    :param limits: keeps GitHub's rate limits across restarts.
    :param sleep: waits the given seconds; tests give another.
    :param stop: called right before every write; raises if none may be made any more.
    :param budget: counts the writes of each installation; None: only those of this process.
    """

    def __init__(
        self,
        settings: GitHubSettings | PersonalAccess,
        clock: Clock,
        limits: LimitStore,
        sleep: Sleep = asyncio.sleep,
        stop: Stop = never_stop,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(Client(settings, clock, limits, sleep, stop, budget))
        self._settings = settings
        self.deliveries = GitHubDeliveries(self._client, settings.api_url)

    async def aclose(self) -> None:
        """Close the connections; the host cannot be used afterwards."""
        await self._client.aclose()

    async def permission(self, repository: RepositoryRef, login: str, account_id: int) -> str:
        purpose = f"read the permission of {login} on {repository.full_name}"
        address = f"{repository_path(repository)}/collaborators/{quote_segment(login)}/permission"
        try:
            data = await self._client.get(repository.installation_id, address, purpose)
        except NotFound:  # no such account (any more), if the repository is still there
            await self._require_visible(repository)
            return "none"
        return parse(PermissionShown, data, purpose).role(account_id)

    async def accounts_with(self, repository: RepositoryRef, role: str) -> Collection[int]:
        """:raises ValueError: there is no such role, or it is ``none``."""
        if role not in ROLES[1:]:
            raise ValueError(f"{role!r} is not a role that people can have.")
        purpose = f"list the people with the role {role} on {repository.full_name}"
        address = f"{repository_path(repository)}/collaborators"
        items = await self._client.items(repository.installation_id, address, purpose, {"affiliation": "all"})
        listed = parse_all(CollaboratorShown, items, purpose)
        await self._require_visible(repository)
        return {one.id for one in listed if one.is_person and one.has(role)}

    def clone_url(self, repository: RepositoryRef) -> str:
        return f"{self._settings.web_url}/{quote_segment(repository.owner)}/{quote_segment(repository.name)}.git"

    async def address(self, repository: RepositoryRef) -> RepositoryRef:
        home = await self.home(repository)
        return repository.model_copy(update={"owner": home.owner.login, "name": home.name})

    async def repository_ids(self, installation_id: int) -> Collection[int]:
        purpose = f"list the repositories of installation {installation_id}"
        items = await self._client.items(installation_id, "installation/repositories", purpose, key="repositories")
        return {item.id for item in parse_all(RepositoryShown, items, purpose)}

    async def git_credentials(self, repository: RepositoryRef) -> str:
        token = await self._client.tokens.get(repository.installation_id)
        return "Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()

    async def signature(self, repository: RepositoryRef) -> Signature:
        """The account's address, as GitHub forms it.

        https://docs.github.com/account-and-profile/reference/email-addresses-reference
        """
        bot = await self.own_account(repository)
        host = urlsplit(self._settings.web_url).hostname
        return Signature(name=bot.login, email=f"{bot.id}+{bot.login}@users.noreply.{host}")
