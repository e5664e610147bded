"""Leaves out of answers and events what GitHub's description calls optional."""

from __future__ import annotations

from typing import Any, cast

from simulator.state import Json


def leave_out(body: Any, optional: Json) -> Any:
    """A body without what may be left out.

    :param optional: by field: 1 for one that is left out, or what is left out within; `[]` stands for list items.
    """
    if isinstance(body, list):
        return [leave_out(each, optional.get("[]", {})) for each in cast(list[Any], body)]
    if not isinstance(body, dict):
        return body
    kept = {name: value for name, value in cast(Json, body).items() if optional.get(name) != 1}
    return {name: leave_out(value, optional[name]) if name in optional else value for name, value in kept.items()}
