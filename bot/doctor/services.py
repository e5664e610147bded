"""Checks the App on GitHub (permissions, webhook, deliveries, installations), this machine's clock, and the models.

Of the models: their names, their providers' keys, their prices and, on request, whether they answer.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx2

from agents.llm.client import try_model
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.llm.prices import FallbackPrice
from bot.doctor import Diagnosis, fail, ok, warn
from bot.settings import ADD_MODEL, WITHOUT_MODEL, Settings, is_without_model
from domain.errors import CodeHostError, ForgeError, Unavailable
from domain.github.installations import DeliveryAttempt
from domain.money import FREE, MICRO, Usage, format_usd
from github.addresses import load_trusted
from github.host import GitHubHost
from github.payloads.apps import HookShown

_MAX_SKEW = timedelta(seconds=60)
"""GitHub refuses an App's token that was issued in the future."""

_NO_ANSWER = "Check FORGE_GITHUB_API_URL and the network of this machine."
_MAX_ATTEMPTS = 20  # deliveries


async def check_github(settings: Settings, host: GitHubHost, needed: Mapping[str, str]) -> AsyncGenerator[Diagnosis]:
    """Check the clock first, because GitHub refuses every request if it is wrong.

    :param needed: permission → level.
    """
    yield await _check_clock(settings)
    try:
        slug, missing = await host.examine_app(needed)
    except ForgeError as error:
        advice = _NO_ANSWER if isinstance(error, Unavailable) else "Check FORGE_APP_ID, the key and the API address."
        yield fail("GitHub", error.message, error.advice or advice)
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
        return warn("clock", why, _NO_ANSWER)
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


_SAMPLE_TOKENS = 100_000  # tokens; providers charge more for much longer prompts
_REVIEW = Usage(input_tokens=3_000, output_tokens=300)
"""About what a small change takes: the median of those in `tests/bench/reading`."""


async def check_models(settings: Settings, *, ask: bool) -> AsyncGenerator[Diagnosis]:
    """Check each configured model once.

    :param ask: spend a few tokens to see whether it answers.
    """
    chosen = settings.models
    if is_without_model(settings):
        yield warn("model", f"none yet. {WITHOUT_MODEL}", ADD_MODEL)
        return
    named = {settings.strong_model: "strong_model", settings.fast_model: "fast_model"}
    for task in ModelTier:
        if named.pop(chosen.names[task], None) is None:
            continue  # one model for both tasks
        is_wanted = bool(settings.model_fields_set & {"strong_model", "fast_model"})
        yield await check_model(chosen.find(task), is_wanted=is_wanted, ask=ask)
    if chosen.explicit_fallback is not None:
        yield await check_model(chosen.explicit_fallback, is_wanted=True, ask=ask)
    embedding = chosen.embedding
    if isinstance(embedding, Unusable):
        yield fail("model", embedding.reason, f"{embedding.advice} Or unset FORGE_EMBEDDING_MODEL.")
    elif embedding is not None:
        yield ok("model", f"{embedding.name} computes embeddings")


async def check_model(model: LanguageModel | Unusable, *, is_wanted: bool, ask: bool) -> Diagnosis:
    """Check a model.

    :param is_wanted: whether the operator named it, so that Forge cannot do without.
    :param ask: spend a few tokens to see whether it answers.
    """
    if isinstance(model, Unusable):
        advice = f"{model.advice} Without a model, a review runs only linters and security checks."
        return fail("model", model.reason, advice) if is_wanted else warn("model", model.reason, advice)
    state = f"{model.name}, {_describe_price(model)}, at most {model.seconds:g} s for an answer"
    if not ask:
        return ok("model", f"{state} (not asked; --ask does, for a few tokens)")
    is_well, said = await try_model(model)
    if is_well:
        return ok("model", f"{state}, {said}")
    advice = "Check its name, its provider's key, and whether this machine reaches the provider."
    return fail("model", f"{model.name} cannot be used: {said.rstrip('.')}.", advice)


def _describe_price(model: LanguageModel) -> str:
    if isinstance(model.price, FallbackPrice):
        return "price unknown, so Forge counts that of Anthropic's dearest model (FORGE_MODEL_PRICES sets another)"
    if model.price == FREE:
        return "counted as free"
    sides = (Usage(input_tokens=_SAMPLE_TOKENS), Usage(output_tokens=_SAMPLE_TOKENS))
    given, made = (model.price.cost(usage) * 1_000_000 / _SAMPLE_TOKENS / MICRO for usage in sides)
    review = format_usd(model.price.cost(_REVIEW))
    return (
        f"{given:g} USD per million input tokens, {made:g} per million output tokens, about {review} for a small review"
    )
