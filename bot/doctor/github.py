"""Checks the App on GitHub (permissions, webhook, deliveries, installations) and this machine's clock."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx2

from bot.certificates import load_trusted
from bot.doctor.diagnosis import Diagnosis, fail, ok, warn
from bot.github.host import GitHubHost
from bot.github.payloads.apps import HookShown
from bot.settings import Settings
from domain.errors import CodeHostError, ForgeError
from domain.github.deliveries import DeliveryAttempt

_MAX_SKEW = timedelta(seconds=60)
"""GitHub refuses an App's token that was issued in the future."""

_MAX_ATTEMPTS = 20  # deliveries


async def check_github(settings: Settings, host: GitHubHost, needed: Mapping[str, str]) -> AsyncGenerator[Diagnosis]:
    """Check the clock first, because GitHub refuses every request if it is wrong.

    :param needed: permission → level.
    """
    yield await _check_clock(settings)
    try:
        slug, missing = await host.examine_app(needed)
    except ForgeError as error:
        yield fail("GitHub", error.message, error.advice or "Check FORGE_APP_ID, the key and the API address.")
        return
    if missing:
        advice = "Grant the permissions of app.yml in the App's settings."
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
        async with httpx2.AsyncClient(verify=load_trusted(), timeout=10) as client:
            answer = await client.head(settings.github_api_url)
        there = parsedate_to_datetime(answer.headers["date"])
    except (httpx2.HTTPError, KeyError, ValueError) as error:
        why = f"GitHub's time is unknown ({type(error).__name__})"
        return warn("clock", why, "Check FORGE_GITHUB_API_URL and the network.")
    return compare_clocks(there, datetime.now(UTC))


def compare_clocks(there: datetime, here: datetime) -> Diagnosis:
    """Compare this machine's clock with GitHub's."""
    apart = here - there
    if abs(apart) <= _MAX_SKEW:
        return ok("clock", "agrees with GitHub's")
    way = "ahead of" if apart > timedelta() else "behind"
    state = f"{abs(apart).total_seconds():.0f} s {way} GitHub's: it refuses the App's tokens, and gates expire wrongly"
    return fail("clock", state, "Synchronise it by NTP.")


def check_hook(hook: HookShown) -> Diagnosis:
    """Whether GitHub has an address to deliver to, and signs what it delivers."""
    if not hook.url:
        return fail("webhook", "the App has no address", "Set https://YOUR-HOST/webhook in the App's settings.")
    if not hook.secret:
        advice = "Set the value of FORGE_WEBHOOK_SECRET in the App's settings."
        return fail("webhook", f"{hook.url} has no secret, so Forge refuses every delivery", advice)
    if str(hook.insecure_ssl) == "1":
        advice = "Turn on SSL verification in the App's settings."
        return warn("webhook", f"{hook.url}, and GitHub does not verify its certificate", advice)
    return ok("webhook", hook.url)


def check_deliveries(attempts: Sequence[DeliveryAttempt]) -> Diagnosis:
    """Whether GitHub's latest deliveries, newest first, arrived."""
    if not attempts:
        return ok("deliveries", "none yet")
    failed = [each for each in attempts if not each.is_answered]
    state = f"{len(attempts) - len(failed)} of the last {len(attempts)} arrived"
    if attempts[0].is_answered:
        return ok("deliveries", state)
    status = attempts[0].status_code
    if status == 401:
        advice = "Set FORGE_WEBHOOK_SECRET and the secret in the App's settings to the same value."
        return fail("deliveries", f"{state}; the newest had a wrong signature", advice)
    said = f"was answered with {status}" if status else "was not answered"
    advice = "Check that `forge serve` runs and that GitHub can reach the webhook's address."
    return warn("deliveries", f"{state}; the newest {said}", advice)


def check_installations(accounts: Sequence[str], more: bool) -> Diagnosis:
    """Where the App is installed."""
    if not accounts:
        return warn("installations", "none yet", "Install the App on the repositories where it should work.")
    shown = ", ".join(accounts[:5]) + (" …" if len(accounts) > 5 else "")
    count = f"{len(accounts)} or more" if more else str(len(accounts))
    return ok("installations", f"{count} ({shown})")
