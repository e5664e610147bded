"""Runs the Forge of the version before: a script that its Python starts in its own tree, so that imports are its own.

The argument is JSON: what :class:`tests.upgrade.version_before.Order` has.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.chaos.process import Part, main
from tests.stories.driver import settings

if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    github = SimpleNamespace(
        api_url=order["api_url"],
        url=order["web_url"],
        app=SimpleNamespace(id=order["app_id"], private_key_pem=order["private_key"]),
    )
    configured = settings(
        order["database_url"], Path(order["folder"]), cast(Any, github), queue_polling=order["polling"]
    )
    main(Part(configured, Path(order["address"]), Path(order["log"]), risk=order["risk"]), order["ahead"])
