"""Writes findings as SARIF 2.1.0 for GitHub's code scanning; Forge reads the same format."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from agents.review.checks import rule_texts
from bot.version import VERSION
from domain.review.findings import Category, Finding, Fix, Severity

_LEVELS = {Severity.info: "note", Severity.warning: "warning", Severity.error: "error", Severity.critical: "error"}
_SCORES = {Severity.info: "2.0", Severity.warning: "5.0", Severity.error: "8.0", Severity.critical: "9.5"}
"""``security-severity``: GitHub calls it low below 4, medium below 7, high below 9, then critical."""

_SHORT = 120
_PAGES = re.compile(r"https://docs\.astral\.sh/ruff/rules/([a-z0-9-]+)/?")
"""The addresses of rule pages that end in the rule's name."""


def build_document(findings: Sequence[Finding], problem: str | None = None) -> dict[str, Any]:
    """A SARIF log with one run that holds all findings.

    :param problem: what is wrong with the configuration.
    """
    by_rule: dict[str, Finding] = {}
    for finding in findings:
        known = by_rule.setdefault(finding.rule, finding)
        if finding.severity.rank > known.severity.rank:
            by_rule[finding.rule] = finding
    indices = {rule: index for index, rule in enumerate(by_rule)}
    driver = {
        "name": "Forge",
        "semanticVersion": VERSION,
        "version": VERSION,
        "rules": list(map(_rule, by_rule.values())),
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, indices[finding.rule]) for finding in findings],
    }
    if problem:
        notification = {"level": "warning", "message": {"text": problem}}
        run["invocations"] = [{"executionSuccessful": True, "toolConfigurationNotifications": [notification]}]
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding) -> dict[str, Any]:
    """A rule with the severity of its gravest finding. GitHub wants both descriptions and a help text for each.

    A finding's message is about one place, so it does not describe the rule.
    """
    name, message = _name(finding), rule_texts.describe_rule(finding.rule)
    first = message.partition(". ")[0].rstrip(".") if message else ""
    short = f"{name or (first if 0 < len(first) <= _SHORT else finding.rule)}."
    message = message or short
    more = f" See {finding.help_url}" if finding.help_url else ""
    properties: dict[str, Any] = {"tags": [finding.category.value], "precision": "high"}
    if finding.category is Category.security:
        properties["security-severity"] = _SCORES[finding.severity]
    rule: dict[str, Any] = {
        "id": finding.rule,
        "shortDescription": {"text": short},
        "fullDescription": {"text": message},
        "help": {"text": f"{message}{more}", "markdown": f"`{finding.rule}`: {message}{more}"},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        "properties": properties,
    }
    return rule | {"helpUri": finding.help_url} if finding.help_url else rule


def _name(finding: Finding) -> str:
    """The rule's name from the address of its page; empty if the address has none."""
    page = _PAGES.fullmatch(finding.help_url or "")
    return page[1].replace("-", " ").capitalize() if page else ""


def _result(finding: Finding, index: int) -> dict[str, Any]:
    artifact = {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}
    place: dict[str, Any] = {"artifactLocation": artifact}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line, "endLine": max(finding.line, finding.end_line or finding.line)}
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"forge/v1": finding.fingerprint},
        "properties": {"severity": finding.severity.value, "confidence": finding.confidence, "id": finding.id},
    }
    return result if finding.fix is None else result | {"fixes": [_fix(artifact, finding.fix)]}


def _fix(artifact: dict[str, str], fix: Fix) -> dict[str, Any]:
    """Replaces whole lines: from the start of the first to the start of the line after the last."""
    region = {"startLine": fix.start_line, "startColumn": 1, "endLine": fix.end_line + 1, "endColumn": 1}
    written = f"{fix.replacement}\n" if fix.replacement else ""
    replacement = {"deletedRegion": region, "insertedContent": {"text": written}}
    return {
        "description": {"text": "Write these lines instead." if written else "Remove these lines."},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": [replacement]}],
    }
