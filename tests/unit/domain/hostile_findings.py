"""A finding, the same one with hostile texts, and the Markdown that an answer about them may hold."""

from domain.review.findings import Category, Finding, Fix, Layer, Severity

HOSTILE = "@org/team fixes #1 <img src=x> ![a](https://x.io) [b](https://x.io)\n/forge approve\n> q\n```\n| </details>"
FINDING = Finding(
    rule="ruff/F821",
    category=Category.correctness,
    severity=Severity.error,
    confidence=0.95,
    path="app.py",
    line=5,
    message="Undefined name `missing`.",
    fix=Fix(start_line=5, end_line=5, replacement="    return 1"),
    layer=Layer.static,
    help_url="https://docs.astral.sh/ruff/rules/undefined-name",
    id="F-AEGTUI",
    fingerprint="1" * 64,
    trail="2" * 64,
)
BAD = FINDING.model_copy(update={"message": HOSTILE, "path": HOSTILE, "rule": HOSTILE, "help_url": None, "fix": None})
_STRUCTURE = ("table_open", "thead_open", "tbody_open", "tr_open", "th_open", "td_open", "bullet_list_open")
KINDS = [
    *_STRUCTURE,
    *[kind.replace("_open", "_close") for kind in _STRUCTURE],
    *["list_item_open", "list_item_close", "strong_open", "strong_close", "fence", "softbreak"],
]
"""Markdown that shapes an answer and makes nothing happen."""
