"""What an outage of the database does to a workflow, and what it does not do."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable

import psycopg
import pytest
from dbos._serialization import PortableWorkflowError
from sqlalchemy.exc import DBAPIError, InternalError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from memory.db.engine import is_outage
from pipeline.durable.journal import call_dbos


def _sqlite(code: int) -> DBAPIError:
    error = sqlite3.OperationalError("it did not work")
    error.sqlite_errorcode = code
    return OperationalError("SELECT 1", None, error)


OUTAGES: list[Exception] = [
    _sqlite(sqlite3.SQLITE_BUSY),
    _sqlite(sqlite3.SQLITE_FULL),
    _sqlite(sqlite3.SQLITE_READONLY),
    _sqlite(sqlite3.SQLITE_IOERR_WRITE),
    _sqlite(sqlite3.SQLITE_BUSY_SNAPSHOT),
    OperationalError("SELECT 1", None, psycopg.errors.AdminShutdown()),
    OperationalError("SELECT 1", None, psycopg.errors.DeadlockDetected()),
    InternalError("UPDATE", None, psycopg.errors.ReadOnlySqlTransaction()),
    PoolTimeout(),
]
MISTAKES: list[Exception] = [
    _sqlite(sqlite3.SQLITE_ERROR),  # such as a column that does not exist
    OperationalError("SELECT 1", None, sqlite3.OperationalError("no such column: x")),
    ProgrammingError("SELECT 1", None, psycopg.errors.UndefinedColumn()),
    ValueError("database is locked"),
]


def _operation(*answers: str | Exception) -> Callable[[], Awaitable[str]]:
    left = iter(answers)

    async def operation() -> str:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return operation


@pytest.mark.parametrize("error", OUTAGES, ids=repr)
async def test_an_outage_interrupts(error: Exception) -> None:
    assert is_outage(error)
    with pytest.raises(asyncio.CancelledError):
        await call_dbos(_operation(error, "made again"))


@pytest.mark.parametrize("error", MISTAKES, ids=repr)
async def test_a_mistake_stays_one(error: Exception) -> None:
    assert not is_outage(error)
    with pytest.raises(type(error)):
        await call_dbos(_operation(error, "made again"))


async def test_an_outage_that_was_noted_as_the_answer_is_not_one() -> None:
    noted_failure = PortableWorkflowError("server closed the connection", "OperationalError")
    assert await call_dbos(_operation(noted_failure, noted_failure, "made again")) == "made again"
    with pytest.raises(PortableWorkflowError):
        await call_dbos(_operation(PortableWorkflowError("no", "ValueError")))
