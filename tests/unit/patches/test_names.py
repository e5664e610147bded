"""Paths that lead elsewhere or hide what they are, and the ones that only look odd."""

import pytest

from domain.paths import fold_path
from tests.unit.patches.building import new_file, tree
from workspace.patches.patching import parse
from workspace.patches.refusals import PatchRefused, find_mistake, is_git

BAD = [
    "",
    "/etc/passwd",
    "//host/share",
    "C:/Windows/x",
    "c:/x",
    "~/x",
    "..",
    "../x",
    "a/../../x",
    "a/..",
    "./x",
    "a/./x",
    "a//x",
    "a/",
    "a\\x",
    "..\\x",
    ".git",
    ".git/config",
    ".GIT/hooks/pre-commit",
    "a/.Git/x",
    ".git./x",
    ".git /x",
    ".git . ./x",
    ".git::$INDEX_ALLOCATION/x",
    ".git:x",
    "git~1/config",
    "GIT~2/config",
    "gi7eba~1",
    ".g\u200cit/config",
    ".\u200dgit/config",
    "\u202e.git/config",
    "\ufeff.git/config",
    ".gi\u00adt/config",
    "\uff0egit/config",
    "．ｇｉｔ/config",
    ".gıt\u0000/config",
    "a\0b",
    "a\nb",
    "a\rb",
    "a\tb",
    "a\x7fb",
    "a\x85b",
    "a\u2028b",
    "a\u202eb",
    "a\u3164.py",
    "a\u115f.py",
    "a\u2800.py",
    "a\u034f.py",
    "a\ufe0f.py",
    "1\ufe0f.md",
    "a\U000e0101.py",
    ".\u3164git/config",
    "a\ud800b",
    "a" * 256,
    "é" * 128,
    "/".join("abcd" for _ in range(206)),
]
GOOD = [
    "docs/⚠\ufe0f notes.md",
    "1\ufe0f\u20e3 first.md",
    "가나다/설명.md",
    "a",
    "a/b.py",
    ".github/x",
    ".gitignore",
    "src/.gitkeep",
    "git/x",
    "agit~1",
    "digit~1/x",
    "..a/x",
    "a../x",
    "...",
    "a b",
    " a",
    "é/日本.md",
    "a:b",
    "x~1",
    'a"b',
    "a'b;$(x)",
    "-rf",
    "a" * 255,
    "/".join("abcd" for _ in range(204)),
]


def test_refused() -> None:
    assert [path for path in BAD if find_mistake(path) is None] == []


def test_taken() -> None:
    assert [path for path in GOOD if find_mistake(path) is not None] == []


@pytest.mark.parametrize("path", BAD)
def test_no_patch_makes_or_reads_such_a_file(path: str) -> None:
    """Not even the base is asked for it, whether it is written plainly or as git quotes names."""
    quoted = "".join(f"\\{byte:03o}" for byte in path.encode("utf-8", "surrogatepass"))
    changed = f'diff --git "a/{quoted}" "b/{quoted}"\n--- "a/{quoted}"\n+++ "b/{quoted}"\n@@ -1 +1 @@\n-a\n+b\n'
    for diff in (new_file(path), changed.encode()):
        with pytest.raises(PatchRefused) as refused:
            parse(diff, tree({}, {path: "100644"}))
        assert {each.constraint for each in refused.value.violations} <= {"path", "syntax"}
        assert all(each.file.isprintable() for each in refused.value.violations)


def test_a_name_that_is_not_utf_8() -> None:
    with pytest.raises(PatchRefused, match="not UTF-8"):
        parse(b"diff --git a/\xff b/\xff\nnew file mode 100644\n", tree({}))


@pytest.mark.parametrize("name", [".git", ".GIT", ".git.", ".git ", "git~1", ".g\u200eit"])
def test_what_disks_take_for_git(name: str) -> None:
    assert is_git(name)


def test_what_disks_take_for_one() -> None:
    assert fold_path("A/É.TXT") == fold_path("a/e\u0301.txt")
    assert fold_path("a/e") != fold_path("a/é")
