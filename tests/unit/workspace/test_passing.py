"""What a commit added and a later one took away is read, and nothing that either end of the pull request has."""

from tests.unit.workspace.remotes import Author
from workspace.mirror import Mirror
from workspace.transient_commits import list_transient

PULL = "refs/pull/7/head"


async def read(mirror: Mirror, base: str, head: str) -> tuple[list[tuple[str, list[str]]], bool]:
    """(path, added lines) of each file on the way, and whether that is all."""
    await mirror.fetch(head, base, 7)
    files, is_all = await list_transient(mirror, await mirror.merge_base(base, head), head)
    return [(file.path, [file.lines[line - 1] for line in file.added]) for file in files], is_all


async def test_what_came_and_went(author: Author, mirror: Mirror):
    base = author.commit({"a": "one\ntwo\n"})
    author.git("checkout", "-q", "-b", "topic", base)
    author.commit({"a": "one\nsecret\ntwo\n", "b": "gone\nstays\n"})
    author.commit({"a": "one\ntwo\n", "b": "other\nstays\n"})
    head = author.commit({"b": "stays\n"}, PULL)
    assert await read(mirror, base, head) == ([("a", ["secret"]), ("b", ["gone"]), ("b", ["other"])], True)


async def test_one_commit_has_nothing_on_the_way(author: Author, mirror: Mirror):
    base = author.commit({"a": "one\n"})
    author.git("checkout", "-q", "-b", "topic", base)
    head = author.commit({"a": "two\n", "b": "new\n"}, PULL)
    assert await read(mirror, base, head) == ([], True)


async def test_what_stood_on_the_base_branch_is_not_theirs(author: Author, mirror: Mirror):
    """It was there before the branch, moved on the branch, and went from the base before the branch took that in."""
    start = author.commit({"a": "old\nkeep\n", "c": "1\n"})
    author.git("checkout", "-q", "-b", "topic", start)
    author.commit({"a": "old\nkeep\nmine\n"})
    author.commit({"moved": "old\nkeep\nmine\n", "a": None})
    author.commit({"moved": None, "a": "old\nkeep\nmine\n"})
    author.git("checkout", "-q", "main")
    base = author.commit({"a": "keep\n"})
    author.git("checkout", "-q", "topic")
    author.git("merge", "-q", "-s", "ours", "--no-edit", "main")
    head = author.commit({"a": "keep\nmine\n"}, PULL)
    found, is_all = await read(mirror, base, head)
    assert is_all
    assert "old" not in [line for _, lines in found for line in lines]


async def test_odd_names_and_contents(author: Author, mirror: Mirror):
    base = author.commit({"a": "one\n"})
    author.git("checkout", "-q", "-b", "topic", base)
    author.commit({"commit " + "a" * 40: "x\n", ":100644 a": "y\n", "line\nbreak": "z\n", "nul": "a\0b\n"})
    head = author.commit(
        {"commit " + "a" * 40: None, ":100644 a": None, "line\nbreak": None, "nul": None, "b": "1\n"}, PULL
    )
    found, is_all = await read(mirror, base, head)
    assert (sorted(found), is_all) == (
        [(":100644 a", ["y"]), ("commit " + "a" * 40, ["x"]), ("line\\nbreak", ["z"])],
        True,
    )


async def test_too_large_is_said(author: Author, mirror: Mirror):
    base = author.commit({"a": "one\n"})
    author.git("checkout", "-q", "-b", "topic", base)
    author.commit({"large": "x" * 1_200_000, "small": "gone\n"})
    head = author.commit({"large": None, "small": None, "b": "1\n"}, PULL)
    assert await read(mirror, base, head) == ([("small", ["gone"])], False)
