"""Several findings that one suggestion answers are one comment; others stay apart."""

import pytest

from agents.review.checks.fingerprints import merge_findings
from agents.toolbox import Toolbox
from domain.review.findings import Finding, Fix
from tests.unit.checks.checking import check_files
from tests.unit.checks.findings import build_finding

ADVICE = "Remove the import, or use it; if it is there for others to import, list it in `__all__`."


def finding(message: str, replacement: str | None, *, rule: str = "t/1", lines: tuple[int, int] = (1, 1)) -> Finding:
    start, end = lines
    return build_finding(
        rule=rule,
        path="a",
        line=start,
        end_line=end,
        message=message,
        fix=None if replacement is None else Fix(start_line=start, end_line=end, replacement=replacement),
        fingerprint=f"print of {message}",
    )


def list_texts(*findings: Finding, block: str = "x") -> list[tuple[str, str | None]]:
    merged = merge_findings(findings, {"a": block.split("\n")})
    return [(each.message, None if each.fix is None else each.fix.replacement) for each in merged]


@pytest.mark.asyncio(loop_scope="session")
async def test_imports_of_one_line(toolbox: Toolbox) -> None:
    [one] = (await check_files(toolbox, {"a.py": (None, "x = 1\nimport os, sys, re\n")})).findings
    assert one.message == f"`os`, `sys` and `re` imported but unused. {ADVICE}"
    assert (one.line, one.end_line, one.fix) == (2, 2, Fix(start_line=2, end_line=2, replacement=""))


@pytest.mark.asyncio(loop_scope="session")
async def test_imports_of_one_statement(toolbox: Toolbox) -> None:
    text = "from typing import (\n    Any,\n    List,\n    cast,\n)\n\nprint(cast)\n"
    [one] = (await check_files(toolbox, {"a.py": (None, text)})).findings
    assert one.message == f"`typing.Any` and `typing.List` imported but unused. {ADVICE}"
    assert one.fix is not None
    assert (one.line, one.end_line, one.fix.start_line, one.fix.end_line) == (2, 3, 1, 5)


@pytest.mark.asyncio(loop_scope="session")
async def test_imports_of_several_lines_stay_apart(toolbox: Toolbox) -> None:
    result = await check_files(toolbox, {"a.py": (None, "import os\nimport sys\n")})
    assert [(each.line, each.message[:4]) for each in result.findings] == [(1, "`os`"), (2, "`sys")]


@pytest.mark.asyncio(loop_scope="session")
async def test_fixes_of_different_places_are_one_suggestion(toolbox: Toolbox) -> None:
    chosen = {"ruff.toml": b'[lint]\nselect = ["F541"]\n'}
    [one] = (await check_files(toolbox, {"a.py": (None, 'x = f"a" + f"b"\n')}, project=chosen)).findings
    assert one.fix == Fix(start_line=1, end_line=1, replacement='x = "a" + "b"')


@pytest.mark.asyncio(loop_scope="session")
async def test_only_what_is_new_is_named(toolbox: Toolbox) -> None:
    old = "import os, sys, re\n\nprint(sys, re)\n"
    [one] = (await check_files(toolbox, {"a.py": (old, "import os, sys, re\n\nprint(None)\n")})).findings
    assert one.message.startswith("`sys` and `re` imported")


@pytest.mark.asyncio(loop_scope="session")
async def test_the_identity_lasts_while_lines_move_and_ends_when_a_name_joins(toolbox: Toolbox) -> None:
    """Otherwise a dismissal of two names would silence a third that nobody saw."""
    line = "import os, sys, re\n"

    async def identity(text: str) -> str:
        [one] = (await check_files(toolbox, {"a.py": (None, text)})).findings
        return one.fingerprint

    two = await identity(f"x = 1\n{line}print(re)\n")
    assert await identity(f"# more\n\nx = 1\n{line}print(re)\n") == two
    assert await identity(f"x = 1\n{line}print(12)\n") != two


def test_what_differs_in_rule_or_lines_or_has_no_fix_stays_apart() -> None:
    apart = [
        finding("`a` unused", "y"),
        finding("`b` unused", "y", rule="t/2"),
        finding("`c` unused", "y", lines=(1, 2)),
        finding("`d` unused", None),
        finding("`e` unused", None),
    ]
    assert merge_findings(apart, {"a": ["x", "x"]}) == tuple(apart)


def test_fixes_that_exclude_each_other_stay_apart() -> None:
    apart = [finding("`a` here", "f(1)"), finding("`b` here", "f(2)")]
    assert merge_findings(apart, {"a": ["f(0)"]}) == tuple(apart)
    removal = [finding("`a` here", ""), finding("`b` here", "f(2)")]
    assert merge_findings(removal, {"a": ["f(0)"]}) == tuple(removal)


def test_messages_that_differ_otherwise_are_all_said() -> None:
    assert list_texts(finding("One.", "y"), finding("`Two`.", "y")) == [("One. `Two`.", "y")]
    assert list_texts(finding("Same.", "f(1, 0)"), finding("Same.", "f(0, 1)"), block="f(0, 0)") == [
        ("Same.", "f(1, 1)")
    ]


def test_many_names_are_counted() -> None:
    [(message, _)] = list_texts(*(finding(f"`n{number}` unused.", "") for number in range(14)))
    assert message.endswith("`n8`, `n9` and 4 more unused.")
