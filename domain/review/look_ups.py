"""What a model looked up before it answered the questions of a review."""

from pydantic import BaseModel, ConfigDict


class LookUps(BaseModel):
    """What was looked up, within which bound, and what that cost.

    :param why: it was offered, as a clause.
    :param used: tool → how often.
    :param turns, most_turns: messages in which something was looked up, and in how many it might have been.
    :param tokens, most_tokens: of the answers.
    :param cost: of these messages, in micro-USD.
    """

    model_config = ConfigDict(frozen=True)

    why: str
    used: dict[str, int] = {}
    turns: int = 0
    most_turns: int = 0
    tokens: int = 0
    most_tokens: int = 0
    cost: int = 0

    def __add__(self, other: "LookUps") -> "LookUps":
        tools = {*self.used, *other.used}
        return LookUps(
            why=self.why,
            used={tool: self.used.get(tool, 0) + other.used.get(tool, 0) for tool in sorted(tools)},
            turns=self.turns + other.turns,
            most_turns=self.most_turns + other.most_turns,
            tokens=self.tokens + other.tokens,
            most_tokens=self.most_tokens + other.most_tokens,
            cost=self.cost + other.cost,
        )
