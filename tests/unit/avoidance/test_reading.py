"""What is read of a file: which functions others can name, and texts that are made to keep a reader busy."""

import pytest

from agents.review.avoidance.reading import read_facts

FUNCTIONS = "function total(x) {\n  return x + 1;\n}\n\nfunction round(x) {\n  return x - 1;\n}\n\n"
BLANK = "\n" * 100_000


@pytest.mark.parametrize(
    ("exported", "public"),
    [
        ("export { total };\n", ["total"]),
        ("export {\n  total,\n  round as floor,\n};\n", ["round", "total"]),
        ("export default {\n  total,\n};\n", ["total"]),
        ("module.exports = {\n  total,\n  round,\n};\n", ["round", "total"]),
        ("module.exports.total = total;\n", ["total"]),
        ("exports.round = round;\n", ["round"]),
        ("export default round;\n", ["round"]),
        ("const all = { total, round };\n", []),
    ],
)
def test_what_a_module_exports_is_public(exported: str, public: list[str]) -> None:
    facts = read_facts("src/a.js", FUNCTIONS + exported)
    assert sorted(each.name for each in facts.functions if each.is_public) == public


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/a.js", f"f();{BLANK}"),
        ("src/a.js", "export {\n" * 20_000),
        ("test/a.bats", f"run a{BLANK}"),
        ("pytest.ini", f"[pytest]{BLANK}"),
        ("pyproject.toml", f"[project]{BLANK}"),
        ("conftest.py", "collect_ignore = [\n" * 5_000),
        ("phpunit.xml", f"<testsuite>{'<file ' * 20_000}</testsuite>"),
        ("ci.yml", f"go test -tags={' ' * 900}{BLANK}"),
    ],
)
def test_a_text_that_is_made_to_keep_readers_busy_is_read_at_once(path: str, text: str) -> None:
    """What tried each end of a run of blanks from each beginning once took minutes for these."""
    read_facts(path, text)
