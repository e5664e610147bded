"""Explains why GitHub did not take a push."""

import re

_SIGNATURES = re.compile(r"verified signatures?", re.IGNORECASE)
_MERGES = re.compile(r"must not contain merge commits|linear history", re.IGNORECASE)

UNSIGNED = (
    "GitHub makes Forge's commits and signs them, but did not do so here, as an Enterprise Server that does not sign "
    "web commits. Its admin switches that on, or whoever looks after the repository lets the App bypass the rule that "
    "requires signed commits (ruleset: bypass list)."
)


WITHOUT_WORKFLOWS = (
    "Forge's App has no permission for workflows, so GitHub takes no change of one from it. Whoever owns the App adds "
    "that (Repository permissions, Workflows: write), and an owner of the repository accepts it."
)
_WORKFLOWS = re.compile(r"without [`'‘]?workflows?[`'’]? (permission|scope)", re.IGNORECASE)


def lacks_workflows(said: str) -> bool:
    """Whether a refusal says that the App may change no workflow.

    :param said: GitHub's words.
    """
    return _WORKFLOWS.search(said) is not None


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


def explain_refused_push(said: str) -> str:
    """GitHub's words, and what they mean for Forge where Forge knows."""
    known = UNSIGNED if needs_signatures(said) else WITHOUT_WORKFLOWS if lacks_workflows(said) else ""
    return f"{said.rstrip()} {known}" if known else said
