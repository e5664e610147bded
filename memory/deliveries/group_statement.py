"""The statement that stores a group of deliveries and queues their work, in one round trip to PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import JSON, DateTime, Select, Text, column, func, literal_column, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.dml import ReturningInsert

from memory.db.tables.deliveries import BranchPushRow, DeliveryRow
from memory.deliveries.queue_rows import QueueRows

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
