"""Checks on the set-up page what `forge doctor` checks on a terminal, and a model's key before it is stored."""

import os
from collections.abc import Mapping, Sequence

from agents.llm.models import Models, ModelTier
from bot.doctor.diagnosis import Diagnosis, fail
from bot.doctor.doctor import diagnose
from bot.doctor.models import check_model
from bot.doctor.sandbox import check_sandbox
from bot.settings import load_installation

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""Provider → the variable that holds its key."""
_OPENAI = {"FORGE_STRONG_MODEL": "openai:gpt-6.1-sol", "FORGE_FAST_MODEL": "openai:gpt-6.1-terra"}
"""What is asked where OpenAI's key is given, as the defaults are Anthropic's."""

NO_KEY = fail("model", "There is no key.", "Paste one, or go on without a model.")


async def examine_installation() -> Sequence[Diagnosis]:
    """What `forge doctor` finds with the settings as they are now."""
    found = [each async for each in diagnose()]
    settings = load_installation()
    return [*found, await check_sandbox(settings.sandbox_user, settings.sandbox)]


async def try_key(provider: str, key: str) -> tuple[Diagnosis, Mapping[str, str]]:
    """Ask the cheaper of the provider's models for one word; also returns the settings to keep if it answered."""
    settings = load_installation()
    kept = {KEYS[provider]: key}
    names = {ModelTier.strong: settings.strong_model, ModelTier.fast: settings.fast_model}
    if not any(name.startswith(provider) for name in names.values()):
        kept |= _OPENAI
        names = {ModelTier.strong: _OPENAI["FORGE_STRONG_MODEL"], ModelTier.fast: _OPENAI["FORGE_FAST_MODEL"]}
    models = Models(names, settings.model_prices, environment={**os.environ, **kept})
    return await check_model(models.find(ModelTier.fast), is_wanted=True, ask=True), kept
