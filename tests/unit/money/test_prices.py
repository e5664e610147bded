"""Prices, amounts and token counts: exact, rounded up, and never below what a provider charges."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.prices import Dearest, Listed, price, worst
from agents.tokens import at_most, estimate
from domain import presets
from domain.configuration import Budgets, Configuration
from domain.money import FREE, MICRO, Ceilings, Fixed, Limits, Refusal, Scope, Usage, micro, shown
from domain.runs import Phase
from safety.money import capped, limits_of

MINE = {"openai:mine": Fixed(Decimal("0.5"), Decimal(2))}


def test_amounts_are_rounded_up_and_shown_short():
    assert (micro("0.0000001"), micro(2), micro(0.1)) == (1, 2 * MICRO, 100_000)
    assert [shown(amount) for amount in (0, 1_234_567, 4200, 1)] == ["0.00 USD", "1.23 USD", "0.0042 USD", "0.0001 USD"]


def test_listed_prices_count_the_cache():
    haiku, notice = price("anthropic:claude-haiku-4-5", {})
    assert isinstance(haiku, Listed)
    assert notice is None
    assert haiku.cost(Usage(input_tokens=1_000_000)) == MICRO
    assert haiku.cost(Usage(input_tokens=1_000_000, cache_read_tokens=1_000_000)) == MICRO // 10
    assert haiku.cost(Usage(output_tokens=1_000_000)) == 5 * MICRO


def test_the_worst_case_writes_everything_to_the_cache():
    haiku, _ = price("anthropic:claude-haiku-4-5", {})
    assert worst(haiku, 1_000_000, 0) == MICRO * 5 // 4


def test_own_prices_ollama_and_unknown_models():
    assert price("openai:mine", MINE) == (MINE["openai:mine"], None)
    free, notice = price("ollama:qwen3", {})
    assert free is FREE
    assert notice is not None
    unknown, notice = price("openai:mine", {})
    assert isinstance(unknown, Dearest)
    assert notice is not None
    assert "FORGE_MODEL_PRICES" in notice


def test_an_unknown_model_is_as_dear_as_the_dearest():
    usage = Usage(input_tokens=10_000, output_tokens=1000)
    assert Dearest().cost(usage) >= max(
        Listed(name, "anthropic").cost(usage) for name in ("claude-opus-4-1", "claude-sonnet-4-5", "claude-haiku-4-5")
    )


@given(st.text(max_size=300))
def test_the_upper_count_is_never_below_the_likely_one(text: str):
    assert at_most(text) >= estimate(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("return self.total + amount\n", 7), ("x = 12345", 4), ("", 0), ("名前を返す", 5)],
)
def test_the_likely_count_is_near_what_tokenizers_give(text: str, tokens: int):
    assert abs(estimate(text) - tokens) <= max(2, tokens // 2)


def test_limits_come_from_the_configuration_and_stay_below_the_ceilings():
    limits = limits_of(Budgets())
    assert limits == Limits()
    lower = capped(limits, Ceilings(phase=MICRO, day=10 * MICRO, installation=20 * MICRO))
    assert set(lower.phase.values()) == {MICRO}
    assert (lower.run, lower.day, lower.installation) == (50 * MICRO, 10 * MICRO, 20 * MICRO)
    assert capped(limits, Ceilings()) == limits


def test_ceilings_cap_what_a_configuration_shows():
    shown = presets.capped(Configuration(), Ceilings(phase=MICRO // 2, day=10 * MICRO).of_configuration)
    assert shown.budgets.phase.review == 0.5
    assert (shown.budgets.run, shown.budgets.day) == (50, 10)


def test_a_refusal_says_what_was_spent_the_limit_and_what_to_do():
    refused = Refusal(scope=Scope.day, phase=Phase.review, current=199 * MICRO, limit=200 * MICRO, wanted=2 * MICRO)
    assert "2.00 USD" in refused.message
    assert "199.00 USD" in refused.message
    assert "200.00 USD" in refused.message
    assert "budgets.day" in refused.advice
