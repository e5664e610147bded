"""Findings as the tests of a review need them."""

from typing import Any

from domain.review.findings import Category, Finding, Fix, Layer, RawFinding, Severity

_USUAL: dict[str, Any] = {
    "rule": "ruff/F821",
    "category": Category.correctness,
    "severity": Severity.error,
    "confidence": 1,
    "path": "a.py",
    "line": 1,
    "message": "It is wrong.",
    "layer": Layer.static,
}


def build_raw_finding(**differs: Any) -> RawFinding:
    """An error of a linter, but for what is said otherwise."""
    return RawFinding.model_validate(_USUAL | differs)


def build_finding(**differs: Any) -> Finding:
    """The same with an identity."""
    return Finding.model_validate(_USUAL | {"id": "F-ABCDEF", "fingerprint": "f", "trail": "t"} | differs)


FINDINGS = [
    Finding(
        rule=f"tool/{category}-{severity}",
        category=category,
        severity=severity,
        confidence=0.8,
        path="src/a b.py",
        line=2,
        end_line=3,
        message=f"A {severity} of {category}. More about it, with `code`.",
        fix=Fix(start_line=2, end_line=3, replacement="x = 1") if severity is Severity.info else None,
        layer=Layer.static,
        help_url="https://example.org/rule",
        id="F-ABCDEF",
        fingerprint="f" * 64,
        trail="t",
    )
    for category in Category
    for severity in Severity
]
"""One of each category and severity; those of the lowest severity have a fix."""
