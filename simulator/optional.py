"""Leaves out of answers and events what GitHub's description calls optional, and empties what it says may be null."""

from __future__ import annotations

from typing import Any, cast

from simulator.state import Json


def leave_out(body: Any, optional: Json) -> Any:
    """A body without what may be left out, or with null where that may stand.

    :param optional: by field: 1 for one that is left out, 0 for one that is null, or the same within; `[]` stands for
        list items.
    """
    if isinstance(body, list):
        return [leave_out(each, optional.get("[]", {})) for each in cast(list[Any], body)]
    if not isinstance(body, dict):
        return body
    kept = {name: value for name, value in cast(Json, body).items() if optional.get(name) != 1}
    return {name: _empty(value, optional[name]) if name in optional else value for name, value in kept.items()}


def _empty(value: Any, optional: Json | int) -> Any:
    return None if isinstance(optional, int) else leave_out(value, optional)
