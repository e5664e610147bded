"""The version of Forge."""

from importlib.metadata import version

VERSION = version("forge-app")
