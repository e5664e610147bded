"""Only formatting and simple lint is corrected unasked, and never so that the file could be worse than before."""

import pytest

from domain.review.findings import Category, Finding, Fix, Layer
from safety.autofix import MOST_FILES, MOST_FINDINGS, apply_fixes, is_simple, select_fixable
from tests.unit.checks.findings import build_finding


def finding(
    rule: str = "ruff/F401",
    start: int = 1,
    end: int | None = None,
    replacement: str = "",
    path: str = "app.py",
    *,
    fixed: bool = True,
    **more: object,
) -> Finding:
    last = start if end is None else end
    fix = Fix(start_line=start, end_line=last, replacement=replacement) if fixed else None
    usual = {"category": Category.style, "fingerprint": f"{path}:{start}:{rule}", **more}
    return build_finding(id=f"F-{start}", rule=rule, path=path, line=start, end_line=last, fix=fix, **usual)


@pytest.mark.parametrize("rule", ["ruff/F401", "ruff/F541", "ruff/I001", "ruff/W291", "ruff/UP006", "ruff/PIE790"])
def test_simple(rule: str) -> None:
    assert is_simple(finding(rule))


@pytest.mark.parametrize(
    "other",
    [
        finding("ruff/F841"),  # what is assigned may have been computed for its effect
        finding("ruff/INT001"),
        finding("ruff/S101", category=Category.security),
        finding("ruff/B006"),
        finding("eslint/F401"),
        finding("secret/F401", layer=Layer.security),
        finding("model/F401", layer=Layer.model),
        finding(layer=Layer.model),
        finding(layer=Layer.security),
        finding(fixed=False),
    ],
    ids=lambda each: f"{each.rule} {each.layer.name} {each.fix is not None}",
)
def test_not_simple(other: Finding) -> None:
    assert not is_simple(other)
    assert select_fixable([other]) == []


def test_the_lines_of_a_fix_are_replaced() -> None:
    content = b"import os\nimport re, sys\n\nprint(os)\n"
    files, done = apply_fixes({"app.py": content}, [finding(start=2, replacement="import sys")])
    assert files == {"app.py": b"import os\nimport sys\n\nprint(os)\n"}
    assert [each.id for each in done] == ["F-2"]


def test_several_fixes_do_not_move_one_another() -> None:
    content = b"import a\nimport b\nimport c\nx = f'y'\n"
    found = select_fixable([finding("ruff/F541", 4, replacement="x = 'y'"), finding(start=1), finding(start=3)])
    files, done = apply_fixes({"app.py": content}, found)
    assert files == {"app.py": b"import b\nx = 'y'\n"}
    assert [each.id for each in done] == ["F-1", "F-3", "F-4"]


def test_windows_line_breaks_stay() -> None:
    files, _ = apply_fixes({"app.py": b"import os, re\r\nos\r\n"}, [finding(start=1, replacement="import os")])
    assert files == {"app.py": b"import os\r\nos\r\n"}


def test_of_overlapping_fixes_the_first_is_taken() -> None:
    found = select_fixable([finding("ruff/I001", 1, 3, "import b\nimport c"), finding(start=2)])
    assert [each.rule for each in found] == ["ruff/I001"]


def test_a_block_is_never_emptied() -> None:
    content = b"if True:\n    import a\n    import b\n"
    files, done = apply_fixes({"app.py": content}, select_fixable([finding(start=2), finding(start=3)]))
    assert files == {"app.py": b"if True:\n    import a\n"}
    assert [each.id for each in done] == ["F-3"]


@pytest.mark.parametrize("content", [b"caf\xe9 = 1\n", b""])
def test_what_cannot_be_read_or_is_shorter_stays(content: bytes) -> None:
    assert apply_fixes({"app.py": content}, [finding(start=2)]) == ({}, [])
    assert apply_fixes({}, [finding(start=2)]) == ({}, [])


def test_it_is_bounded() -> None:
    many = [finding(start=line) for line in range(1, 200)]
    assert len(select_fixable(many)) == MOST_FINDINGS
    wide = [finding(path=f"{number}.py") for number in range(100)]
    assert len({each.path for each in select_fixable(wide)}) == MOST_FILES


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import os\nimport sys\n\n\nX = 1\n", "X = 1\n"),
        ("import os\r\n \r\nX = 1\r\n", "X = 1\r\n"),
        ("import os\n\n\n", ""),
        ("\nimport os\n\nX = 1\n", "\n\nX = 1\n"),  # that empty line is the author's
    ],
)
def test_no_empty_lines_are_left_at_the_top(before: str, after: str) -> None:
    lines = [number for number, line in enumerate(before.split("\n"), 1) if line.startswith("import")]
    found = [finding(start=line, replacement="") for line in lines]
    contents, done = apply_fixes({"app.py": before.encode()}, found)
    assert (contents["app.py"].decode(), done) == (after, found)
