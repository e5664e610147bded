"""Brings all that breakers and guards need to know of a run in one look, since it is asked before each call."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import literal, union_all

from domain.gates import Gate
from domain.runs import Run
from memory import answers, gates, ledger, totals
from memory.answers import Kept
from memory.database import Connection
from memory.permits import Standing
from memory.totals import Sums
from safety.breakers import Call, Move
from safety.guards import let_go_on

_EVER = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class History:
    """What holds for a run, what it asked, what models answered, and when it worked and when it waited.

    :param answers: since a person last let the run go on.
    :param calls: of the provider, recently, by any run of the repository.
    """

    standing: Standing
    gates: Sequence[Gate]
    answers: Sequence[Kept]
    moves: Sequence[Move]
    calls: Sequence[Call]


_ANSWERS, _MOVES, _CALLS = range(3)
_LOOK = union_all(
    answers.SINCE.add_columns(literal(_ANSWERS)),
    ledger.MOVES.add_columns(literal(_MOVES)),
    totals.RECENT.add_columns(literal(_CALLS)),
)


def of_run(connection: Connection, run: Run, sums: Sums, provider: str, recently: datetime) -> History:
    """The history of a run.

    :param sums: what was looked up of it in this transaction.
    :param recently: since when calls of the provider count.
    """
    asked = gates.asked_by(connection, run.id) if sums.gates else ()
    wanted = {"run": run.id, "repository": run.repository.id, "after": _since(asked)}
    found: list[list[Sequence[Any]]] = [[], [], []]
    for row in connection.execute(_LOOK, wanted | totals.since(recently, provider)).all():
        found[int(row[-1])].append(row[:-1])
    kept, moved, ended = answers.kept(found[_ANSWERS]), ledger.moved(found[_MOVES]), totals.ended(found[_CALLS])
    return History(sums.standing, asked, kept, moved, ended)


def _since(asked: Sequence[Gate]) -> datetime:
    last = let_go_on(asked)
    return _EVER if last is None else last.at
