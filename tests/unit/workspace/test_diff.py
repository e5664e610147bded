"""What git prints becomes values, for every kind of file and every kind of name."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.review.changes import ChangeStatus, FileChange
from tests.unit.workspace.changes import between, compare, reasons
from tests.unit.workspace.remotes import Author
from workspace.diff import DiffLimits, Entry, is_built, is_vendored, parse_raw, to_printable
from workspace.file_selection import CLAIMS_GENERATED, Attributes, choose, skip_by_content
from workspace.git import Git, GitOutput
from workspace.objects import Objects

TEXT = "".join(f"line {i}\n" for i in range(1, 31))


async def test_a_modified_file_has_hunks_with_three_lines_of_context(author: Author):
    change = await compare(author, {"a": TEXT}, {"a": TEXT.replace("line 10\n", "new 10\nnew 11\n")})

    (file,) = change.files
    (hunk,) = file.hunks
    assert (hunk.old_start, hunk.old_length, hunk.new_start, hunk.new_length) == (7, 7, 7, 8)
    assert file.added_lines == {10: "new 10", 11: "new 11"}
    assert (file.additions, file.deletions, change.additions, change.deletions) == (2, 1, 2, 1)
    assert file.head_line(10) is None
    assert file.head_line(30) == 31


async def test_a_rename_with_edits_keeps_its_old_path(author: Author):
    change = await compare(author, {"old.py": TEXT}, {"old.py": None, "new.py": TEXT.replace("line 5", "LINE 5")})

    (file,) = change.files
    assert (file.path, file.old_path, file.status) == ("new.py", "old.py", ChangeStatus.renamed)
    assert (file.additions, file.deletions) == (1, 1)
    assert change.total_files == 1


async def test_a_rename_without_edits_has_no_hunks(author: Author):
    change = await compare(author, {"old.py": TEXT}, {"old.py": None, "new.py": TEXT})

    (file,) = change.files
    assert (file.old_path, file.status, file.hunks) == ("old.py", ChangeStatus.renamed, ())


@pytest.mark.parametrize(("alike", "status"), [(60, ChangeStatus.renamed), (40, ChangeStatus.added)])
async def test_half_alike_is_the_least_for_a_rename(author: Author, alike: int, status: ChangeStatus):
    lines = [f"line {i:02}\n" for i in range(100)]
    after = lines[:alike] + [f"more {i:02}\n" for i in range(100 - alike)]
    change = await compare(author, {"old.py": "".join(lines)}, {"old.py": None, "new.py": "".join(after)})
    assert change.files[0].status is status


async def test_a_deleted_and_an_unlike_added_file_are_no_rename(author: Author):
    other = "".join(f"other {i}\n" for i in range(30))
    change = await compare(author, {"old.py": TEXT}, {"old.py": None, "new.py": other})

    assert [(file.path, file.status) for file in change.files] == [
        ("new.py", ChangeStatus.added),
        ("old.py", ChangeStatus.deleted),
    ]


async def test_added_and_deleted_files_are_all_new_or_all_old(author: Author):
    change = await compare(author, {"gone": "a\nb\n"}, {"gone": None, "fresh": "1\n2\n3\n"})

    fresh, gone = change.files
    assert (fresh.status, fresh.old_blob, fresh.additions) == (ChangeStatus.added, None, 3)
    assert (gone.status, gone.new_blob, gone.deletions) == (ChangeStatus.deleted, None, 2)


async def test_an_empty_file_is_a_change_without_hunks(author: Author):
    change = await compare(author, {"a": "1\n"}, {"empty": ""})
    (file,) = change.files
    assert (file.path, file.hunks) == ("empty", ())


async def test_a_mode_change_is_named_as_such(author: Author):
    base = author.commit({"run.sh": "echo\n"})
    (author.tree / "run.sh").chmod(0o755)
    change = await between(author, base, author.commit())

    (file,) = change.files
    assert (file.status, file.old_mode, file.new_mode) == (ChangeStatus.mode_changed, "100644", "100755")


async def test_a_link_that_became_a_file_is_all_new(author: Author):
    (author.tree / "x").symlink_to("/etc/passwd")
    base = author.commit()
    (author.tree / "x").unlink()
    change = await between(author, base, author.commit({"x": "1\n"}))

    (file,) = change.files
    assert (file.old_blob, file.added_lines) == (None, {1: "1"})


async def test_binary_files_are_named_by_suffix_or_content(author: Author):
    change = await compare(author, {"a": "1\n"}, {"logo.png": "x", "blob": b"\x7fELF\0\0", "text": "ok\n"})

    assert reasons(change) == {"blob": "binary", "logo.png": "binary"}
    assert [file.path for file in change.files] == ["text"]


async def test_names_that_look_like_pathspecs_are_paired_as_renames(author: Author):
    after = {":(exclude)**": None, ":!*": TEXT.replace("line 5", "LINE 5")}
    (file,) = (await compare(author, {":(exclude)**": TEXT, "k": "1\n"}, after)).files
    assert (file.path, file.old_path) == (":!*", ":(exclude)**")


async def test_carriage_returns_stay_part_of_their_line(author: Author):
    change = await compare(author, {"a": "one\r\ntwo\r\n"}, {"a": "one\r\nTWO\r\n"})
    assert change.files[0].added_lines == {2: "TWO\r"}


@pytest.mark.parametrize(("before", "after"), [("a\nb", "a\nb\n"), ("a\nb\n", "a\nb"), ("a\nb", "a\nc")])
async def test_a_missing_final_newline_is_no_line(author: Author, before: str, after: str):
    change = await compare(author, {"a": before}, {"a": after})
    (file,) = change.files
    assert (file.additions, file.deletions) == (1, 1)
    assert list(file.added_lines) == [2]


async def test_lines_that_look_like_a_diff_are_lines(author: Author):
    evil = "diff --git a/0 b/0\n@@ -1,1 +1,1 @@\n--- a/0\n+++ b/0\n\\ No newline\nBinary files differ\n"
    change = await compare(author, {"a": "1\n2\n", "b": "1\n"}, {"a": evil, "b": "2\n"})

    a, b = change.files
    assert list(a.added_lines.values()) == evil.splitlines()
    assert b.added_lines == {1: "2"}


async def test_a_file_of_three_thousand_lines_is_looked_into(author: Author):
    change = await compare(author, {"a": "1\n"}, {"big.py": "".join(f"x{i} = {i}\n" for i in range(3000))})
    assert len(change.files[0].added_lines) == 3000


async def test_three_hundred_and_five_files_are_three_hundred_and_a_note(author: Author):
    change = await compare(
        author,
        {"a": "1\n"},
        {f"f{i:03}": "x\n" for i in range(305)} | {f"aa/node_modules/{i}": "x\n" for i in range(50)},
    )

    assert len(change.files) == 300
    assert change.total_files == 355
    assert [item.path for item in change.not_looked_at if item.matters] == [f"f{i}" for i in range(300, 305)]
    assert ("30 more files", "vendored") in reasons(change).items()


async def test_source_comes_first_and_tests_last(author: Author):
    after = {f"aa/test_{n}.py": "x\n" for n in range(3)} | {f"docs/{n}.md": "x\n" for n in range(3)}
    after |= {f"z/{n}.py": "x\n" for n in range(3)}

    change = await compare(author, {"a": "1\n"}, after, DiffLimits(files=5))
    assert [file.path for file in change.files] == ["docs/0.md", "docs/1.md", "z/0.py", "z/1.py", "z/2.py"]
    assert [item.path for item in change.not_looked_at] == [
        "docs/2.md", "aa/test_0.py", "aa/test_1.py", "aa/test_2.py"
    ]  # fmt: skip
    assert all(item.matters for item in change.not_looked_at)


async def test_what_was_not_looked_at_is_named_by_kind_whatever_the_reason(author: Author):
    after = {
        "a_test.py": "x\n" * 60,
        "b.md": "x\n" * 60,
        "z1.py": "x" * 20_000,
        "z2.py": "x\n" * 60,
        "z3.py": "x\n" * 60,
    }
    change = await compare(author, {"a": "1\n"}, after, DiffLimits(file_lines=50, content_bytes=10_000, named=1))
    assert [item.path for item in change.not_looked_at] == ["z2.py", "1 more file", "z1.py", "b.md", "a_test.py"]


@pytest.mark.parametrize(
    "limits", [DiffLimits(files=2), DiffLimits(lines=5), DiffLimits(all_content_bytes=12), DiffLimits(name_bytes=3)]
)
async def test_a_deletion_pushes_nothing_out_and_is_nothing_to_look_at(author: Author, limits: DiffLimits):
    before = {f"a{n}.py": f"{n}\n" * 3 for n in range(4)}
    change = await compare(author, before, {**dict.fromkeys(before), "y.c": "1\n", "z.c": "2\n"}, limits)

    assert {"y.c", "z.c"} <= {file.path for file in change.files}
    assert change.not_looked_at
    assert not any(item.matters for item in change.not_looked_at)
    assert [each.path for each in change.touched if each.is_gone] == list(before)


async def test_what_is_touched_is_known_beyond_the_limits(author: Author):
    same = "".join(f"{n}\n" for n in range(20))
    before = {"a.py": same, "b.py": same + "x\n", "c.py": "1\n", "logo.png": "1\n"}
    after = {"a.py": None, "new/a.py": same, "b.py": None, "c.py": "1\n2\n", "logo.png": "2\n"}
    change = await compare(author, before, after, DiffLimits(files=1))
    assert {each.path: (each.old_path, each.is_gone, each.lines) for each in change.touched} == {
        "b.py": (None, True, None),
        "c.py": (None, False, 1),
        "logo.png": (None, False, None),
        "new/a.py": ("a.py", False, 0),
    }


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("tests/test_a.py", True),
        ("src/deep/er/a_test.go", True),
        ("app/a.py", False),
        ("spec/openapi.yaml", False),
        ("vendor/theirs/x_test.go", False),
        ("vendor/ours/test_a.py", True),
    ],
)
async def test_whether_a_project_has_tests(author: Author, path: str, is_one: bool):
    base = author.commit({"README.md": "x\n", "vendor/theirs/LICENSE": "MIT\n", path: "x\n"})
    assert await Objects(Git(author.tree / ".git")).has_tests(base) is is_one


async def test_files_of_a_commit_by_glob(author: Author):
    base = author.commit({"eslint.config.js": "a\n", "tools/x/b.js": "b\n", "src/c.js": "c\n"})
    author.commit({"eslint.config.js": "changed\n"})
    objects = Objects(Git(author.tree / ".git"))
    assert await objects.read_matching(base, ("eslint.config.js", "tools/**"), 9) == {
        "eslint.config.js": b"a\n",
        "tools/x/b.js": b"b\n",
    }
    assert list(await objects.read_matching(base, ("**",), 2)) == ["eslint.config.js", "src/c.js"]
    assert await objects.read_matching(base, (), 9) == {}


async def test_no_file_is_read_where_none_is_asked_for(author: Author):
    base = author.commit({"a.py": "x\n"})
    assert await Objects(Git(author.tree / ".git")).read(base, ()) == {}


async def test_a_project_too_large_to_list_is_taken_for_one_with_tests(author: Author):
    class Small(Git):
        async def run(self, *arguments: str | bytes, **given: Any) -> GitOutput:
            given["most"] = 10
            return await super().run(*arguments, **given)

    base = author.commit({f"a{n}.py": "x\n" for n in range(20)})
    assert await Objects(Small(author.tree / ".git")).has_tests(base)


async def test_an_oversize_file_does_not_push_out_the_small_ones(author: Author):
    limits = DiffLimits(file_lines=50, lines=100, content_bytes=10_000)
    change = await compare(
        author,
        {"z": "1\n"},
        {"a_long": "x\n" * 60, "b": "x\n" * 40, "c": "x\n" * 45, "d_too_much": "x\n" * 30, "e_fits": "x\n",
         "f_large": "x" * 20_000},
        limits,
    )  # fmt: skip

    assert [file.path for file in change.files] == ["b", "c", "e_fits"]
    assert reasons(change) == {
        "a_long": "its diff is larger than 50 lines or 500,000 bytes",
        "d_too_much": "the whole diff is larger than 100 lines or 1,000,000 bytes",
        "f_large": "larger than 10,000 bytes",
    }
    assert all(item.matters for item in change.not_looked_at)


async def test_all_contents_together_are_limited(author: Author):
    change = await compare(
        author, {"z": "1\n"}, {"a": "x" * 600, "b": "x" * 600 + "\n", "c": "x"}, DiffLimits(all_content_bytes=1000)
    )
    assert [file.path for file in change.files] == ["a", "c"]
    assert list(reasons(change)) == ["b"]


# --- generated and vendored --------------------------------------------------------------------------------


async def test_attributes_are_those_of_the_merge_base(author: Author):
    change = await compare(
        author,
        {
            ".gitattributes": "*.gen linguist-generated\nvendor/ours/** -linguist-vendored\n*.dat binary\n",
            "Gemfile": "",
        },
        {
            ".gitattributes": "*.py linguist-generated\n",
            "a.gen": "x\n",
            "code.py": "x\n",
            "t.dat": "x\n",
            "vendor/ours/b.js": "x\n",
            "vendor/theirs/b.js": "x\n",
        },
    )

    assert [file.path for file in change.files] == [".gitattributes", "code.py", "vendor/ours/b.js"]
    assert reasons(change) == {
        "a.gen": "generated (.gitattributes)",
        "t.dat": "marked as binary in .gitattributes",
        "vendor/theirs/b.js": "vendored",
    }
    assert not any(item.matters for item in change.not_looked_at)


async def test_deeper_attributes_win(author: Author):
    change = await compare(
        author,
        {".gitattributes": "*.js linguist-generated\n", "src/.gitattributes": "*.js -linguist-generated\n"},
        {"a.js": "x\n", "src/a.js": "x\n", "src/deep/b.min.js": "x\n"},
    )
    assert [file.path for file in change.files] == ["src/a.js", "src/deep/b.min.js"]


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.js", "a/b/c.js", True),
        ("*.js", "a/b/c.jsx", False),
        ("/a.js", "a.js", True),
        ("/a.js", "x/a.js", False),
        ("gen/*.js", "gen/a.js", True),
        ("gen/*.js", "x/gen/a.js", False),
        ("gen/*.js", "gen/x/a.js", False),
        ("gen/**", "gen/x/y/a.js", True),
        ("gen/**", "gen", False),
        ("**/gen/*", "x/y/gen/a", True),
        ("**/gen/*", "gen/a", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**/z", "a/b/c/zz", False),
        ("[ab].c", "x/b.c", True),
        ("[!ab].c", "x/b.c", False),
        ("?.c", "x.c", True),
        ("gen/", "gen/a", False),
        ("gen", "gen/a", False),
    ],
)
def test_attribute_patterns_match_as_in_git(author: Author, pattern: str, path: str, matches: bool):
    mine = Attributes({"": f"{pattern} linguist-generated\n".encode()}).of(path, "linguist-generated") is True
    author.write({".gitattributes": f"{pattern} linguist-generated\n"})
    gits = author.git("check-attr", "linguist-generated", "--", path).endswith(": set")
    assert (mine, gits) == (matches, matches)


def test_a_pattern_made_to_be_slow_is_not():
    slow = Attributes(
        {"": b"a*a*a*a*a*a*a*a*a*a*a*a*a*b linguist-generated\n" + b"**/a/" * 15 + b"b linguist-generated\n"}
    )
    assert slow.of("a/" * 200 + "a" * 250, "linguist-generated") is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("package-lock.json", "lock file"),
        ("sub/Cargo.lock", "lock file"),
        ("dist/app.min.js", "minified"),
        ("node_modules/x/index.js", "vendored"),
        ("src/third_party/x.c", None),
        ("locks.py", None),
        ("vendor", None),
        ("src/vendor.py", None),
        ("vendors/admin/views.py", None),
        ("app/vendors/cache/views.py", None),
        ("src/admin.js", None),
        ("package.json", None),
    ],
)
def test_generated_and_vendored_files_are_known_by_name(path: str, reason: str | None):
    entry = Entry(path.encode(), path.encode(), "M", "100644", "100644", "1" * 40, "2" * 40)
    _, skipped = choose([entry], Attributes(), DiffLimits())
    assert [item.reason for item in skipped] == ([reason] if reason else [])


GENERATED = b"// Code generated by protoc-gen-go. DO NOT EDIT.\npackage x\n"


@pytest.mark.parametrize(
    ("base", "head", "skipped"),
    [
        (GENERATED, GENERATED + b"x\n", True),
        (None, GENERATED, True),
        (None, b"# @generated by a tool\n", True),
        (b"package x\n", GENERATED, False),  # a change cannot hide itself
        (None, b"x = 1\n" * 20 + GENERATED, False),
        (None, b"text = 'DO NOT EDIT'\n", False),
        (None, b"# mail me@generated.example\n", False),
        (None, b"# These ids are generated by Postgres.\n# DO NOT MODIFY the mapping below by hand.\n", False),
        (None, b"// Ids are generated with nanoid; do not edit by hand\n", False),
        (None, b"# Generated by Django 5.0 on 2024-01-01 10:00\n", False),
        (None, b"# Generated by the protocol buffer compiler.  DO NOT EDIT!\n", True),
        (None, b"# This file was generated by x.\n# Do not edit by hand.\n", True),
        (None, b"# -*- coding: utf-8 -*-\n# Generated by the protocol buffer compiler.  DO NOT EDIT!\n", True),
        (None, b"/**\n * @generated SignedSource<<8f14e45f>>\n */\n", True),
        (None, b"// <auto-generated />\n", True),
        (None, b"import os\n# DO NOT EDIT the order of MIDDLEWARE: sessions must come first.\n", False),
        (None, b"# DO NOT MODIFY: used by the importer\n", False),
        (None, b"# Files with the word @generated in them are left out.\n", False),
        (None, b"package a\n// Code generated by protoc-gen-go. DO NOT EDIT.\n", False),
    ],
)
def test_a_generated_file_says_so_in_every_version(base: bytes | None, head: bytes, skipped: bool):
    entry = Entry(b"x.go", b"x.go", "M", "100644", "100644", "1" * 40, "2" * 40)
    assert skip_by_content(entry, base, head, Attributes()) == (CLAIMS_GENERATED if skipped else None)


async def test_a_new_file_that_claims_to_be_generated_matters(author: Author):
    change = await compare(author, {"old.go": GENERATED}, {"new.go": GENERATED + b"1\n", "old.go": GENERATED + b"2\n"})
    assert {item.path: item.matters for item in change.not_looked_at} == {"new.go": True, "old.go": False}


PACKED = b"var e=t(1);function n(r){if(r.length>2)return e(r[0],r[1]);for(var o=0;o<r.length;o++)i(r[o])}" * 9
WRITTEN = b"".join(b"export const f%d = (x) => use(x, %d);\n" % (n, n) for n in range(9))


@pytest.mark.parametrize(
    ("content", "is_made"),
    [
        (PACKED, True),
        (b"/*! licence */\n" + PACKED + b"\n//# sourceMappingURL=a.js.map\n", True),
        (PACKED + b"`for (const ${name} of ${names}) {\n\t${}\n}`,{label:'for'}" + PACKED, True),
        (b"a{color:red;margin:0}b:not(.c){top:0;left:0}" * 20, True),
        (WRITTEN * 5, False),
        (WRITTEN * 5 + PACKED + b"\n", False),
        (WRITTEN + b"const picture = 'data:image/png;base64," + b"iVBORw0KGgo" * 300 + b"';\n", False),
        (WRITTEN + b"const name = /^(?:[a-z(]|[0-9(])+" + b"(?:[a-z(]|[0-9(])+" * 60 + b"$/;\n", False),
        (WRITTEN + b"const table = [" + b"1,22,333," * 200 + b"];\n", False),
        (b'{"a":[1,2],"b":"c"}' * 90, False),
        (b"const query = `SELECT a.id, COUNT(b.id) FROM a JOIN b ON (a.id = b.a); " * 9 + b"`;\n", False),
        (b"", False),
    ],
)
def test_what_a_build_made_shows_in_its_shape(content: bytes, is_made: bool):
    assert is_built(content) is is_made


async def test_what_was_written_before_a_build_packed_it_matters(author: Author):
    before = {"written.js": WRITTEN, "dist/old-1a2b.js": PACKED, "apart.js": PACKED}
    after = {"written.js": PACKED, "dist/new-3c4d.js": PACKED + PACKED, "apart.js": WRITTEN}
    change = await compare(author, before, after)
    matters = {item.path: item.matters for item in change.not_looked_at}
    assert matters == {"written.js": True, "dist/new-3c4d.js": False}
    assert [file.path for file in change.files] == ["apart.js"]
    assert {each.path for each in change.touched if each.may_run} == {"written.js", "dist/new-3c4d.js", "apart.js"}


async def test_a_script_is_known_by_its_first_line(author: Author):
    change = await compare(author, {}, {"dev": b"#!/usr/bin/env python3\nprint(1)\n", "case": b"print(1)\n"})
    assert [each.path for each in change.touched if each.is_script] == ["dev"]


def test_the_base_may_want_what_a_build_made_to_be_read():
    entry = Entry(b"a.js", b"a.js", "A", "000000", "100644", None, "2" * 40)
    assert skip_by_content(entry, None, PACKED, Attributes()) == "minified or bundled"
    assert skip_by_content(entry, None, PACKED, Attributes({"": b"*.js -linguist-generated\n"})) is None


# --- for all ------------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "", "+x", "-y", "\\z", "e\r", "ü"]), max_size=30)


def _join(lines: list[str], end: str) -> str:
    return "\n".join(lines) + end


CONTENT = st.builds(_join, LINES, st.sampled_from(["", "\n"]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=CONTENT, after=CONTENT)
async def test_hunks_and_line_numbers_agree_with_applying_the_diff(author: Author, before: str, after: str):
    change = await compare(author, {"a": before, "k": ""}, {"a": after})

    old, new = lines_of(before), lines_of(after)
    if not change.files:
        assert before == after
        return
    (file,) = change.files
    assert apply_hunks(file, old) == new
    for number, text in enumerate(old, start=1):
        if (at := file.head_line(number)) is not None:
            assert new[at - 1] == text
    for number, text in file.added_lines.items():
        assert new[number - 1] == text


def lines_of(content: str) -> list[str]:
    lines = content.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def apply_hunks(file: FileChange, old: list[str]) -> list[str]:
    """The lines at head, made from the lines at base and the hunks."""
    result: list[str] = []
    at = 0
    for hunk in file.hunks:
        start = hunk.old_start - (hunk.old_length > 0)
        result += old[at:start]
        assert len(result) + (hunk.new_length > 0) == hunk.new_start
        for line in hunk.lines:
            if line[0] != "+":
                assert old[start] == line[1:]
                start += 1
            if line[0] != "-":
                result.append(line[1:])
        at = start
    return result + old[at:]


@given(st.binary(max_size=50))
def test_printable_names_have_no_surprises(path: bytes):
    text = to_printable(path)
    assert all(char.isprintable() for char in text)
    text.encode()


def test_an_unknown_kind_of_change_is_refused():
    with pytest.raises(ValueError, match="unknown kind"):
        parse_raw(b":100644 100644 " + b"1" * 40 + b" " + b"2" * 40 + b" U\0a\0")


@pytest.mark.parametrize(
    ("path", "mark", "is_copied"),
    [
        ("node_modules/left/index.js", "", True),
        ("Node_Modules/left/index.js", "", False),
        ("tools/vendor/github.com/x/y.go", "", True),
        ("tools/vendor/log/y.rs", "tools/Cargo.toml", True),
        ("tools/vendor/log/y.rs", "Cargo.toml", False),
        ("vendor/orders.v2/views.py", "", False),
        ("vendor/symfony/console/Command.php", "vendor/autoload.php", True),
        ("vendor/imgui/imgui.cpp", "vendor/imgui/LICENSE.txt", True),
        ("vendor/orders/views.py", "pyproject.toml", False),
        ("vendor/views.py", "go.mod", False),
        ("marketplace/vendor/orders/views.py", "go.mod", False),
        ("src/vendors/models/a.py", "src/go.mod", False),
        ("ios/Pods/Alamofire/a.swift", "ios/Podfile", True),
        ("k8s/pods/web/handler.py", "k8s/Podfile", False),
        ("apps/pods/views.py", "LICENSE", False),
        ("lib/third-party/adapter.ts", "LICENSE", False),
        ("lib/third-party/stripe/adapter.ts", "LICENSE", False),
        ("src/third_party/zlib/inflate.c", "src/third_party/zlib/COPYING", True),
    ],
)
def test_a_copy_stands_where_copies_do(path: str, mark: str, is_copied: bool) -> None:
    assert is_vendored(path, {mark}) is is_copied


async def test_a_change_cannot_bring_what_makes_it_a_copy(author: Author):
    added = {"vendor/orders/LICENSE": "MIT\n", "vendor/orders/views.py": "x\n", "k8s/pods/handler.py": "x\n"}
    change = await compare(author, {"README.md": "# Shop\n"}, added)
    assert {file.path for file in change.files} == {*added}
