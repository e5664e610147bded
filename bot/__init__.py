"""The process: webhook endpoint, settings, GitHub client, workflow engine set-up and command line."""

from importlib.metadata import version

VERSION = version("forge-app")
