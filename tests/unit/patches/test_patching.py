"""What a diff may say, what is refused, and that the refusal says what to do."""

from pathlib import Path

import pytest

from domain.runs.patches import ChangeSet, PatchLimits
from tests.unit.patches.building import Git, apply_change, hunk, new_file, tree
from workspace.patches.patching import parse
from workspace.patches.refusals import PatchRefused

FILES = {
    "x": b"1\n2\n3\n4\n5\n",
    "d/y": b"a\r\nb\r\n",
    "end": b"1\n2",
    "empty": b"",
    "one": b"1\n",
    "twice": b"a\nb\na\nb\n",
}
GIT = "diff --git a/x b/x\n"
SIDES = "--- a/x\n+++ b/x\n"
TWICE = "--- a/twice\n+++ b/twice\n"
EDIT = "@@ -1,2 +1,2 @@\n-1\n+one\n 2\n"


def parse_diff(diff: str | bytes) -> ChangeSet:
    return parse(diff.encode() if isinstance(diff, str) else diff, tree(FILES))


def refusal(diff: str | bytes) -> str:
    with pytest.raises(PatchRefused) as refused:
        parse_diff(diff)
    assert all(each.message.endswith(".") and each.suggestion.endswith(".") for each in refused.value.violations)
    return str(refused.value)


# --- what is taken -----------------------------------------------------------------------------------------


_GONE = "--- a/x\n+++ /dev/null\n@@ -1,5 +0,0 @@\n-1\n-2\n-3\n-4\n-5\n"
TAKEN: list[tuple[str, str, bytes | None]] = [
    (_GONE, "x", None),
    (GIT + "deleted file mode 100644\n" + _GONE, "x", None),
    ("diff --git a/empty b/empty\ndeleted file mode 100644\n", "empty", None),
    (SIDES + EDIT, "x", b"one\n2\n3\n4\n5\n"),
    (GIT + SIDES + EDIT, "x", b"one\n2\n3\n4\n5\n"),
    (GIT + "index 123abcd..456abcd 100644\n" + SIDES + EDIT, "x", b"one\n2\n3\n4\n5\n"),
    (GIT + SIDES + EDIT + "\n\n", "x", b"one\n2\n3\n4\n5\n"),
    (SIDES + "@@ -1,2 +1,2 @@ def f():\n-1\n+one\n 2\n", "x", b"one\n2\n3\n4\n5\n"),
    (SIDES + "@@ -4,2 +4,3 @@\n 4\n 5\n+6\n", "x", b"1\n2\n3\n4\n5\n6\n"),
    (SIDES + "@@ -1 +1,2 @@\n+0\n 1\n@@ -5 +6 @@\n-5\n+five\n", "x", b"0\n1\n2\n3\n4\nfive\n"),
    ("--- a/d/y\n+++ b/d/y\n@@ -1,2 +1,2 @@\n-a\r\n+A\r\n b\r\n", "d/y", b"A\r\nb\r\n"),
    ("--- a/end\n+++ b/end\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n", "end", b"1\n2\n"),
    (
        "--- a/end\n+++ b/end\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n\\ No newline at end of file\n",
        "end",
        b"one\n2",
    ),
    ("--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n", "new", b"a\n"),
    ("diff --git a/new b/new\nnew file mode 100644\nindex 0000000..e69de29\n", "new", b""),
    (
        "diff --git a/n w b/n w\nnew file mode 100644\n--- /dev/null\n+++ b/n w\t\n@@ -0,0 +1 @@\n+a\n",
        "n w",
        b"a\n",
    ),
    ('diff --git "a/\\303\\251" "b/\\303\\251"\nnew file mode 100644\n', "é", b""),
    ("diff --git a/é b/é\nnew file mode 100644\n", "é", b""),
    ("diff --git a/empty b/empty\n--- a/empty\n+++ b/empty\n@@ -0,0 +1 @@\n+a\n", "empty", b"a\n"),
]


MISCOUNTED = [
    (SIDES + EDIT + " 3\n", b"one\n2\n3\n4\n5\n"),
    (SIDES + EDIT + "+two and a half\n 3\n", b"one\n2\ntwo and a half\n3\n4\n5\n"),
    (SIDES + "@@ -1,3 +1,3 @@\n-1\n+one\n 2\n", b"one\n2\n3\n4\n5\n"),
    (SIDES + "@@ -1,2 +1 @@\n-1\n+one\n 2\n", b"one\n2\n3\n4\n5\n"),
    (SIDES + "@@ -2,2 +2,2 @@\n-1\n+one\n 2\n", b"one\n2\n3\n4\n5\n"),
    (SIDES + "@@ -1,2 +2,2 @@\n-1\n+one\n 2\n", b"one\n2\n3\n4\n5\n"),
    (SIDES + "@@ -0,2 +1,2 @@\n-1\n+one\n 2\n", b"one\n2\n3\n4\n5\n"),
    (SIDES + "@@ -900 +900 @@\n-5\n+five\n", b"1\n2\n3\n4\nfive\n"),
    (SIDES + "@@ -1,2 +1,9 @@\n-1\n+one\n 2\n@@ -4,2 +4,9 @@\n 4\n 5\n+6\n", b"one\n2\n3\n4\n5\n6\n"),
    (GIT + SIDES + EDIT + " 3\n" + "diff --git a/n b/n\nnew file mode 100644\n", b"one\n2\n3\n4\n5\n"),
]


