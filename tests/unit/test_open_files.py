"""A server may have many files open, where its machine allows that."""

import resource
import subprocess
import sys

CODE = """
import resource, sys
from bot.cli.process import raise_open_files
soft, hard = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
raise_open_files()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def _raise(soft: int, hard: int) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-c", CODE, f"{soft}", f"{hard}"], check=True, capture_output=True, text=True
    )
    return [int(each) for each in done.stdout.split()]


def test_the_soft_limit_rises_as_far_as_the_hard_one_allows() -> None:
    assert _raise(256, 900) == [900, 900]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most == resource.RLIM_INFINITY or most > 70_000:
        assert _raise(256, 70_000) == [65_536, 70_000]
        assert _raise(66_000, 70_000) == [66_000, 70_000]
