"""Reads GitHub's log of deliveries to the App, and asks GitHub to repeat one."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from bot.github.client import PAGE, Client
from bot.github.errors import bad_answer
from bot.github.payloads.apps import AttemptShown
from bot.github.payloads.parsing import parse_all
from domain.github.deliveries import AttemptsPage
from domain.ports import DeliveryLog

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
