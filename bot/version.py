"""Says which version of Forge this is."""

from importlib.metadata import version

VERSION = version("forge-app")
