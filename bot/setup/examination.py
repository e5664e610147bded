"""Checks on the set-up page what `forge doctor` checks on a terminal, and a model's key before it is stored."""

import os
from collections.abc import Mapping, Sequence

from agents.llm.models import Models, ModelTier
from bot.doctor.diagnosis import Diagnosis, fail
from bot.doctor.doctor import diagnose
from bot.doctor.machine import check_sandbox
from bot.doctor.models import check_model
from bot.settings import Installation, list_named, load_installation

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""Provider → the variable that holds its key."""
_NAMES = {ModelTier.strong: "FORGE_STRONG_MODEL", ModelTier.fast: "FORGE_FAST_MODEL"}
_DEFAULTS = {tier: str(Installation.model_fields[f"{tier.value}_model"].default) for tier in _NAMES}
_CHOSEN = {
    "anthropic": _DEFAULTS,
    "openai": {ModelTier.strong: "openai:gpt-6.1-sol", ModelTier.fast: "openai:gpt-6.1-terra"},
}
"""Provider → what is asked where its key is given and no model of it is named."""

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
    asked = next((tier for tier in (ModelTier.fast, ModelTier.strong) if names[tier].startswith(provider)), None)
    if asked is None:
        fixed = list_named()
        for tier, setting in _NAMES.items():
            if fixed.get(setting):
                return _refuse_other(setting, names[tier]), {}
        asked, names = ModelTier.fast, _CHOSEN[provider]
        kept |= {setting: "" if names == _DEFAULTS else names[tier] for tier, setting in _NAMES.items()}
    models = Models(names, settings.model_prices, environment={**os.environ, **kept}, seconds=settings.model_seconds)
    return await check_model(models.find(asked), is_wanted=True, ask=True), kept


def _refuse_other(setting: str, name: str) -> Diagnosis:
    """What to say of a key that would never be used."""
    why = f"{setting} is {name} outside of the set-up, a model of another provider, so this key would not be used."
    return fail("model", why, f"Paste a key of that provider, or change {setting} there and start Forge again.")
