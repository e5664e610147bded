"""The risk score names what it rests on, and rests on nothing that only looks like it."""

import pytest

from domain.changes import Change, ChangeStatus, FileChange
from safety.risk import assess


def _parts(path: str, status: ChangeStatus = ChangeStatus.modified) -> set[str]:
    file = FileChange(path=path, status=status, additions=1, deletions=1)
    change = Change(
        merge_base="a", head_sha="b", files=(file,), not_looked_at=(), total_files=1, additions=1, deletions=1
    )
    return {part.code for part in assess(change, ()).parts}


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("app/auth.py", "area.access"),
        ("web/session/store.ts", "area.access"),
        ("config/permissions.yml", "area.access"),
        (".github/workflows/ci.yml", "area.pipeline"),
        ("requirements/dev.txt", "area.dependencies"),
        ("setup.cfg", "area.dependencies"),
        (".github/CODEOWNERS", "area.owners"),
        ("docs/api/auth.doctree", None),
        ("requirements-dev.txt", "area.dependencies"),
        ("requirements/extras/auth.txt", "area.dependencies"),
        ("docs/authentication.md", None),
        ("src/author.py", None),
        ("src/oauth2/flow.py", "area.access"),
        ("lib/authorize.rb", "area.access"),
        ("tests/test_auth.py", None),
    ],
)
def test_areas(path: str, part: str | None) -> None:
    assert _parts(path) == ({part} if part else set())


@pytest.mark.parametrize(
    ("path", "is_one"), [("tests/test_a.py", True), ("web/a.spec.ts", True), ("tests/unit/__init__.py", False)]
)
def test_deleted_tests(path: str, is_one: bool) -> None:
    assert ("tests.deleted" in _parts(path, ChangeStatus.deleted)) is is_one


@pytest.mark.parametrize(("lines", "said"), [(1, "Silences checks on 1 line"), (2, "Silences checks on 2 lines")])
def test_comments_that_silence_checks_cost_a_little(lines: int, said: str) -> None:
    change = Change(merge_base="a", head_sha="b", files=(), not_looked_at=(), total_files=0, additions=0, deletions=0)
    assert assess(change, ()).parts == ()
    assert [(part.points, part.text) for part in assess(change, (), silencing=lines).parts] == [(4, said)]


def test_what_areas_may_count_is_bounded_and_the_rest_is_named() -> None:
    paths = ("app/auth.py", ".github/workflows/ci.yml", "CODEOWNERS", "setup.py")
    files = tuple(FileChange(path=path, status=ChangeStatus.modified, additions=1) for path in paths)
    change = Change(
        merge_base="a", head_sha="b", files=files, not_looked_at=(), total_files=4, additions=4, deletions=0
    )
    risk = assess(change, ())
    assert risk.score == 40
    assert [part.points for part in risk.parts] == [20, 15, 5, 0]
