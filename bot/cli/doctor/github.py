"""Examines the App on GitHub: permissions, webhook, deliveries, installations, and the clock."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx2

from bot.cli.doctor.diagnosis import Diagnosis, fail, ok, warn
from bot.github.host import GitHubHost
from bot.github.payloads.apps import HookShown
from bot.settings import Settings
from domain.errors import CodeHostError, ForgeError
from domain.github.deliveries import DeliveryAttempt

_MAX_SKEW = timedelta(seconds=60)
"""An App's token names the times it is valid between, and GitHub takes none from the future."""

_MAX_ATTEMPTS = 20  # deliveries


async def check_github(settings: Settings, host: GitHubHost, needed: Mapping[str, str]) -> AsyncGenerator[Diagnosis]:
    """The clock first: with a wrong one GitHub refuses everything else.

    :param needed: permission → level.
    """
    yield await _check_clock(settings)
    try:
        slug, missing = await host.examine_app(needed)
    except ForgeError as error:
        yield fail("GitHub", error.message, error.advice or "Check FORGE_APP_ID, the key and the API address.")
        return
    if missing:
        advice = "Grant what app.yml names, in the App's settings."
        yield fail("GitHub", f"App {slug} lacks {', '.join(missing)}", advice)
    else:
        yield ok("GitHub", f"App {slug} at {settings.github_api_url}, with the permissions it needs")
    try:
        yield check_hook(await host.hook())
        yield check_deliveries((await host.deliveries.attempts(None)).attempts[:_MAX_ATTEMPTS])
        yield check_installations(*await host.list_installations())
    except CodeHostError as error:
        yield fail("GitHub", error.message, error.advice or "Try again.")


async def _check_clock(settings: Settings) -> Diagnosis:
    try:
        async with httpx2.AsyncClient(timeout=10) as client:
            answer = await client.head(settings.github_api_url)
        there = parsedate_to_datetime(answer.headers["date"])
    except (httpx2.HTTPError, KeyError, ValueError) as error:
        why = f"GitHub does not say what time it is ({type(error).__name__})"
        return warn("clock", why, "Check FORGE_GITHUB_API_URL and the network.")
    return compare_clocks(there, datetime.now(UTC))


def compare_clocks(there: datetime, here: datetime) -> Diagnosis:
    """Whether this machine's clock is right enough."""
    apart = here - there
    if abs(apart) <= _MAX_SKEW:
        return ok("clock", "as GitHub's")
    way = "ahead of" if apart > timedelta() else "behind"
    state = f"{abs(apart).total_seconds():.0f} s {way} GitHub's: it refuses what the App signs, and gates end wrongly"
    return fail("clock", state, "Set it by NTP.")


def check_hook(hook: HookShown) -> Diagnosis:
    """Whether GitHub has an address to deliver to, and signs what it delivers."""
    if not hook.url:
        return fail("webhook", "the App has no address", "Set https://YOUR-HOST/webhook in the App's settings.")
    if not hook.secret:
        advice = "Set FORGE_WEBHOOK_SECRET's value in the App's settings, too."
        return fail("webhook", f"{hook.url} has no secret, so every delivery is refused", advice)
    if hook.insecure_ssl == "1":
        advice = "Switch SSL verification on in the App's settings."
        return warn("webhook", f"{hook.url}, and GitHub does not verify its certificate", advice)
    return ok("webhook", hook.url)


def check_deliveries(attempts: Sequence[DeliveryAttempt]) -> Diagnosis:
    """What became of GitHub's latest deliveries, newest first."""
    if not attempts:
        return ok("deliveries", "none yet")
    failed = [each for each in attempts if not each.is_answered]
    state = f"{len(attempts) - len(failed)} of the last {len(attempts)} arrived"
    if attempts[0].is_answered:
        return ok("deliveries", state)
    status = attempts[0].status_code
    if status == 401:
        advice = "FORGE_WEBHOOK_SECRET is not the secret in the App's settings: set the same in both."
        return fail("deliveries", f"{state}; the newest had a signature that does not fit", advice)
    said = f"was answered with {status}" if status else "was not answered"
    advice = "See that `forge serve` runs, and that GitHub reaches the webhook's address."
    return warn("deliveries", f"{state}; the newest {said}", advice)


def check_installations(accounts: Sequence[str], more: bool) -> Diagnosis:
    """Where the App is installed."""
    if not accounts:
        return warn("installations", "none yet", "Install the App where it shall work.")
    shown = ", ".join(accounts[:5]) + (" …" if len(accounts) > 5 else "")
    count = f"{len(accounts)} or more" if more else str(len(accounts))
    return ok("installations", f"{count} ({shown})")
