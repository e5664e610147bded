"""Diffs of random edits become those edits; what is accepted is what git makes of it; damaged diffs are refused."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.runs.patches import Areas
from tests.unit.patches.building import Files, Git, apply_change, tree, with_difflib
from workspace.patches.patching import parse
from workspace.patches.refusals import PatchRefused, find_mistake
from workspace.patches.validation import judge

LINES = st.sampled_from(
    [
        b"",
        b"a",
        b"b",
        b" a",
        b"-- a/x",
        b"++ b/x",
        b"@@ -1 +1 @@",
        b"a\r",
        b"\r",
        b"\t",
        b"\xff\xfe",
        b"\\ No",
        b"caf\xc3\xa9",
        b"diff --git a/x b/x",
        b"a\x0bb\x0c\x1c\xc2\x85",
    ]
)


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """A file whose lines look like parts of diffs, with and without a line feed at its end."""
    text = b"\n".join(draw(st.lists(LINES, max_size=30)))
    return text + b"\n" if text and draw(st.booleans()) else text


@st.composite
def edits(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A file before and after some of its lines changed."""
    before = draw(contents())
    lines = before.split(b"\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines)))
        lines[at : at + draw(st.integers(0, 3))] = draw(st.lists(LINES, max_size=3))
    return before, b"\n".join(lines)


@given(edits())
def test_difflib_round_trip(edit: tuple[bytes, bytes]) -> None:
    before, after = edit
    diff = with_difflib("x", before, after)
    if bool(before) is not bool(after):
        diff = b"diff --git a/x b/x\n" + diff
    if before == after:
        with pytest.raises(PatchRefused):
            parse(diff, tree({"x": before}))
    else:
        assert apply_change({"x": before}, parse(diff, tree({"x": before}))) == {"x": after}


NAMES = ["a.py", "b c.txt", "d/é.md", "d/e/f.py", 'g"h', "i/j k/ü l"]


def content(random_: random.Random) -> bytes:
    lines = [
        random_.choice([b"", b"a", b"b", b"c\r", b"-- x", b"++ x", b"\xff", b"@@ -1 +1 @@", b"x" * 50])
        for _ in range(40)
    ]
    text = b"\n".join(lines[: random_.choice([0, 1, 3, 40])])
    return text + random_.choice([b"\n", b"\n", b""]) if text else text


def edit_file(random_: random.Random, before: bytes) -> bytes:
    lines = before.split(b"\n")
    for _ in range(random_.choice([1, 1, 2, 5])):
        at = random_.randrange(len(lines) + 1)
        lines[at : at + random_.randrange(3)] = [
            random_.choice([b"new", b"", b"a"]) for _ in range(random_.randrange(3))
        ]
    return b"\n".join(lines)


def versions(random_: random.Random) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """A few files before and after: edited, made, deleted."""
    before = {name: content(random_) for name in NAMES if random_.random() < 0.7}
    after = {name: edit_file(random_, text) if random_.random() < 0.6 else text for name, text in before.items()}
    after = {name: text for name, text in after.items() if random_.random() < 0.85}
    return before, after | {name: content(random_) for name in NAMES if name not in before and random_.random() < 0.5}


def test_git_round_trip(tmp_path: Path) -> None:
    """Everything that git writes of regular text files is accepted, and means the same."""
    git, random_ = Git(tmp_path), random.Random(1)
    for _ in range(60):
        before, after = versions(random_)
        diff = git.diff(before, after, "-U3")
        if diff:
            assert apply_change(before, parse(diff, tree(before))) == after


MUTATIONS = 4 * settings().max_examples


def test_what_is_accepted_git_applies_to_the_same(tmp_path: Path) -> None:
    """Diffs with more and less context, whole and damaged: nothing is accepted that git refuses or reads otherwise."""
    git, random_ = Git(tmp_path), random.Random(2)
    ours = theirs = 0
    while theirs < MUTATIONS // 4 or ours < MUTATIONS // 4:
        before, after = versions(random_)
        diff = git.diff(before, after, f"-U{random_.choice([0, 1, 3])}")
        base = git.tree(before)
        for damage in (_keep, *_DAMAGES):
            damaged = damage(random_, diff)
            by_us, by_git = _ours(before, damaged), git.apply(base, damaged)
            ours, theirs = ours + (by_us is not None), theirs + (by_git is not None)
            if by_us is not None and by_us != by_git:
                assert by_us == git.apply(base, damaged, "--recount"), damaged.decode("latin-1")
    assert ours <= theirs


def _ours(before: Files, diff: bytes) -> dict[str, bytes] | None:
    judged = judge(diff, tree(before), Areas(role="implementer", contracts={}))
    if judged.change is None:
        assert judged.violations
        return None
    assert [file.path for file in judged.change.files if find_mistake(file.path)] == []
    return apply_change(before, judged.change)


def _keep(_: random.Random, diff: bytes) -> bytes:
    return diff


def _without_header(_: random.Random, diff: bytes) -> bytes:
    """As ``diff -u`` writes it."""
    kept = (b"--- ", b"+++ ", b"@@", b" ", b"+", b"-", b"\\")
    return b"".join(line for line in diff.splitlines(keepends=True) if line.startswith(kept))


def _one_line(random_: random.Random, diff: bytes) -> bytes:
    """A line dropped, doubled, swapped with the next or marked otherwise."""
    lines = diff.split(b"\n")
    at = random_.randrange(len(lines))
    kind = random_.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[at])
    elif kind == 2:
        lines[at : at + 2] = reversed(lines[at : at + 2])
    else:
        lines[at] = random_.choice([b" ", b"+", b"-", b""]) + lines[at][1:]
    return b"\n".join(lines)


def _one_number(random_: random.Random, diff: bytes) -> bytes:
    places = [i for i, byte in enumerate(diff) if chr(byte).isdigit()]
    if not places:
        return diff
    at = random_.choice(places)
    return diff[:at] + random_.choice(b"0123456789").to_bytes() + diff[at + 1 :]


def _one_byte(random_: random.Random, diff: bytes) -> bytes:
    at = random_.randrange(len(diff) + 1)
    return (
        diff[:at]
        + random_.choice([b"", b"\n", b"\r", b" ", b"/", b".", b'"', b"\\"])
        + diff[at + random_.randrange(2) :]
    )


def _cut(random_: random.Random, diff: bytes) -> bytes:
    return diff[: random_.randrange(len(diff) + 1)]


_DAMAGES = (_without_header, _one_line, _one_number, _one_byte, _cut)


@given(
    st.binary(max_size=300) | st.lists(LINES, max_size=20).map(b"\n".join), st.lists(st.integers(0, 999), max_size=5)
)
def test_anything_is_taken_or_refused(noise: bytes, places: Sequence[int]) -> None:
    """Bytes without sense, alone and within a diff, raise nothing but the refusal."""
    before = {"x": b"a\nb\nc\nd\n"}
    diff = with_difflib("x", before["x"], b"a\nB\nc\nd\ne")
    for at in places:
        diff = diff[: at % len(diff)] + noise[:3] + diff[at % len(diff) :]
    for text in (noise, diff):
        _ours(before, text)
