"""GitHub, as far as Forge needs it, for the App and for a person's token: each method reads or changes one thing."""

import base64
from collections.abc import Collection, Mapping
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from pydantic import Field

from domain.errors import NotFound
from domain.github.commits import Signature
from domain.github.installations import AttemptsPage, InstallationState, find_missing
from domain.runs.run import RepositoryRef
from domain.value import Value
from github.check_runs import GitHubCheckResults, GitHubCheckRuns
from github.client import PAGE, Client, quote_segment
from github.contents import GitHubCommits, GitHubContents
from github.conversation import GitHubConversation
from github.deployments import GitHubDeployments
from github.errors import bad_answer
from github.issues import GitHubIssues, IssueShown
from github.payloads.apps import (
    ROLES,
    AppShown,
    AttemptShown,
    CollaboratorShown,
    HookShown,
    InstallationShown,
    PermissionShown,
)
from github.payloads.parsing import AccountShown, RepositoryHome, RepositoryShown, parse, parse_all
from github.pull_requests import GitHubPullRequests
from github.request import Document


class GitHubApp(GitHubConversation):
    """Makes requests as the App itself."""

    async def examine_app(self, needed: Mapping[str, str]) -> tuple[str, list[str]]:
        """The App's slug, and which of the needed permissions (name → level) it lacks.

        :raises CodeHostError: GitHub does not know the App or its key.
        """
        purpose = "ask GitHub about the App"
        app = parse(AppShown, await self._client.get_as_app("app", purpose), purpose)
        return app.name, [*find_missing(needed, app.permissions)]

    async def installation_permissions(self, installation_id: int) -> Mapping[str, str]:
        """The permissions that an owner gave an installation: name → level.

        :raises NotFound: it was uninstalled.
        """
        purpose = f"ask GitHub about installation {installation_id}"
        shown = await self._client.get_as_app(f"app/installations/{installation_id}", purpose)
        return parse(InstallationShown, shown, purpose).permissions

    async def installation_state(self, installation_id: int) -> InstallationState:
        """Whether an installation is there.

        :raises CodeHostError: GitHub does not say.
        """
        purpose = f"ask GitHub about installation {installation_id}"
        try:
            shown = await self._client.get_as_app(f"app/installations/{installation_id}", purpose)
        except NotFound:
            return InstallationState.gone
        suspended_at = parse(InstallationShown, shown, purpose).suspended_at
        return InstallationState.active if suspended_at is None else InstallationState.suspended

    async def hook(self) -> HookShown:
        """Where GitHub delivers the App's webhooks.

        :raises CodeHostError: GitHub did not answer this.
        """
        purpose = "ask GitHub about the App's webhook"
        return parse(HookShown, await self._client.get_as_app("app/hook/config", purpose), purpose)

    async def list_installations(self) -> tuple[list[str], bool]:
        """The accounts where the App is installed and not suspended, at most 100, and whether there are more.

        :raises CodeHostError: GitHub did not answer this.
        """
        installed, more = await self._list_installed()
        return [each.account.login for each in installed if each.account is not None], more

    async def _list_installed(self) -> tuple[list[InstallationShown], bool]:
        purpose = "ask GitHub where the App is installed"
        page, following = await self._client.page_as_app("app/installations", purpose, {"per_page": 100})
        if not isinstance(page, list):
            raise bad_answer(purpose, "a page that is not a list")
        found = parse_all(InstallationShown, page, purpose)
        return [each for each in found if each.account is not None and each.suspended_at is None], following is not None


# GitHub, "Redelivering webhooks"
_ON_GITHUB = timedelta(days=3)
_ON_ENTERPRISE_SERVER = timedelta(days=7)
_LOG = "app/hook/deliveries"


