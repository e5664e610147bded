"""Checks the models: their names, their providers' keys, their prices and, on request, whether they answer."""

from collections.abc import AsyncGenerator

from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.llm.prices import FallbackPrice
from agents.llm.probe import try_model
from bot.doctor.diagnosis import Diagnosis, fail, ok, warn
from bot.model_choice import ADD_MODEL, WITHOUT_MODEL, is_without_model
from bot.settings import Settings
from domain.money import FREE, MICRO, Usage, format_usd

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
    return fail("model", f"{model.name} cannot be used: {said}.", advice)


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
