"""The table of `forge runs`: what each run is, and what it came to."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Column, Table

from domain.review.review import Review
from domain.text.escaping import strip_invisible
from memory.db.engine import Database
from memory.db.tables.runs import RunRow
from messages.commands import describe_outcome
from messages.run_page import name_trigger
from pipeline.verdicts.settings import find_mode

_COLUMNS = ("run", "pull request", "head", "what", "outcome", "why", "created (UTC)")


async def list_run(database: Database, row: RunRow, review: Review | None) -> Sequence[str]:
    """The cells of a run's row, in the order of the columns."""
    run = row.as_run()
    mode = await find_mode(database, run)
    what = name_trigger(run.trigger) + (f" ({mode})" if mode else "")
    where = f"{run.repository.full_name}#{run.number}"
    detail = strip_invisible(run.detail)[:80]
    return (
        *(f"{run.id[-6:]}", escape(where), run.head_sha[:7], what, escape(describe_outcome(run, review))),
        *(escape(detail), f"{row.created_at:%Y-%m-%d %H:%M}"),
    )


def build_table(listed: Sequence[Sequence[str]]) -> Table:
    """The runs, without a column in which nothing stands."""
    filled = [at for at, _ in enumerate(_COLUMNS) if any(cells[at] for cells in listed)]
    table = Table(*(Column(_COLUMNS[at], no_wrap=_COLUMNS[at] == "run") for at in filled), box=None)
    for cells in listed:
        table.add_row(*(cells[at] for at in filled))
    return table
