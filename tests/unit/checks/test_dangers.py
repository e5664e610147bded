"""Every rule for dangerous code finds its bad examples and leaves its good ones alone, in each of its languages."""

import pytest

from agents.review.checks.dangers.rule import DangerRule
from agents.review.checks.dangers.scanner import BY_RULE, TABLE, scan
from agents.toolbox import Toolbox
from tests.unit.checks.building import Versions
from tests.unit.checks.checking import check_files

BAD = [(rule.rule, grammar, text) for rule in TABLE for grammar in rule.grammars for text in rule.bad]
GOOD = [(rule.rule, grammar, text) for rule in TABLE for grammar in rule.grammars for text in rule.good]


def enclose(grammar: str, text: str) -> str:
    """Statements of Go, Java and C# need a function around them."""
    if grammar == "go":
        return f"package a\n\nfunc f() {{\n{text}\n}}\n"
    if grammar in ("java", "csharp") and not text.startswith("class "):
        return f"class A {{ void F() {{\n{text}\n}} }}\n"
    return text + "\n"


@pytest.mark.parametrize(("rule", "grammar", "text"), BAD)
def test_finds(rule: str, grammar: str, text: str) -> None:
    assert rule in {hit.rule for hit in scan(grammar, enclose(grammar, text))}


@pytest.mark.parametrize(("rule", "grammar", "text"), GOOD)
def test_leaves_alone(rule: str, grammar: str, text: str) -> None:
    assert rule not in {hit.rule for hit in scan(grammar, enclose(grammar, text))}


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.rule)
def test_every_entry_is_complete(rule: DangerRule) -> None:
    assert len(BY_RULE) == len(TABLE)
    assert len(rule.bad) >= 2
    assert len(rule.good) >= 2
    assert rule.message.endswith(".")


@pytest.mark.asyncio(loop_scope="session")
async def test_only_new_dangers_outside_tests_are_said_and_nothing_counts_as_read(toolbox: Toolbox) -> None:
    old = "package a\n\nfunc f() {\n\tc.InsecureSkipVerify = true\n}\n"
    files: Versions = {
        "a.go": (old, old.replace("}\n", '\tdb.Query("SELECT a FROM b WHERE c = " + d)\n}\n')),
        "a_test.go": (None, old),
        "b.c": (None, "MACRO(a)\nvoid f() { gets(b); }\n"),
    }
    result = await check_files(toolbox, files)
    assert [(f.rule, f.path, f.line) for f in result.findings] == [
        ("c/gets", "b.c", 2),
        ("go/sql-from-text", "a.go", 5),
    ]
    assert result.read_by == {}
    assert not [tool.problem for layer in result.layers for tool in layer.tools if tool.problem]
