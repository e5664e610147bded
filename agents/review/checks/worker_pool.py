"""Gives the files of a review to the warm workers one by one, within the time limit of one tool."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import JsonValue

from agents.review.checks.rule_texts import name_some
from domain.errors import ToolError
from workspace.sandbox.worker_pool import WorkerPool

Piece = TypeVar("Piece")


@dataclass(frozen=True)
class WorkerBudget:
    """Workers and time for one tool.

    :param seconds: how long failed pieces may take together before the tool stops.
    :param piece: how much processor time one piece may take, in seconds.
    """

    pool: WorkerPool
    seconds: float = 30.0
    piece: float = 10.0


async def run_each(
    pieces: Sequence[Piece],
    request: Callable[[Piece], JsonValue],
    name: Callable[[Piece], str],
    job: str,
    shift: WorkerBudget,
) -> tuple[list[tuple[Piece, JsonValue]], str | None]:
    """Do a job on every piece.

    :param request: builds the worker's request for a piece.
    :param name: how an error names a piece.
    :returns: the answers in the order of ``pieces``, and what failed, if anything did.
    """
    spent = 0.0
    failed: dict[str, list[str]] = {}
    turn = asyncio.Semaphore(shift.pool.size)

    async def one(piece: Piece) -> tuple[Piece, JsonValue] | None:
        nonlocal spent
        async with turn:
            if spent >= shift.seconds:
                failed.setdefault(f"Stopped after {shift.seconds:g} seconds", []).append(name(piece))
                return None
            started, most = time.monotonic(), min(shift.piece, shift.seconds)
            try:
                return piece, await shift.pool.call(job, request(piece), most)
            except ToolError as error:
                spent += min(time.monotonic() - started, most)  # longer only where the machine was busy
                failed.setdefault(error.message.rstrip("."), []).append(name(piece))
                return None

    answers = await asyncio.gather(*map(one, pieces))
    problem = " ".join(f"{why} ({name_some(names)})." for why, names in failed.items())
    return [answer for answer in answers if answer is not None], problem or None
