"""What a migration takes away from the version of Forge before it, which may still be running."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import inspect

from memory.db.engine import Connection


@dataclass(frozen=True)
class ColumnShape:
    """What a statement of the version before can stumble over."""

    kind: str
    is_nullable: bool
    has_default: bool


@dataclass(frozen=True)
class TableShape:
    """The columns of a table, and what must be unique in it."""

    columns: Mapping[str, ColumnShape]
    unique: frozenset[tuple[str, ...]]


def describe_schema(connection: Connection) -> dict[str, TableShape]:
    """The tables as they are."""
    looked = inspect(connection)
    return {
        name: TableShape(
            {
                each["name"]: ColumnShape(str(each["type"]), each["nullable"], each["default"] is not None)
                for each in looked.get_columns(name)
            },
            frozenset(
                [tuple(str(column) for column in each["column_names"]) for each in looked.get_unique_constraints(name)]
                + [tuple(map(str, each["column_names"])) for each in looked.get_indexes(name) if each["unique"]]
            ),
        )
        for name in looked.get_table_names()
    }


def find_losses(before: Mapping[str, TableShape], after: Mapping[str, TableShape]) -> Sequence[str]:
    """What the version before would miss, or what would refuse its rows; empty if the migration only expands."""
    found: list[str] = []
    for name, old in before.items():
        new = after.get(name)
        if new is None:
            found.append(f"the table {name} is gone")
            continue
        for column, was in old.columns.items():
            found += _find_losses_of_column(f"{name}.{column}", was, new.columns.get(column))
        found += [
            f"{name}.{column} is new and must be given"
            for column, shape in new.columns.items()
            if column not in old.columns and not shape.is_nullable and not shape.has_default
        ]
        found += [f"{name} ({', '.join(columns)}) must be unique now" for columns in sorted(new.unique - old.unique)]
    return found


def _find_losses_of_column(name: str, was: ColumnShape, now: ColumnShape | None) -> Sequence[str]:
    if now is None:
        return [f"the column {name} is gone"]
    if was.is_nullable and not now.is_nullable:
        return [f"{name} must be given now"]
    return [f"{name} was {was.kind} and is {now.kind}"] if was.kind != now.kind else []
