"""Brings all that the guards need to know of a run, since they are asked before each call of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.gates import Gate
from memory import answers, gates, ledger
from memory.answers import Kept
from memory.database import Connection
from memory.permits import Standing
from memory.totals import Sums
from safety.breakers import Move
from safety.guards import let_go_on


@dataclass(frozen=True)
class History:
    """What holds for a run, what it asked, what models answered, and when it worked and when it waited.

    :param answers: since a person last let the run go on.
    """

    standing: Standing
    gates: Sequence[Gate]
    answers: Sequence[Kept]
    moves: Sequence[Move]


def of_run(connection: Connection, run_id: str, sums: Sums) -> History:
    """The history of a run.

    :param sums: what was looked up of it in this transaction.
    """
    asked = gates.asked_by(connection, run_id) if sums.gates else ()
    kept = answers.of_run(connection, run_id, _since(asked))
    return History(sums.standing, asked, kept, ledger.moves(connection, run_id))


def _since(asked: Sequence[Gate]) -> datetime | None:
    last = let_go_on(asked)
    return None if last is None else last.at
