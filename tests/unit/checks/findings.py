"""One finding of each category and severity; those of the lowest severity have a fix."""

from domain.review.findings import Category, Finding, Fix, Layer, Severity

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
