"""What the machine these tests run on can do."""

import shutil

from workspace import landlock


def has_landlock() -> bool:
    """Whether this kernel lets a process confine itself."""
    try:
        return landlock.version() > 0
    except OSError:
        return False


def has_bubblewrap() -> bool:
    """Whether bubblewrap is installed."""
    return shutil.which("bwrap") is not None
