"""What texts say of roles comes from the tables of verbs and of gates."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.review.findings import Category, Finding, Layer, Severity
from messages.feedback import confirm_hint
from messages.inline_comments import render_comment

ROOT = Path(__file__).parents[3]
ROLES = "(?:read|triage|write|maintain|admin)"
SAID = re.compile(rf"\b(?:roles? {ROLES}|{ROLES} (?:access|permission))\b")
SOURCES = [path for room in ("messages", "pipeline", "agents") for path in (ROOT / room).rglob("*.py")]


def _list_texts(tree: ast.Module) -> Iterator[str]:
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


def test_no_text_writes_a_role_down_itself() -> None:
    texts = [(path, text) for path in SOURCES for text in _list_texts(ast.parse(path.read_text()))]
    assert [(str(path), text) for path, text in texts if SAID.search(text)] == []


@pytest.mark.parametrize(("severity", "role"), [(Severity.error, "write"), (Severity.critical, "maintain")])
def test_who_may_dismiss_a_finding_is_said_as_its_gate_has_it(severity: Severity, role: str) -> None:
    finding = Finding(
        id="F-AEGTUI",
        rule="ruff/S602",
        category=Category.security,
        severity=severity,
        confidence=1,
        path="app.py",
        line=1,
        message="It runs what it is given.",
        layer=Layer.security,
        fingerprint="a" * 64,
        trail="b" * 64,
    )
    assert f"Someone else with the role {role} (you, if nobody else has it) replies" in render_comment([finding])
    assert f"someone with the role {role} who did not open this" in confirm_hint(finding)
