"""Explains why GitHub did not take a push."""

import re

_SIGNATURES = re.compile(r"verified signatures?", re.IGNORECASE)
_MERGES = re.compile(r"must not contain merge commits|linear history", re.IGNORECASE)
_WORKFLOWS = re.compile(r"without .?workflows.? permission", re.IGNORECASE)

WORKFLOWS = (
    "An owner of the App gives it the permission `workflows` (read and write) in its settings, and whoever installed "
    "it accepts that; or somebody pushes it by hand."
)
UNSIGNED = (
    "GitHub makes Forge's commits and signs them, but did not do so here, as an Enterprise Server that does not sign "
    "web commits. Its admin switches that on, or whoever looks after the repository lets the App bypass the rule that "
    "requires signed commits (ruleset: bypass list)."
)


def needs_signatures(said: str) -> bool:
    """Whether a refusal says that commits must be signed.

    :param said: GitHub's words, after ``GH006`` (branch protection) or ``GH013`` (rulesets).
    """
    return _SIGNATURES.search(said) is not None


def forbids_merges(said: str) -> bool:
    """Whether a refusal says that the branch takes no merges, so that no pull request brings one there either.

    :param said: GitHub's words.
    """
    return _MERGES.search(said) is not None


def needs_workflows(said: str) -> bool:
    """Whether a refusal says that the App may not push changes of workflows, to whatever branch.

    :param said: GitHub's words.
    """
    return _WORKFLOWS.search(said) is not None


def explain_refused_push(said: str) -> str:
    """GitHub's words, and what they mean for Forge where Forge knows."""
    if needs_workflows(said):
        return f"{said.rstrip('. ')}. {WORKFLOWS}"
    return f"{said.rstrip()} {UNSIGNED}" if needs_signatures(said) else said
