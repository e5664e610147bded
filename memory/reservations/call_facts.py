"""Brings all that breakers, budgets and guards know of a run in one look, since they are asked before each call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Integer, Select, literal_column, null, select, union_all

from domain.gates import Gate
from domain.runs.run import Run
from memory.budgets import model_answers, totals
from memory.budgets.model_answers import ModelTurn
from memory.budgets.totals import Sums
from memory.db.compiled import CompiledQuery, JsonArray
from memory.db.engine import Connection
from memory.gates import gates
from memory.ledger import ledger
from safety.breakers import CallResult, RunTransition
from safety.guards import find_release


@dataclass(frozen=True)
class RunCallFacts:
    """What holds for a run and counts for it, its turns, and when it worked and when it waited.

    :param turns: since a person last let the run go on.
    :param calls: of the provider, recently, by any run of the repository.
    """

    sums: Sums
    gates: Sequence[Gate]
    turns: Sequence[ModelTurn]
    moves: Sequence[RunTransition]
    calls: Sequence[CallResult]


_SUMS, _TURNS, _MOVES, _CALLS = range(4)


def _add_kind(kind: int, rows: Select[Any, Any, Any, Any]) -> Select[Any, Any, Any, Any, int]:
    return rows.add_columns(literal_column(str(kind), Integer).label("kind"))


_SELECT_SUMS = select(null(), null(), null(), JsonArray(*totals.SELECT_SUMS.subquery().c))
_QUERY = CompiledQuery(
    union_all(
        _add_kind(_TURNS, model_answers.SELECT_TURNS),
        _add_kind(_MOVES, ledger.SELECT_MOVES),
        _add_kind(_CALLS, totals.SELECT_RECENT),
        _add_kind(_SUMS, _SELECT_SUMS),
    )
)


def load(connection: Connection, run: Run, asked: dict[str, object], installation: int) -> RunCallFacts:
    """The history of a run.

    :param asked: what :func:`memory.budgets.totals.bind_values` and :func:`memory.budgets.totals.since` say.
    :param installation: what its repositories spent today, in micro-USD.
    """
    found: dict[int, list[Sequence[Any]]] = {kind: [] for kind in range(4)}
    for *row, kind in _QUERY.rows(connection, asked):
        found[kind].append(row)
    [(*_, counted)] = found[_SUMS]
    sums = totals.parse_sums(counted, installation)
    known = gates.list_within(connection, run.id) if sums.gates else ()
    return RunCallFacts(
        sums=sums,
        gates=known,
        turns=_drop_old_turns(known, model_answers.parse_turns(found[_TURNS])),
        moves=ledger.parse_moves(found[_MOVES]),
        calls=totals.parse_calls(found[_CALLS]),
    )


def _drop_old_turns(known: Sequence[Gate], turns: Sequence[ModelTurn]) -> Sequence[ModelTurn]:
    last = find_release(known)
    return turns if last is None else [each for each in turns if each.at > last.at]
