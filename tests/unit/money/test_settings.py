"""The operator's settings of models and money: read as written, and a wrong one is named."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from agents.llm.models import ModelTier
from bot.settings import Settings
from domain.config.configuration import Ladder
from domain.config.presets import apply_ceilings, build
from domain.money import Ceilings, FixedPrice, to_micro


def settings(**values: str) -> Settings:
    """As the environment would give them."""
    given: dict[str, Any] = {"app_id": "1", "webhook_secret": "s", **values}
    return Settings(_env_file=None, **given)


def test_by_default_there_are_anthropics_models_and_no_ceilings():
    usual = settings()
    assert usual.models.names == {
        ModelTier.strong: "anthropic:claude-sonnet-5-5",
        ModelTier.fast: "anthropic:claude-haiku-5-5",
    }
    assert usual.ceilings == Ceilings()


def test_models_prices_and_ceilings_are_read():
    given = settings(
        fast_model="openai-chat:mine",
        model_prices="openai-chat:mine=0.5/1.5, ollama:qwen3:8b=0/0",
        ceiling_run="12.5",
        ceiling_installation="100",
    )
    assert given.models.names[ModelTier.fast] == "openai-chat:mine"
    assert given.models.prices == {
        "openai-chat:mine": FixedPrice(Decimal("0.5"), Decimal("1.5")),
        "ollama:qwen3:8b": FixedPrice(Decimal(0), Decimal(0)),
    }
    assert given.ceilings == Ceilings(run=to_micro("12.5"), installation=to_micro(100))


def test_the_operator_bounds_the_automation_level():
    bounds = settings(ceiling_level="2").ceilings.of_configuration
    assert apply_ceilings(build(), bounds).ladder == Ladder(max_level=2)
    assert apply_ceilings(build({"ladder": {"pinned": 4}}), bounds).ladder == Ladder(max_level=2, pinned=2)
    with pytest.raises(ValidationError, match="ceiling_level"):
        settings(ceiling_level="5")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fast_model", "haiku"),
        ("strong_model", "anthropic: opus"),
        ("model_prices", "openai:mine=cheap"),
        ("model_prices", "openai:mine=1"),
        ("model_prices", "mine=1/2"),
        ("ceiling_day", "-1"),
        ("ceiling_run", "much"),
    ],
)
def test_a_wrong_one_is_named(name: str, value: str):
    with pytest.raises(ValidationError) as caught:
        settings(**{name: value})
    assert [mistake["loc"] for mistake in caught.value.errors()] == [(name,)]
