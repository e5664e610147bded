"""Own columns for what was read out of texts: scheduled checks, what ended or resumed a run, its sender, test checks

A scheduled check was a row of ``waits`` whose key ended with ``/look`` and whose number stood in its reason. Runs named
in their detail what ended or resumed them. The sender of a run was looked up in the JSON of its delivery. Which tests a
check shows stood in the name of its step.

Code of the version before runs on this schema and still writes all that as text. Triggers fill in the new columns
meanwhile. A later migration can drop them. One that rebuilds ``runs``, ``waits`` or ``outbox`` on SQLite
(``batch_alter_table``) loses them.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0024"
down_revision: str | None = "0023"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_OF_ISSUES = "('plan', 'issue')"  # triggers of runs that work on an issue
_FIRST_CONTRACT, _FIRST_MOMENT = 1_000, 1_000_000  # checks of contracts were counted from 1,000, others were seconds

# {0} is the row of waits. A check of a run that is gone is one of its head.
_RUN = "substr({0}.workflow_id, 1, length({0}.workflow_id) - length('/look'))"
_NUMBER = "CAST(substr({0}.reason, length('look ') + 1) AS BIGINT)"
_IS_OF_ISSUE = f"EXISTS (SELECT 1 FROM runs WHERE runs.id = {_RUN} AND runs.trigger IN {_OF_ISSUES})"
_CAUSE = f"""
    CASE WHEN NOT {_IS_OF_ISSUE} THEN 'head' WHEN {_NUMBER} < {_FIRST_MOMENT} THEN 'contracts' ELSE 'tests' END
"""
_OWN_NUMBER = f"""
    CASE WHEN {_IS_OF_ISSUE} AND {_NUMBER} BETWEEN {_FIRST_CONTRACT} AND {_FIRST_MOMENT}
    THEN {_NUMBER} - {_FIRST_CONTRACT} ELSE {_NUMBER} END
"""
_IS_CHECK = "{0}.workflow_id LIKE '%/look'"
_CHECK = f"{_RUN}, {_CAUSE}, {_OWN_NUMBER}, {{0}}.until"
_COLUMNS = "run_id, cause, number, due"
_REPLACE = "ON CONFLICT (run_id) DO UPDATE SET cause = excluded.cause, number = excluded.number, due = excluded.due"

# {0} is the row of runs.
_ENDED_BY = """
    CASE WHEN {0}.detail LIKE 'superseded by %' THEN substr({0}.detail, length('superseded by ') + 1)
    WHEN {0}.detail LIKE 'ended by delivery %' THEN substr({0}.detail, length('ended by delivery ') + 1) END
