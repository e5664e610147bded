"""The levels at which the sandbox contains what runs in it, for tests that are played at each one."""

import pytest

from tests.unit.sandbox.machine import has_bubblewrap, has_landlock
from workspace.sandbox.sandbox import BUBBLEWRAP, LANDLOCK

CONTAINING = [
    pytest.param(LANDLOCK, id="landlock", marks=pytest.mark.skipif(not has_landlock(), reason="no Landlock here")),
    pytest.param(BUBBLEWRAP, id="bubblewrap", marks=pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")),
]
at_each_level = pytest.mark.parametrize("level", CONTAINING)
