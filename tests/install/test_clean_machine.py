"""Somebody follows the pages of installing on machines that have nothing, word for word, and Forge reviews there."""

import subprocess
import sys

import pytest

from tests.install.known import Way
from tests.install.machine import find_obstacle
from tests.install.page import ROOT

pytestmark = [pytest.mark.deep, pytest.mark.timeout(2400)]


@pytest.mark.parametrize("way", [Way.systemd, Way.docker])
def test_the_pages_are_right(way: Way) -> None:
    """`make install-pages` follows the others, too."""
    if (obstacle := find_obstacle()) is not None:
        pytest.skip(obstacle)
    done = subprocess.run(
        [sys.executable, "-m", "tests.install", way], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
