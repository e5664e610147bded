"""GitHub's own examples of webhooks, by event and action, and values that belong in none of them."""

import json
from pathlib import Path
from typing import Any

_SAMPLES = Path(__file__).parents[2] / "samples" / "github" / "webhooks.jsonl"
APP_ID = 29310  # of the examples' check runs


def _load_examples() -> dict[str, dict[str, Any]]:
    """The examples by event and action, as an App is sent them by a person."""
    found: dict[str, dict[str, Any]] = {}
    for line in _SAMPLES.read_text().splitlines():
        sample = json.loads(line)
        payload: dict[str, Any] = {"installation": {"id": 5}, **sample["payload"]}
        payload["sender"] = {**payload["sender"], "type": "User"}
        if (check := payload.get(sample["event"])) is not None and "app" in check:
            check["app"]["id"] = APP_ID
        found[f"{sample['event']} {payload.get('action', '')}".strip()] = payload
    return found


EXAMPLES = _load_examples()
WRONG: list[Any] = [None, [], "text", 7, {}, {"id": True}, {"id": "7"}, {"id": 2**64}, {"id": -1}]
"""What no part of a payload may be."""
