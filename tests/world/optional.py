"""What GitHub's published description lets answers and events leave out, and what may be null in them.

``tests/samples/github/optional.json`` and ``nullable.json`` were made of the npm packages ``@octokit/openapi`` 23.0.2
and ``@octokit/openapi-webhooks`` 12.1.0 (``generated/api.github.com.json``) by the contributors of octokit, under the
MIT licence: the answers of the routes that the simulator has, and the events that Forge uses. Addresses (``*_url``,
``_links``) were left out, and ``installation`` and ``repository``, without which no App is sent an event of one.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

_SAMPLES = Path(__file__).parents[1] / "samples" / "github"
_MEANINGFUL = frozenset({"in_reply_to_id", "pull_request"})
"""Optional because their absence says something: a comment that answers none, an issue that is no pull request."""
_SPARSE = frozenset({"changes", "permissions"})
"""Objects of which every field that is absent says something: that it was not changed, was not granted."""


@cache
def load_optional(told: frozenset[str] = frozenset()) -> Mapping[str, Mapping[str, Any]]:
    """Under ``answers`` and ``events``, by route and by event with action: see :func:`simulator.webhooks.leave_out`.

    :param told: names of fields that are not left out, nor anything within them.
    """
    published = json.loads((_SAMPLES / "optional.json").read_text())
    return {
        kind: {name: _keep(optional, told) for name, optional in by_name.items()} for kind, by_name in published.items()
    }


@cache
def load_nullable() -> Mapping[str, Mapping[str, Any]]:
    """The same for what may be null: 0 for such a field."""
    return json.loads((_SAMPLES / "nullable.json").read_text())


def _keep(optional: Mapping[str, Any], told: frozenset[str]) -> dict[str, Any]:
    """What is left out of an object in the end."""
    left: dict[str, Any] = {}
    for name, within in optional.items():
        is_said = name in (_SPARSE if isinstance(within, dict) else _MEANINGFUL)
        if not is_said and name not in told:
            left[name] = _keep(cast(Mapping[str, Any], within), told) if isinstance(within, dict) else within
    return left
