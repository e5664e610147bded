"""The version of Forge; not in the package itself, whose import an interrupt would end with a traceback."""

from importlib.metadata import version

VERSION = version("forge-app")
