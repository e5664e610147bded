"""Money in millionths of a US dollar, so that sums are exact: usage, limits, reservations and refusals."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Protocol

from pydantic import Field

from domain.runs.run import Phase
from domain.value import Value
from domain.verdicts import Check

MICRO = 1_000_000


def to_micro(usd: Decimal | float | str) -> int:
    """US dollars as millionths, rounded up."""
    return int((Decimal(str(usd)) * MICRO).to_integral_value(ROUND_CEILING))


def format_usd(amount: int) -> str:
    """An amount for people; below a cent with four decimals, rounded up."""
    if 0 < amount < MICRO // 100:
        return f"{Decimal(-(-amount // 100)) / 10_000:.4f} USD"
    return f"{Decimal(amount) / MICRO:.2f} USD"


class Usage(Value):
    """Tokens of one call. Input includes what was read from or written to the provider's cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class Price(Protocol):
    """The price of a model's tokens."""

    def cost(self, usage: Usage) -> int:
        """Micro-USD for the tokens of one call, rounded up."""
        ...


@dataclass(frozen=True)
class FixedPrice:
    """A price in USD per million tokens. Cached tokens cost as much as others."""

    input: Decimal
    output: Decimal

    def cost(self, usage: Usage) -> int:
        return to_micro((self.input * usage.input_tokens + self.output * usage.output_tokens) / MICRO)


FREE = FixedPrice(Decimal(0), Decimal(0))


class LimitScope(StrEnum):
    """The scope of a limit, from narrow to broad."""

    phase = "phase"  # this phase of this run
    run = "run"
    day = "day"  # this repository, this day (UTC)
    installation = "installation"  # all its repositories, this day (UTC)


class Limits(Value):
    """The limits in micro-USD (``budgets`` of the configuration); None: no limit."""

    phase: dict[Phase, int] = {
        Phase.planning: 5 * MICRO,
        Phase.implementation: 10 * MICRO,
        Phase.review: 2 * MICRO,
        Phase.testing: 3 * MICRO,
        Phase.deployment: 2 * MICRO,
        Phase.reflection: MICRO // 4,
    }
    run: int = 50 * MICRO
    day: int = 200 * MICRO
    installation: int | None = None

    def limit(self, scope: LimitScope, phase: Phase) -> int | None:
        """The limit of a scope; a phase without one of its own has the run's."""
        if scope is LimitScope.phase:
            return self.phase.get(phase, self.run)
        return {LimitScope.run: self.run, LimitScope.day: self.day, LimitScope.installation: self.installation}[scope]


class Ceilings(Value):
    """The operator's limits, which neither a repository nor an extension can raise; None: no limit.

    Money is in micro-USD: ``phase`` applies to every phase; ``installation`` is per day (UTC). ``calls`` are
    model calls in one phase of a run, ``minutes`` its working time, ``level`` is the highest automation level.
    """

    phase: int | None = None
    run: int | None = None
    day: int | None = None
    installation: int | None = None
    calls: int | None = None
    minutes: int | None = None
    level: int | None = None

    @property
    def of_configuration(self) -> dict[str, float]:
        """The ceilings by dotted path of the configuration, for ``presets.apply_ceilings``."""
        phases = [phase.value for phase in Phase if phase is not Phase.reflection]  # which a file cannot set
        named = {**{f"budgets.phase.{phase}": self.phase for phase in phases}, "budgets.run": self.run}
        named["budgets.day"] = self.day
        money = {path: amount / MICRO for path, amount in named.items() if amount is not None}
        calls = {f"breakers.iteration.{name}": self.calls for name in (*phases, "other")}
        minutes = {f"breakers.time.{name}": self.minutes for name in (*phases, "total")}
        others = calls | minutes | {"ladder.max_level": self.level}
        return money | {path: most for path, most in others.items() if most is not None}


NO_CEILINGS = Ceilings()


class BudgetExtension(Value):
    """An extension that a person grants: micro-USD for the phase and the run, and model calls."""

    amount: int = 0
    calls: int = 0

    @property
    def label(self) -> str:
        parts = [*([format_usd(self.amount)] if self.amount else []), *([f"{self.calls} calls"] if self.calls else [])]
        return " and ".join(parts)


NO_EXTENSION = BudgetExtension()


class Totals(Value):
    """The amount that counts against each limit: spent, reserved and lost, in micro-USD."""

    phase: int = 0
    run: int = 0
    day: int = 0
    installation: int = 0

    def total(self, scope: LimitScope) -> int:
        return {
            LimitScope.phase: self.phase,
            LimitScope.run: self.run,
            LimitScope.day: self.day,
            LimitScope.installation: self.installation,
        }[scope]


class LimitUse(Value):
    """The use of a limit, in micro-USD.

    :param scope: None where only its name counts.
    """

    name: str
    scope: LimitScope | None = None
    used: int
    limit: int


SCOPES = {
    LimitScope.phase: "budget of the {phase} phase",
    LimitScope.run: "budget of this run",
    LimitScope.day: "budget of this repository for today (UTC)",
    LimitScope.installation: "ceiling of this installation for today (UTC)",
}


def list_limit_uses(totals: Totals, limits: Limits, phase: Phase) -> list[LimitUse]:
    """The use of each limit, from the narrowest to the broadest."""
    return [
        LimitUse(name=SCOPES[scope].format(phase=phase.value), scope=scope, used=totals.total(scope), limit=limit)
        for scope in LimitScope
        if (limit := limits.limit(scope, phase)) is not None
    ]


class Refusal(Value):
    """A refused model call: it would exceed a limit, or a breaker is open.

    :param gate: the gate at which a person can allow it; None if only time or a setting can.
    """

    check: Check
    gate: str | None = None

    @property
    def is_about_money(self) -> bool:
        """Whether a budget stopped the call, or a ceiling of the operator for it."""
        return self.check.name == "cost"

    @property
    def is_decided(self) -> bool:
        """Whether a gate that could have allowed it was rejected, or nobody answered there."""
        return self.check.reason.code.startswith("gate.")

    @property
    def message(self) -> str:
        return f"The model was not asked: {self.check.reason.text}"

    @property
    def advice(self) -> str:
        return self.check.suggestion


class Reservation(Value):
    """Money set aside for one call, in micro-USD. ``warnings`` name nearly exceeded limits and breakers."""

    id: str
    amount: int = Field(ge=0)
    warnings: tuple[str, ...] = ()


class CallOutcome(StrEnum):
    """The outcome of a model call."""

    answered = "answered"
    failed = "failed"  # the provider failed before it did any work; nothing is charged
    refused = "refused"  # the provider is well, but does not take this model or key; nothing is charged
    lost = "lost"  # nobody knows what the provider did; charged in full


class Receipt(Value):
    """What became of a reserved call.

    :param amount: micro-USD; None if the provider did not say, so that the reservation is charged in full.
    :param seconds: from request to answer.
    """

    outcome: CallOutcome
    amount: int | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    problem: str = ""


class GroupBy(StrEnum):
    """What the costs of calls are summed up by."""

    phase = "phase"
    model = "model"
    repository = "repository"
    day = "day"
