"""The test runners that Forge knows: whose a file is, how it is run, and how its report is read."""

from agents.testing.runners.python import build_environment
from agents.testing.runners.runner import (
    JUNIT,
    ProjectCommand,
    ReportPlace,
    RepositoryFacts,
    Runner,
    add_folder,
    drop_folder,
    is_within,
    list_needed,
)
from agents.testing.runners.table import choose_runner, list_runners

__all__ = (
    "JUNIT",
    "ProjectCommand",
    "ReportPlace",
    "RepositoryFacts",
    "Runner",
    "add_folder",
    "build_environment",
    "choose_runner",
    "drop_folder",
    "is_within",
    "list_needed",
    "list_runners",
)
