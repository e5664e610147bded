"""What Forge has SQLAlchemy write in its own way: functions that differ by database."""

from typing import Any

from sqlalchemy import Float, String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class UtcDay(FunctionElement[str]):
    """The UTC day of a time: ``2026-01-31``."""

    name = "utc_day"
    type = String()
    inherit_cache = True


@compiles(UtcDay, "postgresql")
def _format_day(day: UtcDay, compiler: SQLCompiler, **options: Any) -> str:
    return f"to_char(timezone('UTC', {compiler.process(day.clauses, **options)}), 'YYYY-MM-DD')"


@compiles(UtcDay, "sqlite")
def _cut_day(day: UtcDay, compiler: SQLCompiler, **options: Any) -> str:
    """SQLite stores times as text, in UTC."""
    return f"substr({compiler.process(day.clauses, **options)}, 1, 10)"


class SecondsBetween(FunctionElement[Any]):
    """The seconds from one time to another, to the millisecond; NULL if one is not known."""

    name = "seconds_between"
    type = Float()
    inherit_cache = True


@compiles(SecondsBetween, "postgresql")
def _subtract_times(between: SecondsBetween, compiler: SQLCompiler, **options: Any) -> str:
    since, until = (compiler.process(each, **options) for each in between.clauses)
    return f"CAST(extract(epoch FROM {until} - {since}) AS DOUBLE PRECISION)"


@compiles(SecondsBetween, "sqlite")
def _subtract_days(between: SecondsBetween, compiler: SQLCompiler, **options: Any) -> str:
    since, until = (compiler.process(each, **options) for each in between.clauses)
    return f"round((julianday({until}) - julianday({since})) * 86400, 3)"
