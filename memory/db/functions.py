"""What Forge has SQLAlchemy write in its own way: functions that differ by database, and queries compiled once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, Connection, Dialect, Float, SelectBase, String, func
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine


class JsonArray(FunctionElement[Any]):
    """Several columns as one JSON array, on both databases."""

    name = "json_array"
    type = JSON()
    inherit_cache = True


@compiles(JsonArray, "postgresql")
def _json_build_array(array: JsonArray, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_build_array({compiler.process(array.clauses, **options)})"


@compiles(JsonArray, "sqlite")
def _json_array(array: JsonArray, compiler: SQLCompiler, **options: Any) -> str:
    """SQLite stores JSON as text, which would become a string in the array."""
    parts = [func.json(each) if isinstance(each.type, JSON) else each for each in array.clauses]
    return f"json_array({', '.join(compiler.process(each, **options) for each in parts)})"


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


_Converter = Callable[[Any], Any]


class CompiledQuery:
    """A query that is compiled once: finding it in SQLAlchemy's cache would take as long as running it.

    :param query: has parameters that are bound by name.
    """

    def __init__(self, query: SelectBase) -> None:
        self._query = query
        self._known: dict[str, _Text] = {}

    def rows(self, connection: Connection, values: Mapping[str, object]) -> Iterator[Sequence[Any]]:
        """The rows that it finds, each value converted by the type of its column.

        :param values: values of its parameters; others are ignored.
        """
        text = self._known.get(connection.dialect.name) or self._compile(connection.dialect)
        asked = {name: write(values[name]) for name, write in text.writers} | text.fixed
        bound = asked if text.order is None else tuple(asked[name] for name in text.order)
        for row in connection.exec_driver_sql(text.statement, bound):
            yield [read(value) for read, value in zip(text.readers, row, strict=True)]

    def _compile(self, dialect: Dialect) -> "_Text":
        compiled = self._query.compile(dialect=dialect)
        writers = {name: _writer(each.type, dialect) for name, each in compiled.binds.items()}
        fixed = {name: each.value for name, each in compiled.binds.items() if not each.required}
        text = _Text(
            statement=compiled.string,
            writers=[(name, write) for name, write in writers.items() if name not in fixed],
            fixed={name: writers[name](value) for name, value in fixed.items()},
            order=compiled.positiontup if compiled.positional else None,
            readers=[_reader(each.type, dialect) for each in self._query.selected_columns],
        )
        return self._known.setdefault(dialect.name, text)


@dataclass(frozen=True)
class _Text:
    """A query compiled for a dialect.

    :param writers: the parameters, each with its conversion for the driver.
    :param fixed: parameters that always have the same value.
    :param order: the order of the parameters, if the dialect does not name them.
    """

    statement: str
    writers: Sequence[tuple[str, _Converter]]
    fixed: dict[str, Any]
    order: Sequence[str] | None
    readers: Sequence[_Converter]


def _writer(kind: TypeEngine[Any], dialect: Dialect) -> _Converter:
    return kind.dialect_impl(dialect).bind_processor(dialect) or _return_unchanged


def _reader(kind: TypeEngine[Any], dialect: Dialect) -> _Converter:
    return kind.dialect_impl(dialect).result_processor(dialect, None) or _return_unchanged


def _return_unchanged(value: Any) -> Any:
    return value
