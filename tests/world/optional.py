"""What GitHub's published description lets answers and events leave out.

``tests/samples/github/optional.json`` was made of the npm packages ``@octokit/openapi`` 23.0.2 and
``@octokit/openapi-webhooks`` 12.1.0 (``generated/api.github.com.json``) by the contributors of octokit, under the MIT
licence: the answers of the routes that the simulator has, and the events that Forge uses. Addresses (``*_url``,
``_links``) were left out, and ``installation`` and ``repository``, without which no App is sent an event of one.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parents[1] / "samples" / "github" / "optional.json"


@cache
def load_optional() -> Mapping[str, Mapping[str, Any]]:
    """Under ``answers`` and ``events``, by route and by event with action: see :mod:`simulator.optional`."""
    return json.loads(_FILE.read_text())