@pytest.mark.parametrize(("diff", "after"), MISCOUNTED)
def test_a_hunk_that_fits_in_one_place_is_taken_although_its_header_is_wrong(diff: str, after: bytes) -> None:
    assert parse_diff(diff).files[0].after == after


def test_a_new_file_may_be_miscounted() -> None:
    assert parse_diff("--- /dev/null\n+++ b/new\n@@ -0,0 +1,9 @@\n+a\n+b\n").files[0].after == b"a\nb\n"


def test_git_takes_a_miscounted_hunk_the_same_way(tmp_path: Path) -> None:
    git = Git(tmp_path)
    base = git.tree(FILES)
    for diff, after in MISCOUNTED:
        applied = git.apply(base, diff.encode(), "--recount")
        assert applied is not None
        assert applied["x"] == after


def list_files(path: str, after: bytes | None) -> dict[str, bytes]:
    """All files after one has another content, or is gone."""
    return {**{name: text for name, text in FILES.items() if name != path}, **({} if after is None else {path: after})}


@pytest.mark.parametrize(("diff", "path", "after"), TAKEN)
def test_taken(diff: str, path: str, after: bytes | None) -> None:
    assert apply_change(FILES, parse_diff(diff)) == list_files(path, after)


def test_git_takes_it_the_same_way(tmp_path: Path) -> None:
    git = Git(tmp_path)
    base = git.tree(FILES)
    for diff, path, after in TAKEN:
        assert git.apply(base, diff.encode()) == list_files(path, after)


def test_a_file_becomes_a_folder_and_the_other_way_round(tmp_path: Path) -> None:
    git = Git(tmp_path)
    gone = "deleted file mode 100644\n--- a/{0}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    for before, after in (("n", "n/m"), ("n/m", "n")):
        files = {before: b"a\n"}
        diff = f"diff --git a/{before} b/{before}\n{gone.format(before)}".encode() + new_file(after)
        assert apply_change(files, parse(diff, tree(files))) == git.apply(git.tree(files), diff) == {after: b"x\n"}


