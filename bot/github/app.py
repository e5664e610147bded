"""Asks GitHub about the App itself: its permissions, its webhook, its installations and its log of deliveries."""

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from bot.github.client import PAGE, Client
from bot.github.conversation import GitHubConversation
from bot.github.errors import bad_answer
from bot.github.payloads.apps import AppShown, AttemptShown, HookShown, InstallationShown
from bot.github.payloads.parsing import parse, parse_all
from domain.errors import NotFound
from domain.github.installations import AttemptsPage, InstallationState, find_missing
from domain.ports import DeliveryLog


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
        purpose = f"ask GitHub about installation {installation_id}"
        shown = await self._client.get_as_app(f"app/installations/{installation_id}", purpose)
        return parse(InstallationShown, shown, purpose).permissions

    async def installation_state(self, installation_id: int) -> InstallationState:
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
        found = parse_all(InstallationShown, page, purpose)  # pyright: ignore[reportUnknownArgumentType]
        return [each for each in found if each.account is not None and each.suspended_at is None], following is not None


# GitHub, "Redelivering webhooks"
_ON_GITHUB = timedelta(days=3)
_ON_ENTERPRISE_SERVER = timedelta(days=7)

_LOG = "app/hook/deliveries"


class GitHubDeliveries(DeliveryLog):
    """Makes requests as the App itself, because the log belongs to no installation."""

    def __init__(self, client: Client, api_url: str) -> None:
        self._client = client
        host = urlsplit(api_url).hostname or ""
        on_github = host == "api.github.com" or host.endswith(".ghe.com")
        self._redeliverable_for = _ON_GITHUB if on_github else _ON_ENTERPRISE_SERVER

    @property
    def redeliverable_for(self) -> timedelta:
        return self._redeliverable_for

    async def attempts(self, cursor: str | None) -> AttemptsPage:
        purpose = "read GitHub's log of deliveries"
        query: dict[str, str | int] = {"per_page": PAGE, **({} if cursor is None else {"cursor": cursor})}
        page, following = await self._client.page_as_app(_LOG, purpose, query)
        if not isinstance(page, list):
            raise bad_answer(purpose, "a page that is not a list")
        shown = parse_all(AttemptShown, page, purpose)  # pyright: ignore[reportUnknownArgumentType]
        return AttemptsPage(attempts=tuple(each.to_domain() for each in shown), following=_cursor(following, purpose))

    async def redeliver(self, attempt_id: int) -> None:
        await self._client.write_as_app("POST", f"{_LOG}/{attempt_id}/attempts", "have GitHub send a delivery again")


def _cursor(following: str | None, purpose: str) -> str | None:
    """The cursor of the next page. Only the cursor is taken from the header, never the address."""
    if following is None:
        return None
    named = parse_qs(urlsplit(following).query).get("cursor")
    if not named:
        raise bad_answer(purpose, "a next page without a cursor")
    return named[0]
