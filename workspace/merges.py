"""Merges as git does, and tells what nobody wrote anew: a merge by git, a head that changes the same as another one."""

from datetime import datetime

from domain.errors import CodeAccessError
from domain.github.commits import Signature
from workspace import commits
from workspace.diff import Entry, parse_raw
from workspace.git import GitOutput
from workspace.mirror import Mirror


async def is_clean_merge(mirror: Mirror, sha: str, parents: tuple[str, ...]) -> bool:
    """Whether a commit is a merge of two commits that git makes without conflicts; see :func:`is_merge_of`."""
    return len(parents) == 2 and await is_merge_of(mirror, sha, *parents)


async def is_merge_of(mirror: Mirror, sha: str, onto: str, head: str) -> bool:
    """Whether a commit has the files that git makes of two others without conflicts, however it was made.

    Renames are not looked for, as that would take the contents of all files; where it takes them, the merge counts as
    made by hand.

    :param sha: a commit that the mirror has, as it has the others.
    :raises CodeAccessError: the contents that both sides changed could not be fetched.
    """
    await _fetch_what_both_changed(mirror, onto, head)
    try:
        merged = await _merge(mirror, onto, head)
    except CodeAccessError:  # unrelated, or with contents that are too large to fetch
        return False
    return merged.code == 0 and merged.stdout.decode().split()[:1] == [await mirror.tree_of(sha)]


async def merge_onto(mirror: Mirror, head: str, made: str) -> str | None:
    """The tree of a merge of a commit into a head that moved on; None where both changed the same lines.

    :raises CodeAccessError: the contents that both sides changed could not be fetched.
    """
    await _fetch_what_both_changed(mirror, head, made)
    merged = await _merge(mirror, head, made)
    return merged.stdout.split()[0].decode() if merged.code == 0 else None


async def commit_merge(
    mirror: Mirror, tree: str, parents: tuple[str, str], message: str, author: Signature, at: datetime
) -> str:
    """The SHA of a merge of two commits to a tree, with all contents there that differ from either of them.

    :raises CodeAccessError: such contents could not be fetched.
    """
    for parent in parents:
        await fetch_changed(mirror, parent, tree)
    first, second = parents
    return await commits.commit_tree(mirror.git, first, tree, message, author, at, merged=second)


async def fetch_changed(mirror: Mirror, old: str, new: str) -> None:
    """Fetch the contents of all files that differ between two commits or trees, as far as they are not too large.

    :raises CodeAccessError: the remote was not reached or denies access.
    """
    changed = {blob for entry in await _list_changed(mirror, old, new) for blob in entry.blobs}
    if changed:
        await mirror.available(changed)


async def has_same_change(mirror: Mirror, base: str, one: str, other: str) -> bool:
    """Whether two heads change the same files of their base in the same way, byte for byte.

    Where the base changed these files between, they do not; nor where a head has several bases.

    :param base: the newest commit of the base branch; the mirror has it and both heads.
    """
    changes = list[list[Entry]]()
    for head in (one, other):
        bases = await mirror.git.run("merge-base", "--all", "--end-of-options", base, head, expect=(0, 1))
        if len(shas := bases.stdout.decode().split()) != 1:
            return False
        changes.append(await _list_changed(mirror, shas[0], head))
    return changes[0] == changes[1]


async def list_own_commits(mirror: Mirror, base: str, head: str, most: int) -> dict[str, tuple[str, ...]] | None:
    """The commits of a head that its base does not have, with their parents; None if they are too many."""
    options = ("--parents", f"--max-count={most + 1}")
    listed = await mirror.git.run("rev-list", *options, "--end-of-options", head, f"^{base}")
    found = [line.split() for line in listed.stdout.decode().splitlines()]
    return None if len(found) > most else {sha: tuple(parents) for sha, *parents in found}


async def _merge(mirror: Mirror, one: str, other: str) -> GitOutput:
    return await mirror.git.run(
        "merge-tree", "--write-tree", "--no-messages", one, other, expect=(0, 1), settings={"merge.renames": "false"}
    )


async def _fetch_what_both_changed(mirror: Mirror, one: str, other: str) -> None:
    bases = await mirror.git.run("merge-base", "--all", "--end-of-options", one, other, expect=(0, 1))
    wanted = set[str]()
    for base in bases.stdout.decode().split():
        changed = [{entry.path: entry for entry in await _list_changed(mirror, base, side)} for side in (one, other)]
        for path in changed[0].keys() & changed[1].keys():
            both = (changed[0][path], changed[1][path])
            wanted |= {blob for entry in both for blob in entry.blobs}
    if wanted:
        await mirror.available(wanted)


async def _list_changed(mirror: Mirror, base: str, side: str) -> list[Entry]:
    options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames")
    return parse_raw((await mirror.git.run("diff-tree", *options, "--end-of-options", base, side)).stdout)
