"""What a model call costs: an estimate of its tokens, and their price by list, operator, or the most it can be."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from domain.money import FREE, FixedPrice, Price, Usage, to_micro

_PIECES = re.compile(r"[A-Za-z]+|\d+|\n[ \t]*|[ \t]+|[^\sA-Za-z0-9\x80-\U0010ffff]+|[\x80-\U0010ffff]")


def estimate(text: str) -> int:
    """The approximate number of tokens of a text: one for six letters, three digits or two signs.

    Good enough to plan with and to compare texts; never used for money.
    """
    return sum(_estimate_piece(piece) for piece in _PIECES.findall(text))


def count_upper_bound(text: str) -> int:
    """The most tokens that any usual tokenizer makes of a text, so that no charge exceeds its reservation.

    All tokenizers begin with the bytes of the text and only join them. Base64, rare letters and other scripts come
    close to one token per byte.
    """
    return len(text.encode("utf-8", "replace"))


def _estimate_piece(piece: str) -> int:
    first = piece[0]
    if first.isascii() and first.isalpha():
        return -(-len(piece) // 6)
    if first.isdigit() and first.isascii():
        return -(-len(piece) // 3)
    if first in "\n \t":
        return 0 if piece == " " else 1  # a single space belongs to the next word
    return -(-len(piece) // 2) if first.isascii() else 1


@dataclass(frozen=True)
class ListPrice:
    """A price of the public list (genai-prices), with its steps for long inputs."""

    model: str
    provider: str

    def cost(self, usage: Usage) -> int:
        return to_micro(_find_list_price(usage, self.model, self.provider))


@dataclass(frozen=True)
class FallbackPrice:
    """For a model without a known price: the highest price of Anthropic's models."""

    def cost(self, usage: Usage) -> int:
        return max(ListPrice(model, "anthropic").cost(usage) for model in _anthropic_models())


def find_price(name: str, own: Mapping[str, FixedPrice]) -> tuple[Price, str | None]:
    """The price of a model, and a notice if it is not a listed one.

    :param name: e.g. ``anthropic:claude-haiku-5-5``.
    :param own: the operator's prices by name (``FORGE_MODEL_PRICES``), meant for models that are not listed.
    """
    provider, _, model = name.partition(":")
    if name in own:
        return own[name], None
    if provider == "ollama":
        return FREE, f"{name} runs on Ollama and counts as 0.00 USD."
    if _is_listed(model, provider.split("-")[0]):
        return ListPrice(model, provider.split("-")[0]), None
    return FallbackPrice(), (
        f"The price of {name} is not known, so it counts as much as the dearest model of Anthropic. "
        "Set FORGE_MODEL_PRICES."
    )


def compute_max_cost(price: Price, input_tokens: int, output_tokens: int) -> int:
    """The most a call can cost, in micro-USD: no input is read from the cache, and all of it is written there."""
    plain = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    return max(price.cost(plain), price.cost(plain.model_copy(update={"cache_write_tokens": input_tokens})))


def _find_list_price(usage: Usage, model: str, provider: str) -> Decimal:
    """:raises LookupError: the list does not have it."""
    import genai_prices  # slow to import: parsers only estimate tokens, and a review on this machine waits for them

    used = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    return genai_prices.calc_price(used, model, provider_id=provider).total_price


def _is_listed(model: str, provider: str) -> bool:
    try:
        return _find_list_price(Usage(output_tokens=1_000_000), model, provider) > 0
    except LookupError:
        return False


@lru_cache(maxsize=1)
def _anthropic_models() -> tuple[str, ...]:
    from genai_prices.data_snapshot import get_snapshot

    provider = next(provider for provider in get_snapshot().providers if provider.id == "anthropic")
    return tuple(model.id for model in provider.models if _is_listed(model.id, "anthropic"))
