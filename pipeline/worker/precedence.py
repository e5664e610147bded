"""Lets deliveries go before runs: a burst of pull requests is told first, and worked on then."""

import asyncio

import structlog

from domain.errors import DatabaseUnavailable
from memory.db.engine import is_outage
from pipeline.durable.workflows import DELIVERY
from pipeline.worker import recovery

log = structlog.get_logger(__name__)

FEW = 3
"""So many deliveries under way hold nobody up."""
LONGEST = 2.0
"""Seconds a run gives way: deliveries that wait for GitHub must not hold up runs for longer."""
_LOOK = 0.2  # seconds


async def give_way(longest: float = LONGEST) -> None:
    """Wait until few deliveries are under way, in whatever process.

    Each takes little time, and a run much. So the sign that a review is in progress would come the later, the more
    processes on a machine began runs meanwhile.

    :param longest: seconds.
    """
    try:
        async with asyncio.timeout(longest):
            while await asyncio.to_thread(recovery.count_in_flight, DELIVERY, FEW + 1) > FEW:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK)
    except TimeoutError:
        return
    except Exception as error:  # the run itself finds out what is wrong
        if not (isinstance(error, DatabaseUnavailable) or is_outage(error)):
            raise
        log.info("run.gave_no_way", error=str(error))
