"""A merge counts as nobody's only if git makes just that tree of its parents."""

import pytest

from tests.unit.workspace.remotes import Author, Files
from workspace.conflicts import is_clean_merge
from workspace.mirror import Mirror

LINES = "".join(f"{number}\n" for number in range(20))
OURS, THEIRS = LINES.replace("2\n", "two\n", 1), LINES.replace("17\n", "seventeen\n")


def _branch(author: Author, name: str, base: str, files: Files) -> str:
    author.git("checkout", "-q", "-B", name, base)
    return author.commit(files, f"refs/heads/{name}")


def _merge(author: Author, *parents: str, result: Files) -> str:
    """A merge whose tree is that of the first parent with these files."""
    author.git("checkout", "-q", "--detach", parents[0])
    author.write(result)
    author.git("add", "-A", ".")
    tree = author.git("write-tree")
    sha = author.git("commit-tree", tree, "-m", "Merge", *(word for each in parents for word in ("-p", each)))
    author.git("reset", "-q", "--hard", sha)
    return author.publish("refs/heads/merged")


async def _is_clean(mirror: Mirror, merge: str, *parents: str) -> bool:
    await mirror.fetch(merge, parents[-1], 7)
    return await is_clean_merge(mirror, merge, parents)


@pytest.mark.parametrize(
    ("theirs", "result", "is_clean"),
    [
        ({"b": "b\n"}, {"b": "b\n"}, True),
        ({"a": THEIRS}, {"a": OURS.replace("17\n", "seventeen\n")}, True),  # both changed the file, not the same lines
        ({"a": LINES.replace("2\n", "deux\n", 1)}, {"a": LINES.replace("2\n", "two, deux\n", 1)}, False),  # by hand
        ({"b": "b\n"}, {"b": "b\n", "evil": "evil\n"}, False),
        ({"b": "b\n"}, {"b": "changed on the way\n"}, False),
        ({"b": "b\n"}, {}, False),  # takes nothing of theirs
    ],
    ids=["apart", "in one file", "resolved", "evil file", "evil line", "ours"],
)
async def test_only_what_git_makes_is_nobodys(
    mirror: Mirror, author: Author, theirs: Files, result: Files, is_clean: bool
) -> None:
    base = author.commit({"a": LINES})
    one, other = _branch(author, "one", base, {"a": OURS}), _branch(author, "other", base, theirs)
    merge = _merge(author, one, other, result=result)
    assert await _is_clean(mirror, merge, one, other) is is_clean


async def test_a_merge_of_three_or_of_strangers_is_somebodys(mirror: Mirror, author: Author) -> None:
    base = author.commit({"a": LINES})
    one, other, third = (_branch(author, name, base, {name: f"{name}\n"}) for name in ("one", "other", "third"))
    octopus = _merge(author, one, other, third, result={"other": "other\n", "third": "third\n"})
    assert not await _is_clean(mirror, octopus, one, other, third)
    author.git("checkout", "-q", "--orphan", "stranger")
    stranger = author.commit({"stranger": "s\n"}, "refs/heads/stranger")
    unrelated = _merge(author, one, stranger, result={"stranger": "s\n"})
    assert not await _is_clean(mirror, unrelated, one, stranger)
