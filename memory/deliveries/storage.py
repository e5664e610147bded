"""Stores a group of deliveries and queues their work, in one commit, and on PostgreSQL in one round trip.

The rows with which work is queued are noted once: DBOS builds them anew for each workflow.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, cast

import orjson
from sqlalchemy import (
    JSON,
    ColumnElement,
    DateTime,
    FromClause,
    Select,
    Text,
    column,
    func,
    literal,
    literal_column,
    select,
)
from sqlalchemy import cast as as_type
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.sql.dml import ReturningInsert

from memory.db.engine import Connection, Engine, begin
from memory.db.postgresql import DedicatedConnection
from memory.db.tables.deliveries import BranchPushRow, DeliveryRow
from memory.deliveries import deliveries, pushes
from memory.deliveries.deliveries import ReceivedDelivery

_PLACEHOLDER = "{guid}"  # where the GUID of a delivery belongs
_QUOTED = json.dumps(_PLACEHOLDER)


@dataclass(frozen=True)
class QueueRow:
    """A row of one of DBOS's tables.

    :param insert: the statement, without values.
    :param values: by column, with the placeholder.
    """

    insert: Insert
    values: Mapping[str, Any]

    def fill(self, guid: str) -> dict[str, Any]:
        """The values for a delivery, with its GUID in place of the placeholder, also within JSON."""
        quoted = json.dumps(guid)
        return {
            name: guid if value == _PLACEHOLDER else value.replace(_QUOTED, quoted) if isinstance(value, str) else value
            for name, value in self.values.items()
        }

    def insert_for(self, found: FromClause, guid: ColumnElement[str], *wanted: ColumnElement[bool]) -> Insert:
        """The statement that inserts it for all deliveries that are found."""
        values = [self._fill_in_database(name, guid) for name in self.values]
        return self.insert.from_select(list(self.values), select(*values).select_from(found).where(*wanted))

    def _fill_in_database(self, name: str, guid: ColumnElement[str]) -> ColumnElement[Any]:
        value = self.values[name]
        if value == _PLACEHOLDER:
            return guid
        constant = literal(value, self.insert.table.c[name].type)
        if isinstance(value, str) and _QUOTED in value:
            return func.replace(constant, _QUOTED, as_type(func.to_json(guid), Text))
        return constant


@dataclass
class QueueRows:
    """What DBOS inserts to queue the work of a delivery.

    :ivar options: of the connection on which it inserts; they name DBOS's schema.
    """

    rows: list[QueueRow] = field(default_factory=list[QueueRow])
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    def insert(self, connection: Connection, guids: Sequence[str]) -> None:
        """Queue the work of these deliveries."""
        if not guids:
            return
        connection.execution_options(**self.options)
        for row in self.rows:
            # Rows that nobody fetches would keep SQLite from committing.
            connection.execute(row.insert, [row.fill(guid) for guid in guids]).close()


def note_queue_rows(queue: Callable[[Connection, str], object]) -> QueueRows:
    """The rows that a function inserts.

    :param queue: queues the work of the delivery with this GUID on this connection.
    """
    noted = QueueRows()
    queue(cast(Connection, _NotingConnection(noted)), _PLACEHOLDER)
    return noted


class _NotingConnection:
    """Stands in for a connection while DBOS queues work."""

    dialect: None = None  # one that DBOS has prepared no SQL for, so that it shows its inserts instead

    def __init__(self, noted: QueueRows) -> None:
        self._noted = noted

    def get_execution_options(self) -> dict[str, Any]:
        return self._noted.options

    def execution_options(self, **options: Any) -> None:
        self._noted.options.update(options)

    def execute(self, insert: Insert, values: Mapping[str, Any]) -> Self:
        self._noted.rows.append(QueueRow(insert, dict(values)))
        return self

    def fetchone(self) -> None:
        """No row was there before."""


_TYPES = {"received_at": DateTime(timezone=True), "finished_at": DateTime(timezone=True), "command": JSON()}
_COLUMNS = [name.key for name in DeliveryRow.__table__.columns]


class GroupStatement:
    """Inserts deliveries, and what queues the work of those that are new and ask for some; returns the new GUIDs.

    :param queue: with which the work of a delivery is queued.
    """

    def __init__(self, queue: QueueRows) -> None:
        compiled = _build(queue).compile(
            dialect=postgresql.dialect(paramstyle="named"),  # or each % of a text would be doubled
            schema_translate_map=queue.options.get("schema_translate_map"),
            compile_kwargs={"literal_binds": True},  # few of its values ever change
            render_schema_translate=True,
        )
        self.text = str(compiled)

    def bind(self, rows: Sequence[Mapping[str, Any]], pushed: Sequence[Mapping[str, Any]]) -> tuple[bytes, bytes]:
        """The values of its parameters.

        :param rows: of the table of deliveries, in the order of its unique keys.
        :param pushed: of the table of pushes, likewise.
        """
        return orjson.dumps(rows), orjson.dumps(pushed)


def _build(queue: QueueRows) -> Select[tuple[str]]:
    """Rows come as JSON: one parameter for all of a table, which the driver passes on as it is."""
    columns = [column(name, _TYPES.get(name, Text())) for name in _COLUMNS]
    delivered = (
        func.json_to_recordset(literal_column("$1::json"))
        .table_valued(*columns)
        .render_derived("delivered", with_types=True)
    )
    new = (
        postgresql.insert(DeliveryRow)
        .from_select(_COLUMNS, select(*(delivered.c[name] for name in _COLUMNS)))
        .on_conflict_do_nothing()
        .returning(DeliveryRow.guid, DeliveryRow.outcome)
        .cte("new")
    )
    queued = [row.insert_for(new, new.c.guid, new.c.outcome == "accepted") for row in queue.rows]
    ctes = [insert.cte(f"queued_{index}") for index, insert in enumerate(queued)]
    return select(new.c.guid).add_cte(*ctes, _build_pushes().cte("pushed"))


def _build_pushes() -> ReturningInsert[str]:
    names = [each.key for each in BranchPushRow.__table__.columns]
    columns = [column(each.key, each.type) for each in BranchPushRow.__table__.columns]
    moved = (
        func.json_to_recordset(literal_column("$2::json"))
        .table_valued(*columns)
        .render_derived("moved", with_types=True)
    )
    return (
        postgresql.insert(BranchPushRow)
        .from_select(names, select(*(moved.c[name] for name in names)))
        .on_conflict_do_nothing()
        .returning(BranchPushRow.head_sha)
    )


_AT_ONCE = 3
"""Groups on their way to PostgreSQL at once: while some are committed, the next is sent (docs/scaling.md)."""


class DeliveryStorage(Protocol):
    """Stores one group of deliveries after the other."""

    async def store(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        """Store a group and queue its work; whether each delivery was new, as :func:`deliveries.store` says.

        :raises DatabaseUnavailable: the database does not work; nobody knows whether it committed.
        """
        ...

    async def close(self) -> None: ...


def open_storages(engine: Engine, queue: QueueRows, seconds: float) -> Sequence[DeliveryStorage]:
    """As many as may store at once.

    :param engine: for urgent writes.
    :param queue: with which the work of a delivery is queued.
    :param seconds: after which a server of PostgreSQL that vanished is given up.
    """
    if engine.dialect.name == "sqlite":
        return [_SqliteStorage(engine, queue)]
    statement = GroupStatement(queue)
    connections = [DedicatedConnection(engine, statement.text, seconds) for _ in range(_AT_ONCE)]
    return [_PostgresqlStorage(each, statement) for each in connections]


class _SqliteStorage:
    """Stores in a thread of its own: the loop's others may all be waiting for the database."""

    def __init__(self, engine: Engine, queue: QueueRows) -> None:
        self._engine = engine
        self._queue = queue
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="intake")

    async def store(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, group)

    async def close(self) -> None:
        self._thread.shutdown(wait=False)

    def _commit(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        with begin(self._engine) as connection:
            new = deliveries.store(connection, group)
            pushes.store(connection, deliveries.list_pushes(group))
            work = [each.guid for each, is_new in zip(group, new, strict=True) if is_new and each.command is not None]
            self._queue.insert(connection, work)
            return new


class _PostgresqlStorage:
    """Stores with one statement, which is also the commit."""

    def __init__(self, connection: DedicatedConnection, statement: GroupStatement) -> None:
        self._connection = connection
        self._statement = statement

    async def store(self, group: Sequence[ReceivedDelivery]) -> list[bool]:
        inserted = await self._connection.execute(
            *self._statement.bind(deliveries.build_rows(group), deliveries.list_pushes(group))
        )
        return deliveries.tell_new(group, {guid.decode() for (guid,) in inserted if guid is not None})

    async def close(self) -> None:
        await self._connection.close()
