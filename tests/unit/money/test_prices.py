"""Prices, amounts and token counts: exact, rounded up, and never below what a provider charges."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm.prices import FallbackPrice, ListPrice, compute_max_cost, count_upper_bound, estimate, find_price
from domain.config import presets
from domain.config.configuration import Configuration
from domain.config.limits import Budgets
from domain.money import FREE, MICRO, Ceilings, FixedPrice, Limits, Totals, Usage, format_usd, to_micro
from domain.runs.run import Phase
from safety.call_admission import cap_limits, find_refusal, limits_of

MINE = {"openai:mine": FixedPrice(Decimal("0.5"), Decimal(2))}


def test_amounts_are_rounded_up_and_shown_short():
    assert (to_micro("0.0000001"), to_micro(2), to_micro(0.1)) == (1, 2 * MICRO, 100_000)
    assert [format_usd(amount) for amount in (0, 1_234_567, 4200, 1)] == [
        "0.00 USD",
        "1.23 USD",
        "0.0042 USD",
        "0.0001 USD",
    ]


def test_listed_prices_count_the_cache():
    haiku, notice = find_price("anthropic:claude-haiku-4-5", {})
    assert isinstance(haiku, ListPrice)
    assert notice is None
    assert haiku.cost(Usage(input_tokens=1_000_000)) == MICRO
    assert haiku.cost(Usage(input_tokens=1_000_000, cache_read_tokens=1_000_000)) == MICRO // 10
    assert haiku.cost(Usage(output_tokens=1_000_000)) == 5 * MICRO


def test_the_worst_case_writes_everything_to_the_cache():
    haiku, _ = find_price("anthropic:claude-haiku-4-5", {})
    assert compute_max_cost(haiku, 1_000_000, 0) == MICRO * 5 // 4


def test_own_prices_ollama_and_unknown_models():
    assert find_price("openai:mine", MINE) == (MINE["openai:mine"], None)
    free, notice = find_price("ollama:qwen3", {})
    assert free is FREE
    assert notice is not None
    unknown, notice = find_price("openai:mine", {})
    assert isinstance(unknown, FallbackPrice)
    assert notice is not None
    assert "FORGE_MODEL_PRICES" in notice


def test_an_unknown_model_is_as_dear_as_the_dearest():
    usage = Usage(input_tokens=10_000, output_tokens=1000)
    assert FallbackPrice().cost(usage) >= max(
        ListPrice(name, "anthropic").cost(usage)
        for name in ("claude-opus-4-1", "claude-sonnet-4-5", "claude-haiku-4-5")
    )


@given(st.text(max_size=300))
def test_the_upper_count_is_never_below_the_likely_one(text: str):
    assert count_upper_bound(text) >= estimate(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("return self.total + amount\n", 7), ("x = 12345", 4), ("", 0), ("名前を返す", 5)],
)
def test_the_likely_count_is_near_what_tokenizers_give(text: str, tokens: int):
    assert abs(estimate(text) - tokens) <= max(2, tokens // 2)


def test_limits_come_from_the_configuration_and_stay_below_the_ceilings():
    limits = limits_of(Budgets())
    assert limits == Limits()
    lower = cap_limits(limits, Ceilings(phase=MICRO, day=10 * MICRO, installation=20 * MICRO))
    assert max(lower.phase.values()) == MICRO
    assert (lower.run, lower.day, lower.installation) == (50 * MICRO, 10 * MICRO, 20 * MICRO)
    assert cap_limits(limits, Ceilings()) == limits


def test_ceilings_cap_what_a_configuration_shows():
    shown = presets.apply_ceilings(Configuration(), Ceilings(phase=MICRO // 2, day=10 * MICRO).of_configuration)
    assert shown.budgets.phase.review == 0.5
    assert (shown.budgets.run, shown.budgets.day) == (50, 10)


def test_a_refusal_says_what_was_spent_the_limit_and_what_to_do():
    refused = find_refusal(to_micro("1.5"), Totals(day=199 * MICRO), Limits(), Phase.review)
    assert refused is not None
    assert "1.50 USD" in refused.message
    assert "199.00 USD" in refused.message
    assert "200.00 USD" in refused.message
    assert "budgets.day" in refused.advice
    assert (refused.check.name, refused.check.should_break, refused.gate) == ("cost", True, None)


REVIEW = Limits(phase={Phase.review: 100}, run=1000, day=10_000, installation=10_000)


@pytest.mark.parametrize(
    ("phase", "wanted"),
    [
        (Phase.planning, 4),
        (Phase.implementation, 8),
        (Phase.review, 1.6),
        (Phase.testing, 2.4),
        (Phase.deployment, 1.6),
    ],
)
def test_the_usual_numbers_of_each_phase(phase: Phase, wanted: float):
    """5, 10, 2, 3 and 2 USD, of which four fifths can be spent before anybody is asked."""
    assert find_refusal(to_micro(wanted), Totals(), Limits(), phase) is None
    refused = find_refusal(to_micro(wanted) + 1, Totals(), Limits(), phase)
    assert refused is not None
    assert refused.gate == "cost_overrun"


def test_where_the_operator_allows_no_more_nobody_is_asked():
    """A slice could not be granted, so the limit is used up to its end, and then it is one."""
    ceilings = Ceilings(phase=100)
    assert find_refusal(100, Totals(), REVIEW, Phase.review, ceilings) is None
    refused = find_refusal(101, Totals(), REVIEW, Phase.review, ceilings)
    assert refused is not None
    assert refused.gate is None
    assert "operator allows no more" in refused.advice


def test_a_budget_of_nothing_asks_nobody():
    """Who configures 0 wants no call at all, so no slice is offered."""
    refused = find_refusal(1, Totals(), Limits(run=0), Phase.review)
    assert refused is not None
    assert refused.gate is None


def test_the_models_of_today_have_a_price() -> None:
    """Haiku 5.5 costs five times as much from 100,000 tokens of input on; no question of a review has that many."""
    haiku, sonnet = find_price("anthropic:claude-haiku-5-5", {}), find_price("anthropic:claude-sonnet-5-5", {})
    assert haiku[1] is sonnet[1] is None
    asked = Usage(input_tokens=10_000, output_tokens=1_000)
    assert (haiku[0].cost(asked), sonnet[0].cost(asked)) == (1_500, 30_000)
    long = Usage(input_tokens=200_000, output_tokens=1_000)
    assert haiku[0].cost(long) == 102_500
