"""Asks GitHub about the App itself: its permissions, its webhook and its installations."""

from collections.abc import Mapping

from bot.github.conversation import GitHubConversation
from bot.github.errors import bad_answer
from bot.github.payloads.apps import AppShown, HookShown, InstallationShown
from bot.github.payloads.parsing import parse, parse_all
from domain.errors import NotFound
from domain.github.installations import InstallationState
from domain.github.welcome import find_missing


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
