"""Edits by text: what they change, and what is refused with which words."""

import pytest

from domain.runs.patches import Areas
from tests.unit.patches.building import apply_change, tree
from workspace.patches.edits import Replacement, TextEdit, WrittenFile, build_change
from workspace.patches.refusals import PatchRefused
from workspace.patches.validation import judge

FILES = {
    "x.py": b"a = 1\nb = 2\na = 1\n",
    "crlf.txt": b"one\r\ntwo\r\n",
    "mixed.txt": b"one\r\ntwo\n",
    "latin.txt": "größe = 1\n".encode("latin-1"),
    "end": b"no line feed",
    "picture": b"\x89PNG\0\n",
    "empty": b"",
    "overlaps": b"ababa",
    "often": b"a\n" * 9,
    "long": b"a" * 900_000,
}


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (Replacement("x.py", "b = 2", "b = 3"), b"a = 1\nb = 3\na = 1\n"),
        (Replacement("x.py", "b = 2\n", ""), b"a = 1\na = 1\n"),
        (Replacement("x.py", "b = 2\na = 1\n", "c = 3\n"), b"a = 1\nc = 3\n"),
        (Replacement("crlf.txt", "one\ntwo\n", "one\nand\ntwo\n"), b"one\r\nand\r\ntwo\r\n"),
        (Replacement("crlf.txt", "two\r\n", "2\r\n"), b"one\r\n2\r\n"),
        (Replacement("mixed.txt", "two\n", "2\n"), b"one\r\n2\n"),
        (Replacement("latin.txt", "= 1", "= 2"), "größe = 2\n".encode("latin-1")),
        (Replacement("end", "line feed", "LF"), b"no LF"),
        (WrittenFile("new/é.txt", "ä\n"), "ä\n".encode()),
        (WrittenFile("empty", "x"), b"x"),
        (WrittenFile("x.py", ""), b""),
        (WrittenFile("crlf.txt", "1\n2\n"), b"1\r\n2\r\n"),
    ],
)
def test_taken(edit: TextEdit, after: bytes) -> None:
    assert apply_change(FILES, build_change(edit, tree(FILES))) == FILES | {edit.path: after}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (Replacement("x.py", "a = 1", "a = 2"), "is in the file 2 times, in lines 1, 3."),
        (Replacement("x.py", "a = 2", "a = 3"), "is not in the file. Read the file again"),
        (Replacement("x.py", "b  = 2", "b = 3"), "is not in the file"),
        (Replacement("x.py", "b = 2", "b = 2"), "changes nothing"),
        (Replacement("gone.py", "a", "b"), "does not exist"),
        (Replacement("picture", "PNG", "GIF"), "is binary"),
        (WrittenFile("picture", "GIF"), "is binary"),
        (WrittenFile("new", "a\0"), "NUL character"),
        (Replacement("x.py", "b = 2", "\0"), "NUL character"),
        (WrittenFile("x.py", "a = 1\nb = 2\na = 1\n"), "changes nothing"),
        (WrittenFile("../out", "x"), "could lead elsewhere"),
        (WrittenFile(".git/config", "x"), "leads into .git"),
        (WrittenFile("", "x"), "is empty"),
        (Replacement("link", "a", "b"), "a symlink or a submodule"),
        (WrittenFile("module", "x"), "a symlink or a submodule"),
        (Replacement("overlaps", "aba", "c"), "2 times"),
        (Replacement("often", "a\n", "c\n"), "is in the file often, in lines 1, 2, 3, 4, 5 and others"),
        (Replacement("long", "a" * 200_000, "b"), "often"),  # and that is found in time
    ],
)
def test_refused(edit: TextEdit, said: str) -> None:
    with pytest.raises(PatchRefused) as refused:
        build_change(edit, tree(FILES, {"link": "120000", "module": "160000"}))
    assert said in str(refused.value)
    assert all(each.message.endswith(".") and each.suggestion.endswith(".") for each in refused.value.violations)


def test_an_executable_stays_one() -> None:
    change = build_change(WrittenFile("x.py", "x"), tree(FILES, {"x.py": "100755"}))
    assert (change.files[0].mode, change.files[0].old_mode) == ("100755", "100755")


def test_areas_hold_for_edits_as_for_diffs() -> None:
    areas = Areas(role="implementer", allowed=("src/**",), contracts={})
    for edit in (Replacement("x.py", "b = 2", "b = 3"), WrittenFile("setup.py", "x\n")):
        judged = judge(edit, tree(FILES), areas)
        assert judged.change is None
        assert [each.constraint for each in judged.violations] == ["allowed_areas"]
    protected = judge(WrittenFile(".github/workflows/x.yml", "x\n"), tree({}), Areas(role="implementer", contracts={}))
    assert [each.constraint for each in protected.violations] == ["protected_areas"]


def test_what_may_not_be_changed_says_nothing_of_what_it_holds() -> None:
    """Else a guess at a passage would be answered, letter by letter."""
    files, areas = (
        {"secret.env": b"PASSWORD=trout\n"},
        Areas(role="implementer", forbidden=("secret.env",), contracts={}),
    )
    for guess in ("PASSWORD=t", "PASSWORD=a", "PASSWORD=trout"):
        judged = judge(Replacement("secret.env", guess, "x"), tree(files), areas)
        assert [each.constraint for each in judged.violations] == ["forbidden_areas"]
    for line in (b"PASSWORD=trout", b"PASSWORD=pike"):
        diff = b"--- a/secret.env\n+++ b/secret.env\n@@ -1 +1 @@\n-" + line + b"\n+x\n"
        assert [each.constraint for each in judge(diff, tree(files), areas).violations] == ["forbidden_areas"]
