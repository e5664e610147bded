"""The rows with which the work of any delivery is queued, noted once: DBOS builds them anew for each workflow."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, cast

from sqlalchemy import ColumnElement, FromClause, Text, func, literal, select
from sqlalchemy import cast as as_type
from sqlalchemy.dialects.postgresql import Insert

from memory.db.engine import Connection

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

    dialect = None  # one that DBOS has prepared no SQL for, so that it shows its inserts instead

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
