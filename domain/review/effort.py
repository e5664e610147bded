"""How much people want a model to read of a change."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Effort(StrEnum):
    """How thoroughly a model reads a change, and so what that costs."""

    low = "low"  # the fast model, one question, a second look at what would block
    standard = "standard"  # the fast model, as many questions as it takes, a second look at everything
    deep = "deep"  # the strong model, and more code around the change


class EffortCost(BaseModel):
    """What a review may cost; money in micro-USD.

    :param model: that reads; empty if none can be asked.
    :param last_model: that read in the last review of this pull request; empty if none did.
    :param most: what the review phase may cost.
    """

    model_config = ConfigDict(frozen=True)

    effort: Effort
    model: str
    last_model: str
    last_tokens: int
    last_cost: int
    most: int
