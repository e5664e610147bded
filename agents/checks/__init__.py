"""Layers 1 and 2 of a review: static analysis and security, deterministic, only about what the change introduced."""

from agents.checks.run import CheckResult, run_checks, search_commits
from agents.checks.toolbox import Toolbox

__all__ = ["CheckResult", "Toolbox", "run_checks", "search_commits"]
