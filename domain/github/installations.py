"""Installations of the App, as GitHub shows them."""

from enum import StrEnum


class InstallationState(StrEnum):
    """Whether the App may read and write where it was installed."""

    active = "active"
    suspended = "suspended"  # its owner may resume it
    gone = "gone"  # it was uninstalled