def test_an_empty_line_of_context_may_have_lost_its_space() -> None:
    change = parse(hunk("x", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"), tree({"x": b"a\n\nb\n"}))
    assert change.files[0].after == b"a\n\nc\n"


def test_an_executable_stays_one() -> None:
    change = parse((SIDES + EDIT).encode(), tree(FILES, {"x": "100755"}))
    assert (change.files[0].mode, change.files[0].old_mode) == ("100755", "100755")


def test_what_looks_like_a_header_inside_a_hunk_is_content() -> None:
    body = "--- a/y\n+++ b/y\n@@ -1 +1 @@\n"
    added = "".join(f"+{line}" for line in body.splitlines(keepends=True))
    change = parse_diff(f"--- /dev/null\n+++ b/new\n@@ -0,0 +1,3 @@\n{added}")
    assert [(file.path, file.after) for file in change.files] == [("new", body.encode())]


# --- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("diff", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("Here is the diff:\n" + SIDES + EDIT, "stands where a file or its line “--- a/PATH” belongs"),
        ("```diff\n" + SIDES + EDIT + "```\n", "stands where a file or its line “--- a/PATH” belongs"),
        (SIDES + EDIT + "Done.\n", "stands where a file or its line “--- a/PATH” belongs"),
        (SIDES + EDIT + "\n" + GIT, "stands where a file or its line “--- a/PATH” belongs"),
        (SIDES + EDIT + "-- \n2.39.5\n", "the hunk has other lines than its header counts"),
        ((SIDES + EDIT)[:-1], "last line of the diff is not ended"),
        (SIDES, "where a hunk"),
        (GIT, "stands where a file or its line “--- a/PATH” belongs"),
        (GIT + SIDES.replace("--- a/x", "--- a/z") + EDIT, "do not go together, or name two paths"),
        ("--- a/x\n+++ b/z\n" + EDIT, "do not go together, or name two paths"),
        ("--- x\n+++ x\n" + EDIT, "do not go together, or name two paths"),
        ("--- b/x\n+++ a/x\n" + EDIT, "do not go together, or name two paths"),
        ("--- /dev/null\n+++ /dev/null\n" + EDIT, "is not one of “--- a/PATH” and “+++ b/PATH”"),
        ("--- a/x\t2024-01-01\n+++ b/x\n" + EDIT, "with nothing behind the path"),
        ("--- a/n w\t\n+++ b/n w\t\n" + EDIT, "a path with a space"),
        ("--- a/empty\n+++ b/empty\n@@ -0,0 +1 @@\n+a\n", "needs a line on either side"),
        ("diff --git a/x b/y\n" + SIDES + EDIT, "does not name one path as “a/PATH b/PATH”"),
        ('diff --git "a/x" b/x\n' + SIDES + EDIT, "does not name one path as “a/PATH b/PATH”"),
        ('diff --git "a/\\x" "b/\\x"\n', "quotation marks"),
        ('diff --git "a/\\777" "b/\\777"\n', "quotation marks"),
        ('diff --git "a/"x" "b/"x"\n', "quotation marks"),
        (GIT + "old mode 100644\nnew mode 100755\n", "changes the mode of a file"),
        (GIT + "old mode 100644\nnew mode 100755\n" + SIDES + EDIT, "changes the mode of a file"),
        (GIT + "similarity index 90%\nrename from x\nrename to z\n", "of a rename or a copy"),
        (
            "diff --git a/x b/z\nsimilarity index 100%\nrename from x\nrename to z\n",
            "does not name one path as “a/PATH b/PATH”",
        ),
        (GIT + "rename from x\nrename to x\n", "of a rename or a copy"),
        (GIT + "copy from x\ncopy to x\n", "of a rename or a copy"),
        (GIT + "dissimilarity index 90%\n" + SIDES + EDIT, "of a rename or a copy"),
        (GIT + "index 123abcd..456abcd 100644\nGIT binary patch\nliteral 1\nIcmZP\n", "binary file"),
        (GIT + "Binary files a/x and b/x differ\n", "binary file"),
        ("diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n", "combined diff"),
        ("diff --combined x\n", "combined diff"),
        (SIDES + "@@@ -1 -1 +1 @@@\n", "is not the header of a hunk"),
        (GIT + "new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n", "a symlink"),
        (GIT + "new file mode 160000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+Subproject commit 1\n", "a submodule"),
        (GIT + "deleted file mode 120000\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "a symlink"),
        (GIT + "index 123abcd..456abcd 120000\n" + SIDES + EDIT, "a symlink"),
        (GIT + "index 123abcd..456abcd 160000\n" + SIDES + EDIT, "a submodule"),
        (GIT + "new file mode 104755\n", "not the mode of a regular file"),
        (GIT + "new file mode 100664\n", "not the mode of a regular file"),
        (GIT + "new file mode 644\n", "is not complete"),
        (GIT + "index 12..\n" + SIDES + EDIT, "is not complete"),
        (GIT + "new file mode 100644\nnew file mode 100755\n", "contradicts"),
        (GIT + "new file mode 100644\ndeleted file mode 100644\n", "contradicts"),
        (
            "diff --git a/n b/n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n",
            "“--- /dev/null” needs a line “new file mode 100644”",
        ),
        (GIT + "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "“+++ /dev/null” a line “deleted file mode 100644”"),
        (
            TWICE + "@@ -1 +1 @@\n-a\n+A\n b\n",
            "does not fit in one place only, and not where its header says",
        ),
        (TWICE + "@@ -2,2 +2,2 @@\n-a\n+A\n b\n", "does not fit in one place only, and not where its header says"),
        (TWICE + "@@ -1,2 +2,2 @@\n-a\n+A\n b\n", "does not fit in one place only, and not where its header says"),
        (SIDES + "@@ -1 +1,2 @@\n-0\n+one\n 2\n", "its old lines are not in the file"),
        (SIDES + "@@ -01,2 +1,2 @@\n-1\n+one\n 2\n", "is not the header of a hunk"),
        (SIDES + "@@ -1,2 +1,2\n-1\n+one\n 2\n", "is not the header of a hunk"),
        (SIDES + "@@ -1,2 +1,9999999999 @@\n-1\n+one\n 2\n", "is not the header of a hunk"),
        (SIDES + "@@ -1,2 +1,2 @@\n 1\n 2\n", "changes nothing"),
        (SIDES + "@@ -1,2 +1,2 @@\n-1\n+1\n 2\n", "hunks change nothing"),
        ((SIDES + EDIT).replace("\n", "\r\n"), "ends with CRLF"),
        (SIDES + "@@ -1 +1 @@\n-1\n\\ no newline\n+one\n", "the hunk has other lines than its header counts"),
        (SIDES + "@@ -4,2 +4,3 @@\n 4\n 5\n+6\n\\ No newline at end of file\n+7\n", "without a line feed"),
        (SIDES + "@@ -4,2 +4,4 @@\n 4\n 5\n+6\n\\ No newline at end of file\n+7\n", "without a line feed"),
        (SIDES + "@@ -1,2 +1,3 @@\n 1\n+one\n\\ No newline at end of file\n 2\n", "without a line feed"),
        (SIDES + "@@ -5 +5 @@\n-5\n\\ No newline at end of file\n+five\n", "its old lines are not in the file"),
        ("--- a/end\n+++ b/end\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n", "its old lines are not in the file"),
        ("--- a/d/y\n+++ b/d/y\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "its old lines are not in the file"),
        (SIDES + "@@ -1,2 +1,2 @@\n-wrong\n+one\n 2\n", "its old lines are not in the file"),
        (SIDES + "@@ -1,2 +1,2 @@\n-1\n+one\n wrong\n", "its old lines are not in the file"),
        (SIDES + "@@ -5,2 +5,2 @@\n-5\n+five\n 6\n", "its old lines are not in the file"),
        (SIDES + "@@ -2 +2 @@\n-2\n+two\n", "ends without context"),
        ("diff --git a/one b/one\n--- a/one\n+++ b/one\n@@ -1,0 +2 @@\n+new\n", "ends without context"),
        (GIT + SIDES + "@@ -1,0 +2 @@\n+new\n", "ends without context"),
        (SIDES + "@@ -3,2 +3,2 @@\n-3\n+three\n 4\n" + EDIT, "begins before the one above it ends"),
        (SIDES + EDIT + "@@ -2,2 +2,2 @@\n-2\n+two\n 3\n", "begins before the one above it ends"),
        (SIDES + EDIT + SIDES + "@@ -4,2 +4,2 @@\n-4\n+four\n 5\n", "in the diff twice"),
        ("--- a/gone\n+++ b/gone\n" + EDIT, "does not exist"),
        ("--- a/d\n+++ b/d\n" + EDIT, "does not exist"),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", "but it exists"),
        ("--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n", "A new file has old lines"),
        ("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n@@ -0,0 +2 @@\n+b\n", "more than one hunk"),
        ("--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n-1\n 2\n", "A deleted file has new lines"),
        ("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n", "ends without context"),
        (GIT + "deleted file mode 100644\n", "deleted without its lines"),
        (SIDES + "@@ -1,2 +1,2 @@\n-1\n+\0\n 2\n", "NUL"),
    ],
)
def test_refused(diff: str, said: str) -> None:
    assert said in refusal(diff)


def test_a_refusal_does_not_quote_the_file() -> None:
    """Some files are not for every reader; a wrong guess must not bring their lines."""
    with pytest.raises(PatchRefused) as refused:
        parse(hunk("x", "@@ -1 +1 @@\n-guess\n+b\n"), tree({"x": b"the secret\n"}))
    assert "secret" not in str(refused.value)


def test_everything_wrong_with_the_files_is_said_at_once() -> None:
    with pytest.raises(PatchRefused) as refused:
        parse_diff(new_file("../out") + new_file("fine") + new_file("x") + hunk("gone", EDIT))
    assert [each.file for each in refused.value.violations] == ["../out", "x", "gone"]


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_a_link_or_submodule_is_not_read_through(mode: str) -> None:
    with pytest.raises(PatchRefused) as refused:
        parse((SIDES + EDIT).encode(), tree({}, {"x": mode}))
    assert [each.constraint for each in refused.value.violations] == ["mode"]


def test_a_diff_may_be_so_long_only() -> None:
    with pytest.raises(PatchRefused, match="2 files, and 1 are allowed"):
        parse(new_file("a") + new_file("b"), tree({}), PatchLimits(files=1))
    with pytest.raises(PatchRefused, match="30 are allowed"):
        parse(b"x" * 31, tree({}), PatchLimits(patch_bytes=30))


def test_a_change_is_kept_and_read_again() -> None:
    change = parse_diff(SIDES + EDIT + "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+\u00e9\n")
    assert ChangeSet.model_validate_json(change.model_dump_json()) == change
    raw = ChangeSet(files=(change.files[0].model_copy(update={"after": b"\xff\0"}),))
    assert ChangeSet.model_validate_json(raw.model_dump_json()) == raw


def test_hunks_with_wrong_headers_are_looked_for_within_a_bound() -> None:
    lines = [b"%d\n" % number for number in range(20_000)]
    hunks = b"".join(b"@@ -1,9 +1,9 @@\n-%d\n+x\n %d\n" % (number, number + 1) for number in range(0, 20_000, 2))
    with pytest.raises(PatchRefused, match="each must fit there, or in one place only"):
        parse(b"--- a/x\n+++ b/x\n" + hunks, tree({"x": b"".join(lines)}))
