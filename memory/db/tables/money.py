"""The tables of money: model calls, budgets, answers and circuit breakers."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class SpendRow(TableRow):
    """One model call: what was reserved for it, and what it cost, in micro-USD."""

    __tablename__ = "spend"
    __table_args__ = (
        Index("spend_by_run", "run_id", "phase", "step"),
        Index(
            "spend_of_days",  # all that a report sums up, so that it reads no row
            "repository_id",
            "day",
            "phase",
            "model",
            "run_id",
            "state",
            "amount",
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
        ),
        Index("spend_by_installation", "installation_id", "day"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str]
    repository_id: Mapped[int]
    installation_id: Mapped[int]
    phase: Mapped[str]
    step: Mapped[str]
    model: Mapped[str]
    day: Mapped[str]  # of the reservation, in UTC: 2026-01-31
    state: Mapped[str]  # reserved | settled | lost
    reserved: Mapped[int]
    amount: Mapped[int]  # what counts against the limits now
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    cache_read_tokens: Mapped[int]
    cache_write_tokens: Mapped[int]
    outcome: Mapped[str]  # answered | failed | refused | lost; empty while reserved
    problem: Mapped[str] = mapped_column(Text)
    seconds: Mapped[float]
    reserved_at: Mapped[datetime]
    settled_at: Mapped[datetime | None]


class BudgetRow(TableRow):
    """What people granted beyond the configured limits, per run and phase: micro-USD, or model calls."""

    __tablename__ = "budgets"

    scope: Mapped[str] = mapped_column(primary_key=True)  # run:ID/PHASE | calls:ID/PHASE | granted by:ID/CAUSE
    granted: Mapped[int]


class AnswerRow(TableRow):
    """A model's answer in a run, by its question, so that nobody pays for the same answer twice.

    What guards see of a turn is stored beside it, because an answer can be large, and guards look before each call.
    """

    __tablename__ = "answers"

    run_id: Mapped[str] = mapped_column(primary_key=True)
    question: Mapped[str] = mapped_column(primary_key=True)  # a digest
    value: Mapped[dict[str, Any]] = mapped_column(JSON)
    turn: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    time: Mapped[datetime]


class CircuitRow(TableRow):
    """The error-rate breaker of one provider in one repository."""

    __tablename__ = "circuits"

    repository_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    provider: Mapped[str] = mapped_column(primary_key=True)
    circuit: Mapped[dict[str, Any]] = mapped_column(JSON)
