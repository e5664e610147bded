"""Explains why GitHub did not take a push."""

import re

_SIGNATURES = re.compile(r"verified signatures?", re.IGNORECASE)

UNSIGNED = (
    "What Forge pushes is not signed. Whoever looks after the repository lets the App bypass the rule that requires "
    "signed commits (ruleset: bypass list), or leaves branches named forge/… out of it."
)


def needs_signatures(said: str) -> bool:
    """Whether a refusal says that commits must be signed.

    :param said: GitHub's words, after ``GH006`` (branch protection) or ``GH013`` (rulesets).
    """
    return _SIGNATURES.search(said) is not None


def explain_refused_push(said: str) -> str:
    """GitHub's words, and what they mean for Forge where Forge knows."""
    return f"{said.rstrip()} {UNSIGNED}" if needs_signatures(said) else said
