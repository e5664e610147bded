"""Reads which tests `make test` leaves out; ``tests/selection.py`` chooses those of a whole Forge, people others."""

import re
from pathlib import Path

WHOLE = {"stories", "threats"}
"""Folders whose tests start a whole Forge."""
FILE = Path(__file__).with_name("left_out.txt")
_PARAMETERS = re.compile(r"\[.*", re.DOTALL)


def load_left_out() -> frozenset[str]:
    """The tests that are left out: ``file::function`` with all its variants, or ``file::function[VARIANT]``."""
    return frozenset(FILE.read_text().splitlines())


def strip_parameters(nodeid: str) -> str:
    """The ``file::function`` of a test, which all its variants share."""
    return _PARAMETERS.sub("", nodeid)
