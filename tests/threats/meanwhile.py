"""Lets something happen on GitHub in the middle of what Forge does."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from simulator.errors import Moment, RequestInfo
from tests.stories.driver import Story


def act_after_write(story: Story, act: Callable[[], Awaitable[None]], path: str = "", said: str | None = None) -> None:
    """Act once, after the first such write took effect and before Forge hears of it.

    :param path: a regular expression.
    :param said: the status or the conclusion that a check is given by it.
    """
    left = [act]

    async def hook(request: RequestInfo, moment: Moment) -> None:
        body: Any = request.body or {}
        fits = re.search(path, request.path) and said in {None, body.get("conclusion") or body.get("status")}
        if moment == "after" and fits and left:
            await left.pop()()

    story.github.on_write(hook)