"""
_IS_ENDED = "{0}.state = 'cancelled' AND ({0}.detail LIKE 'superseded by %' OR {0}.detail LIKE 'ended by delivery %')"
_RESUMED_BY = "substr({0}.detail, length('taken up again by ') + 1)"
_IS_RESUMED = "{0}.state = 'waiting' AND {0}.detail LIKE 'taken up again by %'"
_GUID = (
    "CASE WHEN {0}.admitted_by LIKE '%#' || {0}.number "
    "THEN substr({0}.admitted_by, 1, length({0}.admitted_by) - length('#' || {0}.number)) END"
)

# {0} is the row of outbox.
_TESTED = "substr({0}.step, length('tests ') + 1, length({0}.step) - length('tests ') - length(': queued'))"
_IS_TEST = "{0}.kind = 'check' AND {0}.step LIKE 'tests % %: queued'"


def upgrade() -> None:
    op.create_table(
        "scheduled_checks",
        sa.Column("run_id", sa.String(), primary_key=True),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("due", sa.DateTime(timezone=True), nullable=False),
    )
    for name, kind in {"ended_by": sa.String(), "resumed_by": sa.String(), "sender_id": sa.BigInteger()}.items():
        op.add_column("runs", sa.Column(name, kind, nullable=True))
    for name in ("head_sha", "occasion"):
        op.add_column("outbox", sa.Column(name, sa.String(), nullable=True))
    _execute(_move(_is_sqlite()), _keep_moving(_is_sqlite()))


def downgrade() -> None:
    _execute(_stop_moving(_is_sqlite()), _MOVED_BACK)
    for name in ("occasion", "head_sha"):
        op.drop_column("outbox", name)
    for name in ("sender_id", "resumed_by", "ended_by"):
        op.drop_column("runs", name)
    op.drop_table("scheduled_checks")


def _move(is_sqlite: bool) -> Sequence[str]:
    """Fill in the new columns from what there is."""
    is_check = _IS_CHECK.format("waits")
    return (
        f"INSERT INTO scheduled_checks ({_COLUMNS}) SELECT {_CHECK.format('waits')} FROM waits WHERE {is_check}",
        f"DELETE FROM waits WHERE {is_check}",
        f"UPDATE runs SET ended_by = {_ENDED_BY.format('runs')} WHERE {_IS_ENDED.format('runs')}",
        f"UPDATE runs SET resumed_by = {_RESUMED_BY.format('runs')} WHERE {_IS_RESUMED.format('runs')}",
        f"UPDATE runs SET sender_id = {_sender('runs', is_sqlite)}",
        f"UPDATE outbox SET {_test('outbox', is_sqlite)} WHERE {_IS_TEST.format('outbox')}",
    )


def _sender(row: str, is_sqlite: bool) -> str:
    sender = "json_extract(command, '$.sender.id')" if is_sqlite else "CAST(command -> 'sender' ->> 'id' AS BIGINT)"
    return f"(SELECT {sender} FROM deliveries WHERE deliveries.guid = {_GUID.format(row)})"


def _test(row: str, is_sqlite: bool) -> str:
    tested = _TESTED.format(row)
    space = f"instr({tested}, ' ')" if is_sqlite else f"strpos({tested}, ' ')"
    return f"head_sha = substr({tested}, 1, {space} - 1), occasion = substr({tested}, {space} + 1)"


def _keep_moving(is_sqlite: bool) -> Sequence[str]:
    """Have what code of the version before writes filled in, too."""
    of_run = "UPDATE runs SET {0} WHERE id = new.id;"
    check = f"INSERT INTO scheduled_checks ({_COLUMNS}) SELECT {_CHECK.format('new')} WHERE true {_REPLACE};"
    acts = {
        ("waits", "INSERT", "check"): (
            _IS_CHECK.format("new"),
            f"{check} DELETE FROM waits WHERE workflow_id = new.workflow_id;",
        ),
        ("runs", "INSERT", "sender"): (
            "new.sender_id IS NULL",
            of_run.format(f"sender_id = {_sender('new', is_sqlite)}"),
        ),
        ("runs", "UPDATE OF detail", "ended_by"): (
            f"new.ended_by IS NULL AND {_IS_ENDED.format('new')}",
            of_run.format(f"ended_by = {_ENDED_BY.format('new')}"),
        ),
        ("runs", "UPDATE OF detail", "resumed_by"): (
            f"{_IS_RESUMED.format('new')} AND new.resumed_by IS DISTINCT FROM {_RESUMED_BY.format('new')}",
            of_run.format(f"resumed_by = {_RESUMED_BY.format('new')}, ended_by = NULL"),
        ),
        ("outbox", "INSERT", "test"): (
            f"new.occasion IS NULL AND {_IS_TEST.format('new')}",
            f"UPDATE outbox SET {_test('new', is_sqlite)} WHERE id = new.id;",
        ),
    }
    return [
        statement
        for (table, moment, name), (condition, act) in acts.items()
        for statement in _make_trigger(f"{table}_of_before_{name}", table, moment, condition, act, is_sqlite)
    ]


def _make_trigger(name: str, table: str, moment: str, condition: str, act: str, is_sqlite: bool) -> Sequence[str]:
    if is_sqlite:
        condition = condition.replace("IS DISTINCT FROM", "IS NOT")
        return [f"CREATE TRIGGER {name} AFTER {moment} ON {table} WHEN {condition} BEGIN {act} END"]
    body = f"BEGIN {act} RETURN NULL; END"
    return [
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $act$ {body} $act$",
        f"CREATE TRIGGER {name} AFTER {moment} ON {table} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION {name}()",
    ]


def _stop_moving(is_sqlite: bool) -> Sequence[str]:
    names = {
        "waits": ["check"],
        "runs": ["sender", "ended_by", "resumed_by"],
        "outbox": ["test"],
    }
    dropped = [(f"{table}_of_before_{name}", table) for table, some in names.items() for name in some]
    if is_sqlite:
        return [f"DROP TRIGGER {name}" for name, _ in dropped]
    return [f"DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}()" for name, table in dropped]


_MOVED_BACK = (
    f"""
    INSERT INTO waits (workflow_id, until, reason) SELECT run_id || '/look', due, 'look ' ||
    CASE cause WHEN 'contracts' THEN number + {_FIRST_CONTRACT} ELSE number END FROM scheduled_checks
    """,
)


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _execute(*groups: Sequence[str]) -> None:
    for statement in (each for statements in groups for each in statements):
        op.get_bind().exec_driver_sql(statement if _is_sqlite() else statement.replace("%", "%%"))
