"""The set-up page asks a model of the provider whose key was pasted, and keeps settings by which Forge asks it, too."""

import os
from collections.abc import Mapping
from pathlib import Path

from bot.doctor import PartState
from bot.settings import Installation, load
from bot.setup.site import try_key
from tests.provider import KEY, Provider, answer_text, serve_provider

_OPENAI = {"FORGE_STRONG_MODEL": "openai:gpt-6.1-sol", "FORGE_FAST_MODEL": "openai:gpt-6.1-terra"}


async def _try(folder: Path, named: Mapping[str, str]) -> tuple[Provider, PartState, str, Mapping[str, str]]:
    """Give Anthropic's key where OpenAI's was given before."""
    os.chdir(folder)
    provider = Provider([answer_text([{"type": "text", "text": "ok"}])])
    async with serve_provider(provider) as address:
        os.environ["ANTHROPIC_BASE_URL"] = address
        for name, value in named.items():
            os.environ[name] = value
        installation = load(Installation)
        installation.make_data_dir()
        installation.store.save(_OPENAI)
        found, kept = await try_key("anthropic", KEY)
    return provider, found.condition, found.state, kept


async def test_a_key_of_another_provider_brings_its_models(tmp_path: Path) -> None:
    provider, condition, _, kept = await _try(tmp_path, {})
    assert (len(provider.asked), condition) == (1, PartState.well)
    load(Installation).store.save(kept)
    assert load(Installation).fast_model.startswith("anthropic:")


async def test_a_key_that_would_not_be_used_is_not_taken(tmp_path: Path) -> None:
    provider, condition, said, kept = await _try(tmp_path, _OPENAI)
    assert (len(provider.asked), condition, kept) == (0, PartState.broken, {})
    assert "FORGE_STRONG_MODEL is openai:gpt-6.1-sol" in said


async def test_where_one_model_is_of_the_provider_that_one_is_asked(tmp_path: Path) -> None:
    named = {"FORGE_STRONG_MODEL": "anthropic:claude-sonnet-5-5"}
    provider, condition, said, kept = await _try(tmp_path, named)
    assert (len(provider.asked), condition, kept) == (1, PartState.well, {"ANTHROPIC_API_KEY": KEY})
    assert said.startswith("anthropic:claude-sonnet-5-5")
