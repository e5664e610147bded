"""The settings that limit agents: budgets in USD, circuit breakers, and guards for a single task."""

from pydantic import Field

from domain.config.values import Calls, Dollars, Minutes, Section, Share

_WITHOUT_EFFECT = "No effect: a deployment calls no model."


class PhaseBudgets(Section):
    """USD per phase of a run."""

    planning: Dollars = 5
    implementation: Dollars = 10
    review: Dollars = 2
    testing: Dollars = 3
    deployment: Dollars = Field(default=2, description=_WITHOUT_EFFECT)


class Budgets(Section):
    """USD for models; the smallest one applies."""

    phase: PhaseBudgets = Field(
        default=PhaseBudgets(), description="For that phase of a run; `deployment` has no effect."
    )
    run: Dollars = Field(default=50, description="For a run.")
    day: Dollars = Field(default=200, description="For a day (UTC) in this repository.")


class IterationBreaker(Section):
    """Model calls per phase of a run."""

    planning: Calls = 20
    implementation: Calls = 50
    review: Calls = 10
    testing: Calls = 5
    deployment: Calls = Field(default=3, description=_WITHOUT_EFFECT)
    other: Calls = Field(default=10, description="In any other phase.")
    warn: Share = Field(default=0.8, description="Share of the limit at which people are warned.")
    stagnation: int = Field(default=3, ge=2, le=20, description="Calls in a row without progress.")


class TimeBreaker(Section):
    """Minutes of work per phase of a run. Waiting for people, queues or rate limits does not count."""

    planning: Minutes = 30
    implementation: Minutes = 60
    review: Minutes = 30
    testing: Minutes = 20
    deployment: Minutes = 15
    total: Minutes = Field(default=120, description="The whole run.")
    warn: Share = Field(default=0.9, description="Share of the limit at which people are warned.")


class ErrorRateBreaker(Section):
    """Share of failed calls within a sliding window."""

    window_minutes: int = Field(default=5, ge=1, le=60, description="Length of the window.")
    max_events: int = Field(default=1000, ge=20, le=10_000, description="The most calls it looks at.")
    min_events: int = Field(default=20, ge=5, le=1000, description="With fewer calls it does not judge.")
    warn: Share = Field(default=0.10, description="Share at which people are warned.")
    trip: Share = Field(default=0.25, description="Share at which it trips.")
    reset_minutes: int = Field(default=5, ge=1, le=1440, description="Until one trial call is made.")


class Breakers(Section):
    """Circuit breakers."""

    iteration: IterationBreaker = Field(
        default=IterationBreaker(),
        description="Model calls in that phase of a run; `stagnation`: so many in a row without progress; `warn`: "
        "the share that warns.",
    )
    time: TimeBreaker = Field(
        default=TimeBreaker(), description="Minutes of work in that phase, and in the run; waiting does not count."
    )
    error_rate: ErrorRateBreaker = Field(
        default=ErrorRateBreaker(),
        description="Failed calls of a provider: from `trip` of at least `min_events` within the window on, none is"
        " made for `reset_minutes`.",
    )


class Guards(Section):
    """What stops one task of an agent, each kind of task within its own range."""

    max_iterations: int = Field(
        default=10,
        ge=1,
        le=50,
        description="Model calls. A planner has 6 to 10, an implementer 10 to 15, to fix failing tests 5 to 8.",
    )
    max_runtime_minutes: int = Field(
        default=15,
        ge=1,
        le=60,
        description="A planner has 20 to 30, an implementer 15 to 30, to fix failing tests 10 to 15.",
    )
    consecutive_errors: int = Field(default=3, ge=1, le=20, description="Errors of one kind in a row.")
