"""What Forge writes as SARIF: complete for GitHub, and read back by Forge as it was."""

import json
import math

import pytest

from agents.review.checks import sarif as reader
from bot.cli import review_output as writer
from domain.review.findings import Category, Severity
from tests.unit.checks.findings import FINDINGS


def test_forge_reads_its_own() -> None:
    document = json.dumps(writer.build_document(FINDINGS)).encode()
    read = reader.read(document, "forge", {"src/a b.py": 10}, "/x").findings
    assert [(f.category, f.severity, f.path, f.line, f.end_line, f.message, f.help_url) for f in read] == [
        (f.category, f.severity, f.path, f.line, f.end_line, f.message, f.help_url) for f in FINDINGS
    ]


def test_github_has_what_it_asks_of_a_rule() -> None:
    [run] = writer.build_document(FINDINGS)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["version"]
    for rule in rules:
        assert rule["shortDescription"]["text"].endswith(".")
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert ("security" in rule["properties"]["tags"]) == ("security-severity" in rule["properties"])
    scores = [float(rule["properties"].get("security-severity", math.nan)) for rule in rules]
    assert [score for score in scores if score == score] == [2.0, 5.0, 8.0, 9.5]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [f.rule for f in FINDINGS]


@pytest.mark.parametrize(
    ("rule", "page", "short", "whole"),
    [
        ("ruff/F401", "https://docs.astral.sh/ruff/rules/unused-import", "Unused import.", "Remove the import"),
        ("ruff/S307", None, "eval() runs any text as code.", "eval() runs any text as code. For"),
        ("tool/x", "https://example.org/rule", "tool/x.", "tool/x."),
    ],
)
def test_a_rule_is_described_by_no_finding(rule: str, page: str | None, short: str, whole: str) -> None:
    update = {"rule": rule, "help_url": page, "message": "`os` imported but unused."}
    [run] = writer.build_document([FINDINGS[0].model_copy(update=update)])["runs"]
    [described] = run["tool"]["driver"]["rules"]
    assert described["shortDescription"]["text"] == short
    assert described["fullDescription"]["text"].startswith(whole)
    assert "`os`" not in json.dumps(described)
    assert run["results"][0]["message"]["text"] == "`os` imported but unused."


def test_a_rule_is_as_grave_as_its_gravest_finding() -> None:
    worst = FINDINGS[0].model_copy(update={"severity": Severity.critical, "category": Category.security})
    [run] = writer.build_document([FINDINGS[0], worst])["runs"]
    [rule] = run["tool"]["driver"]["rules"]
    assert (rule["defaultConfiguration"]["level"], rule["properties"]["security-severity"]) == ("error", "9.5")


def test_a_fix_replaces_whole_lines() -> None:
    [result] = writer.build_document(FINDINGS[:1])["runs"][0]["results"]
    [change] = result["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 2, "startColumn": 1, "endLine": 4, "endColumn": 1},
            "insertedContent": {"text": "x = 1\n"},
        }
    ]


@pytest.mark.parametrize(
    ("level", "score", "severity"),
    [
        ("warning", "9.8", Severity.critical),
        ("warning", "7.0", Severity.error),
        ("error", "2.0", Severity.error),
        ("note", "nan", Severity.info),
        ("note", "x", Severity.info),
        ("note", None, Severity.info),
    ],
)
def test_a_score_makes_a_linters_finding_graver_and_never_lighter(
    level: str, score: str | None, severity: Severity
) -> None:
    rule = {"id": "R", "properties": {"tags": ["x", "security"], "security-severity": score, "severity": "critical"}}
    place = {"physicalLocation": {"artifactLocation": {"uri": "a.py"}, "region": {"startLine": 1}}}
    result = {"ruleId": "R", "level": level, "message": {"text": "m"}, "locations": [place]}
    result |= {"properties": {"severity": "critical"}}
    document = {"runs": [{"tool": {"driver": {"name": "other", "rules": [rule]}}, "results": [result]}]}
    [found] = reader.read(json.dumps(document).encode(), "other", {"a.py": 1}, "/x").findings
    assert (found.category, found.severity) == (Category.security, severity)
