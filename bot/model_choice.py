"""Tells whether anybody chose a model or gave the key of one, and what to say where nobody did."""

from agents.llm.models import ModelTier, Unusable
from bot.settings import Installation

WITHOUT_MODEL = "Reviews run linters and security checks only; nobody plans, implements or answers questions."
ADD_MODEL = (
    "That is a choice, not a mistake. To add one: `forge setup --store ANTHROPIC_API_KEY`, paste the key, Ctrl-D, and "
    "start Forge again."
)


def is_without_model(settings: Installation) -> bool:
    """Whether Forge goes without a model because nobody named one, and those it would take have no key."""
    models = settings.models
    return not models.are_named and all(isinstance(models.find(tier), Unusable) for tier in ModelTier)
