"""Waits for what people see on GitHub, and tells the moment."""

import asyncio
import time
from collections.abc import Callable

from messages import review as review_texts
from simulator import Simulator
from simulator.state import CheckRun, PullRequest

MOST = 120.0  # seconds that anything is waited for


async def when(known: Callable[[], object], most: float = MOST) -> float:
    """The moment something is seen for the first time, within a hundredth of a second.

    :param most: seconds that it is waited for.
    """
    end = time.perf_counter() + most
    while not known():
        assert time.perf_counter() < end
        await asyncio.sleep(0.01)
    return time.perf_counter()


def find_check(github: Simulator, pull: PullRequest, name: str = review_texts.CHECK_NAME) -> CheckRun | None:
    """The newest check of this name on a pull request's head."""
    found = github.check_runs(pull.repository, pull.head_sha, name)
    return max(found, key=lambda each: each.id, default=None)


def concludes(
    github: Simulator, pull: PullRequest, conclusion: str | None = None, name: str = review_texts.CHECK_NAME
) -> bool:
    """Whether a check is completed, as this if it is named."""
    found = find_check(github, pull, name)
    return found is not None and found.status == "completed" and conclusion in {None, found.conclusion}
