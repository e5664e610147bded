"""Brings all that breakers, budgets and guards know of a run in one look, since they are asked before each call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Integer, literal_column, select, true, union_all

from domain.gates import Gate
from domain.runs import Run
from memory import answers, gates, ledger, totals
from memory.answers import Turn
from memory.database import Connection
from memory.totals import Sums
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


_TURNS, _MOVES, _CALLS = range(3)
_SUMS = totals.SUMS.subquery()
_PAST = union_all(
    answers.TURNS.add_columns(literal_column(str(_TURNS), Integer).label("kind")),
    ledger.MOVES.add_columns(literal_column(str(_MOVES), Integer)),
    totals.RECENT.add_columns(literal_column(str(_CALLS), Integer)),
).subquery()
_LOOK = select(*_PAST.c, *_SUMS.c).select_from(_SUMS.outerjoin(_PAST, true()))
_KIND = len(_PAST.c) - 1


def of_run(connection: Connection, run: Run, asked: dict[str, object], installation: int) -> History:
    """The history of a run.

    :param asked: what :func:`memory.totals.of_call` and :func:`memory.totals.since` say.
    :param installation: what its repositories spent today, in micro-USD.
    """
    rows = connection.execute(_LOOK, asked).all()
    found: list[list[Sequence[Any]]] = [[], [], []]
    for row in rows:
        kind: int | None = row[_KIND]
        if kind is not None:
            found[kind].append(row[:_KIND])
    sums = totals.sums(rows[0][_KIND + 1 :], installation)
    known = gates.asked_by(connection, run.id) if sums.gates else ()
    return History(
        sums=sums,
        gates=known,
        turns=_since(known, answers.turns(found[_TURNS])),
        moves=ledger.moved(found[_MOVES]),
        calls=totals.ended(found[_CALLS]),
    )


def _since(known: Sequence[Gate], turns: Sequence[Turn]) -> Sequence[Turn]:
    last = let_go_on(known)
    return turns if last is None else [each for each in turns if each.at > last.at]