class GitHubHost(
    GitHubPullRequests,
    GitHubIssues,
    GitHubDeployments,
    GitHubCheckResults,
    GitHubCommits,
    GitHubContents,
    GitHubCheckRuns,
    GitHubApp,
):
    """Talks to GitHub for all installations of the App. Every method may raise the ``CodeHostError`` family.

    Reads are repeated where that is safe; writes never are: whoever writes looks for the effect by its natural key
    first.
    """

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._settings = client.settings
        self.deliveries = GitHubDeliveries(client, client.settings.api_url)

    async def aclose(self) -> None:
        """Close the connections; the host cannot be used afterwards."""
        await self._client.aclose()

    async def permission(self, repository: RepositoryRef, login: str, account_id: int) -> str:
        """The live role of an account: none, read, triage, write, maintain or admin.

        The answer counts only if the login still belongs to ``account_id``; otherwise ``none``.
        """
        purpose = f"read the permission of {login} on {repository.full_name}"
        path = f"collaborators/{quote_segment(login)}/permission"
        try:
            shown = await self._get(PermissionShown, repository, path, purpose)
        except NotFound:  # no such account (any more), if the repository is still there
            await self._require_visible(repository)
            return "none"
        return shown.role(account_id)

    async def accounts_with(self, repository: RepositoryRef, role: str) -> Collection[int]:
        """The ids of the people whose live role is at least ``role``; bots are left out.

        Counted are those who were given access: who may read only because the repository is public is not listed.

        :param role: read, triage, write, maintain or admin.
        :raises ValueError: there is no such role, or it is ``none``.
        """
        if role not in ROLES[1:]:
            raise ValueError(f"{role!r} is not a role that people can have.")
        purpose = f"list the people with the role {role} on {repository.full_name}"
        listed = await self._list(CollaboratorShown, repository, "collaborators", purpose, {"affiliation": "all"})
        await self._require_visible(repository)
        return {one.id for one in listed if one.is_person and one.has(role)}

    def page(self, repository: RepositoryRef) -> str:
        """Where people read the repository."""
        return f"{self._settings.web_url}/{quote_segment(repository.owner)}/{quote_segment(repository.name)}"

    def clone_url(self, repository: RepositoryRef) -> str:
        return f"{self.page(repository)}.git"

    async def address(self, repository: RepositoryRef) -> RepositoryRef:
        """The repository with the owner and the name it has now.

        :raises NotFound: it is gone, or its name belongs to another one now.
        """
        home = await self.home(repository)
        return repository.model_copy(update={"owner": home.owner.login, "name": home.name})

    async def repository_ids(self, installation_id: int) -> Collection[int]:
        """The ids of the repositories of an installation, all of them."""
        purpose = f"list the repositories of installation {installation_id}"
        items = await self._client.items(installation_id, "installation/repositories", purpose, key="repositories")
        return {item.id for item in parse_all(RepositoryShown, items, purpose)}

    async def git_credentials(self, repository: RepositoryRef) -> str:
        """The value of an ``Authorization`` header for git over HTTP."""
        token = await self._client.tokens.get(repository.installation_id)
        return "Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()

    async def signature(self, repository: RepositoryRef) -> Signature:
        """The App's own name and address for commits, by which GitHub knows them as the App's.

        The address is as GitHub forms it:
        https://docs.github.com/account-and-profile/reference/email-addresses-reference
        """
        bot = await self.own_account(repository)
        host = urlsplit(self._settings.web_url).hostname
        return Signature(name=bot.login, email=f"{bot.id}+{bot.login}@users.noreply.{host}")


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
        home = await self._get(RepositoryHome, asked, "", purpose)
        return asked.model_copy(update={"id": home.id, "owner": home.owner.login, "name": home.name})

    async def is_issue(self, repository: RepositoryRef, number: int) -> bool:
        """Whether there is an issue of this number that is no pull request."""
        purpose = f"read {repository.full_name}#{number}"
        try:
            shown = await self._get(IssueShown, repository, f"issues/{number}", purpose)
        except NotFound:
            return False
        return shown.pull_request is None


class GitHubDeliveries:
    """GitHub's own log of what it delivered to the App. Every method may raise the ``CodeHostError`` family.

    Requests are made as the App itself, because the log belongs to no installation.
    """

    def __init__(self, client: Client, api_url: str) -> None:
        self._client = client
        host = urlsplit(api_url).hostname or ""
        on_github = host == "api.github.com" or host.endswith(".ghe.com")
        self._redeliverable_for = _ON_GITHUB if on_github else _ON_ENTERPRISE_SERVER

    @property
    def redeliverable_for(self) -> timedelta:
        """How long after its first attempt a delivery can be sent again."""
        return self._redeliverable_for

    async def attempts(self, cursor: str | None) -> AttemptsPage:
        """The newest attempts, or the page another one named as following."""
        purpose = "read GitHub's log of deliveries"
        query: dict[str, str | int] = {"per_page": PAGE, **({} if cursor is None else {"cursor": cursor})}
        page, following = await self._client.page_as_app(_LOG, purpose, query)
        if not isinstance(page, list):
            raise bad_answer(purpose, "a page that is not a list")
        shown = parse_all(AttemptShown, page, purpose)
        return AttemptsPage(attempts=tuple(each.to_domain() for each in shown), following=_cursor(following, purpose))

    async def redeliver(self, attempt_id: int) -> None:
        """Have the event of an attempt delivered once more, with the same GUID; it arrives a moment later."""
        await self._client.post_as_app(f"{_LOG}/{attempt_id}/attempts", "have GitHub send a delivery again")


def _cursor(following: str | None, purpose: str) -> str | None:
    """The cursor of the next page. Only the cursor is taken from the header, never the address."""
    if following is None:
        return None
    named = parse_qs(urlsplit(following).query).get("cursor")
    if not named:
        raise bad_answer(purpose, "a next page without a cursor")
    return named[0]
