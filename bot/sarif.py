"""Writes findings as SARIF 2.1.0, the format other tools read."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from domain.findings import Finding, Severity

_LEVELS = {Severity.info: "note", Severity.warning: "warning", Severity.error: "error", Severity.critical: "error"}


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    """A SARIF log with one run that holds all findings."""
    rules = {finding.rule: _rule(finding) for finding in findings}
    driver = {"name": "Forge", "rules": list(rules.values())}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(finding) for finding in findings]}],
    }


def _rule(finding: Finding) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": finding.rule, "properties": {"category": finding.category.value}}
    return rule | {"helpUri": finding.help_url} if finding.help_url else rule


def _result(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line, "endLine": max(finding.line, finding.end_line or finding.line)}
    return {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"forge/v1": finding.fingerprint},
        "properties": {"severity": finding.severity.value, "confidence": finding.confidence, "id": finding.id},
    }
