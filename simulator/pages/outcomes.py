"""How the state of a check run or deployment looks."""

from __future__ import annotations

from simulator.pages.html import Html, span
from simulator.state import CheckRun

_ICONS = {
    "success": ("✓", "good"),
    "failure": ("✗", "bad"),
    "timed_out": ("✗", "bad"),
    "action_required": ("!", "warn"),
    "stale": ("!", "warn"),
    "neutral": ("■", "quiet"),
    "skipped": ("⊘", "quiet"),
    "cancelled": ("⊘", "quiet"),
    "in_progress": ("◐", "warn"),
    "error": ("✗", "bad"),
    "inactive": ("⊘", "quiet"),
}


def state_of(run: CheckRun) -> str:
    return run.conclusion or run.status


def icon(run: CheckRun) -> Html:
    return icon_of(state_of(run))


def icon_of(state: str) -> Html:
    symbol, kind = _ICONS.get(state, ("○", "warn"))
    return span(f"icon {kind}", symbol)


def blocks(run: CheckRun) -> bool:
    """Whether a rule that requires this check would hold the merge."""
    return run.conclusion not in ("success", "neutral", "skipped")
