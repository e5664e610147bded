"""Which version of its language a changed file is written for."""

import pytest

from agents.review.model.related import find_version_lines, list_version_files


@pytest.mark.parametrize(
    ("changed", "files", "lines"),
    [
        ("rates/quotes.go", {"go.mod": b"module a\n\ngo 1.21\n"}, [("go.mod", 3, "go 1.21")]),
        (
            "a/b/c.py",
            {"pyproject.toml": b'[project]\nrequires-python = ">=3.9"\n', "a/pyproject.toml": b"[tool.x]\n"},
            [],
        ),
        (
            "a/c.py",
            {"pyproject.toml": b'requires-python = ">=3.9"\n'},
            [("pyproject.toml", 1, 'requires-python = ">=3.9"')],
        ),
        (
            "web/a.ts",
            {"package.json": b'{"engines": {\n  "node": ">=18"\n}}'},
            [("package.json", 2, '  "node": ">=18"')],
        ),
        ("README.md", {"go.mod": b"go 1.21\n"}, []),
    ],
)
def test_the_nearest_file_says_it(changed: str, files: dict[str, bytes], lines: list[tuple[str, int, str]]) -> None:
    assert not lines or {path for path, _, _ in lines} <= {*list_version_files([changed])}
    found = find_version_lines(files, [changed])
    assert [(each.path, each.start, *each.lines) for each in found] == lines
    assert {each.of for each in found} <= {changed}
