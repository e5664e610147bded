"""Brings all that breakers, budgets and guards know of a run in one look, since they are asked before each call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Integer, Select, literal_column, null, select, union_all

from domain.gates import Gate
from domain.runs.run import Run
from memory.budgets import model_answers, totals
from memory.budgets.model_answers import Turn
from memory.budgets.totals import Sums
from memory.db.compiled import JsonArray, Rendered
from memory.db.engine import Connection
from memory.gates import gates
from memory.ledger import ledger
from safety.breakers import Call, Move
from safety.guards import let_go_on


@dataclass(frozen=True)
class History:
    """What holds for a run and counts for it, its turns, and when it worked and when it waited.

    :param turns: since a person last let the run go on.
    :param calls: of the provider, recently, by any run of the repository.
    """

    sums: Sums
    gates: Sequence[Gate]
    turns: Sequence[Turn]
    moves: Sequence[Move]
    calls: Sequence[Call]


_SUMS, _TURNS, _MOVES, _CALLS = range(4)


def _part(kind: int, rows: Select[Any, Any, Any, Any]) -> Select[Any, Any, Any, Any, int]:
    return rows.add_columns(literal_column(str(kind), Integer).label("kind"))


_ALONE = select(null(), null(), null(), JsonArray(*totals.SUMS.subquery().c))
_LOOK = Rendered(
    union_all(
        _part(_TURNS, model_answers.TURNS),
        _part(_MOVES, ledger.MOVES),
        _part(_CALLS, totals.RECENT),
        _part(_SUMS, _ALONE),
    )
)


def of_run(connection: Connection, run: Run, asked: dict[str, object], installation: int) -> History:
    """The history of a run.

    :param asked: what :func:`memory.budgets.totals.of_call` and :func:`memory.budgets.totals.since` say.
    :param installation: what its repositories spent today, in micro-USD.
    """
    found: dict[int, list[Sequence[Any]]] = {kind: [] for kind in range(4)}
    for *row, kind in _LOOK.rows(connection, asked):
        found[kind].append(row)
    [(*_, counted)] = found[_SUMS]
    sums = totals.sums(counted, installation)
    known = gates.asked_by(connection, run.id) if sums.gates else ()
    return History(
        sums=sums,
        gates=known,
        turns=_since(known, model_answers.turns(found[_TURNS])),
        moves=ledger.moved(found[_MOVES]),
        calls=totals.ended(found[_CALLS]),
    )


def _since(known: Sequence[Gate], turns: Sequence[Turn]) -> Sequence[Turn]:
    last = let_go_on(known)
    return turns if last is None else [each for each in turns if each.at > last.at]
