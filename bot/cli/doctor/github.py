"""Examines what GitHub knows of the App: its permissions, its webhook, where it is installed, and what time it is."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx

from bot.cli.doctor.diagnosis import Finding, broken, note, well
from bot.github.host import GitHubHost
from bot.github.payloads import Hook
from bot.settings import Settings
from domain.errors import CodeHostError, ForgeError
from domain.github.deliveries import DeliveryAttempt

_FAR = timedelta(seconds=60)
"""An App's token names the times it is valid between, and GitHub takes none from the future."""

_LAST = 20  # deliveries that are looked at


async def github(settings: Settings, host: GitHubHost, needed: Mapping[str, str]) -> AsyncGenerator[Finding]:
    """The clock first: with a wrong one GitHub refuses everything else.

    :param needed: permission → level.
    """
    yield await _clock(settings)
    try:
        slug, missing = await host.examine_app(needed)
    except ForgeError as error:
        yield broken("GitHub", error.message, error.advice or "Check FORGE_APP_ID, the key and the API address.")
        return
    if missing:
        advice = "Grant what app.yml names, in the App's settings."
        yield broken("GitHub", f"App {slug} lacks {', '.join(missing)}", advice)
    else:
        yield well("GitHub", f"App {slug} at {settings.github_api_url}, with the permissions it needs")
    try:
        yield configured(await host.hook())
        yield delivered((await host.deliveries.attempts(None)).attempts[:_LAST])
        yield installed(*await host.installed())
    except CodeHostError as error:
        yield broken("GitHub", error.message, error.advice or "Try again.")


async def _clock(settings: Settings) -> Finding:
    try:
        async with httpx.AsyncClient(timeout=10) as client:
            answer = await client.head(settings.github_api_url)
        there = parsedate_to_datetime(answer.headers["date"])
    except (httpx.HTTPError, KeyError, ValueError) as error:
        why = f"GitHub does not say what time it is ({type(error).__name__})"
        return note("clock", why, "Check FORGE_GITHUB_API_URL and the network.")
    return timed(there, datetime.now(UTC))


def timed(there: datetime, here: datetime) -> Finding:
    """Whether this machine's clock is right enough."""
    apart = here - there
    if abs(apart) <= _FAR:
        return well("clock", "as GitHub's")
    way = "ahead of" if apart > timedelta() else "behind"
    state = f"{abs(apart).total_seconds():.0f} s {way} GitHub's: it refuses what the App signs, and gates end wrongly"
    return broken("clock", state, "Set it by NTP.")


def configured(hook: Hook) -> Finding:
    """Whether GitHub has an address to deliver to, and signs what it delivers."""
    if not hook.url:
        return broken("webhook", "the App has no address", "Set https://YOUR-HOST/webhook in the App's settings.")
    if not hook.secret:
        advice = "Set FORGE_WEBHOOK_SECRET's value in the App's settings, too."
        return broken("webhook", f"{hook.url} has no secret, so every delivery is refused", advice)
    if hook.insecure_ssl == "1":
        advice = "Switch SSL verification on in the App's settings."
        return note("webhook", f"{hook.url}, and GitHub does not verify its certificate", advice)
    return well("webhook", hook.url)


def delivered(attempts: Sequence[DeliveryAttempt]) -> Finding:
    """What became of GitHub's latest deliveries, newest first."""
    if not attempts:
        return well("deliveries", "none yet")
    failed = [each for each in attempts if not each.is_answered]
    state = f"{len(attempts) - len(failed)} of the last {len(attempts)} arrived"
    if attempts[0].is_answered:
        return well("deliveries", state)
    status = attempts[0].status_code
    if status == 401:
        advice = "FORGE_WEBHOOK_SECRET is not the secret in the App's settings: set the same in both."
        return broken("deliveries", f"{state}; the newest had a signature that does not fit", advice)
    said = f"was answered with {status}" if status else "was not answered"
    advice = "See that `forge serve` runs, and that GitHub reaches the webhook's address."
    return note("deliveries", f"{state}; the newest {said}", advice)


def installed(accounts: Sequence[str], more: bool) -> Finding:
    """Where the App is installed."""
    if not accounts:
        return note("installations", "none yet", "Install the App where it shall work.")
    shown = ", ".join(accounts[:5]) + (" …" if len(accounts) > 5 else "")
    count = f"{len(accounts)} or more" if more else str(len(accounts))
    return well("installations", f"{count} ({shown})")
