"""Merges as git does: lists what conflicts, writes what it is resolved to, and tells what nobody wrote anew."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from itertools import zip_longest

from domain.errors import CodeAccessError
from domain.github.commits import Signature
from safety.conflicts import (
    MOST_CHARACTERS,
    MOST_HUNKS,
    BesideEdit,
    ConflictHunk,
    Merge,
    Outside,
    SideCommit,
    UnmergedFile,
    edit_beside,
    list_paths,
)
from workspace.commits import list_changes, list_entries, write_blob, write_tree
from workspace.diff import LINK, MODULE, REGULAR, Entry, looks_binary, to_printable
from workspace.git import MEGABYTE, GitOutput
from workspace.mirror import Mirror

_HUNK = re.compile(
    rb"^<{7} [^\n]*\n(.*?)^\|{7}(?: [^\n]*)?\n(.*?)^={7}\r?\n(.*?)^>{7} [^\n]*(?:\n|\Z)", re.MULTILINE | re.DOTALL
)
_MARK = re.compile(rb"^(<{7} |\|{7}( |\r?$)|>{7} )", re.MULTILINE)
_MIDDLE = re.compile(r"^={7}$", re.MULTILINE)
_AROUND = 15  # lines
_COMMITS = 8  # of a side that touched one file

_DELETED = {
    2: "the base deletes or moves it, and the branch changed it",
    3: "the branch deletes or moves it, and the base changed it",
}
_MOVED = "the sides moved it to different places"


@dataclass(frozen=True)
class _Stage:
    mode: str
    blob: str


async def merge(mirror: Mirror, branch: str, base: str) -> Merge:
    """What git makes of the branch with its base taken in; nothing is committed.

    :param branch, base: commits that the mirror has.
    :raises CodeAccessError: they have no common history, or contents that changed could not be fetched.
    """
    for common in await mirror.merge_bases(base, branch):
        for side in (branch, base):
            await fetch_changed(mirror, common, side)
    settings = {"merge.renames": "true", "merge.conflictStyle": "diff3"}
    options = ("merge-tree", "--write-tree", "--no-messages", "-z")
    done = await mirror.git.run(*options, branch, base, expect=(0, 1), settings=settings)
    tree, *entries = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    if done.code == 0:
        return Merge(tree=tree)
    # Path → what the merge base (1), the branch (2) and the base (3) have there.
    stages: dict[str, dict[int, _Stage]] = defaultdict(dict)
    for entry in entries:
        if not entry:
            break
        described, _, path = entry.partition("\t")
        mode, blob, number = described.split(" ")
        stages[path][int(number)] = _Stage(mode, blob)
    return await _list_conflicts(mirror, tree, stages)


async def write_resolved(
    mirror: Mirror, merged: Merge, texts: Mapping[int, str], beside: Sequence[BesideEdit] = ()
) -> str:
    """The tree of a merge with hunks replaced; files with others are left as git made them.

    :param texts: number of a hunk → the lines that stand there instead; all hunks of a file, or none.
    :param beside: further lines of these files, as :func:`safety.conflicts.find_mistakes` lets them pass.
    """
    by_path: dict[str, list[ConflictHunk]] = defaultdict(list)
    for hunk in merged.hunks:
        by_path[hunk.path].append(hunk)
    whole = {path: hunks for path, hunks in by_path.items() if all(each.number in texts for each in hunks)}
    contents = await mirror.read(merged.tree, [*whole])
    there = await list_entries(mirror.git, merged.tree, [path.encode() for path in whole])
    entries: dict[str, tuple[str, str] | None] = {}
    for path, hunks in whole.items():
        edits = [each for each in beside if each.path == path]
        written = _replace(contents[path], [texts[each.number] for each in hunks], edits)
        entries[path] = (there[path.encode()][0].decode(), await write_blob(mirror.git, written))
    return await write_tree(mirror.git, merged.tree, entries) if entries else merged.tree


async def read_outside(mirror: Mirror, merged: Merge) -> dict[str, Outside]:
    """Path → the text around the conflicts of each file with hunks."""
    contents = await mirror.read(merged.tree, list_paths(merged.hunks))
    return {path: _split(content)[::4] for path, content in contents.items()}


async def locate_beside(
    mirror: Mirror, merged: Merge, texts: Mapping[int, str], beside: Sequence[BesideEdit]
) -> dict[str, str]:
    """Path → the lines of the result that changed beside its conflicts, such as ``3, 7-9``."""
    outside = await read_outside(mirror, merged)
    found: dict[str, str] = {}
    for path in dict.fromkeys(each.path for each in beside):
        made = _edit(outside[path], [each for each in beside if each.path == path])
        between = [texts[each.number] for each in merged.hunks if each.path == path]
        found[path] = ", ".join(_list_changed(outside[path], made, between))
    return found


async def list_side_commits(mirror: Mirror, other: str, side: str, paths: Sequence[str]) -> tuple[SideCommit, ...]:
    """The commits of one side of a merge that touched some files, newest first for each of them; no merges.

    :param other: the other side.
    """
    options = (
        "--no-merges",
        f"--max-count={_COMMITS}",
        "--format=%H%x00%B%x00",
        "--end-of-options",
        f"{other}..{side}",
    )
    touched: dict[str, list[str]] = defaultdict(list)
    messages: dict[str, str] = {}
    for path in paths:
        listed = await mirror.git.run("--literal-pathspecs", "log", *options, "--", path)
        parts = listed.stdout.decode(errors="replace").split("\0")
        for sha, message in zip(parts[::2], parts[1::2], strict=False):
            touched[sha.strip()].append(path)
            messages[sha.strip()] = message.strip()
    return tuple(SideCommit(sha=sha, paths=tuple(touched[sha]), message=messages[sha]) for sha in touched)


async def _list_conflicts(mirror: Mirror, tree: str, stages: Mapping[str, Mapping[int, _Stage]]) -> Merge:
    hunks: list[ConflictHunk] = []
    unmerged: list[UnmergedFile] = []
    for path, sides in sorted(stages.items()):
        shown = to_printable(path.encode("utf-8", "surrogateescape"))
        why = "its name is unusual" if shown != path else _find_obstacle(sides)
        why = why or await _find_unreadable(mirror, sides)
        content = {} if why else await mirror.read(tree, [path])
        found = list(_list_hunks(path, content.get(path, b""), len(hunks) + 1))
        why = why or _find_excess(found, hunks)
        if why:
            unmerged.append(UnmergedFile(path=shown, why=why))
        else:
            hunks += found
    return Merge(tree=tree, hunks=tuple(hunks), unmerged=tuple(unmerged))


def _find_obstacle(sides: Mapping[int, _Stage]) -> str:
    """Why a conflict is none of lines, as a clause; empty if it is one."""
    modes = {each.mode for each in sides.values()}
    if MODULE in modes:
        return "it is a submodule"
    if LINK in modes or not modes <= REGULAR:
        return "it is no regular file on one side"
    if {2, 3} <= sides.keys():
        return "" if len(modes) == 1 else "the sides differ in whether it may be executed"
    return _DELETED[next(iter(sides.keys() - {1}))] if len(sides) == 2 else _MOVED


async def _find_unreadable(mirror: Mirror, sides: Mapping[int, _Stage]) -> str:
    """What keeps the text of a conflict from being read, as a clause; empty if nothing does."""
    blobs = {each.blob for each in sides.values()}
    found = await mirror.contents(blobs)
    if blobs - found.keys() or any(len(each) >= MEGABYTE for each in found.values()):
        return "it is too large"
    if any(map(looks_binary, found.values())):
        return "it is a binary file"
    if any(map(_MARK.search, found.values())):
        return "it holds marks of a conflict by itself"
    try:
        for each in found.values():
            each.decode()
    except UnicodeDecodeError:
        return "it is no text in UTF-8"
    return ""


def _find_excess(found: Sequence[ConflictHunk], before: Sequence[ConflictHunk]) -> str:
    if not found or any(_MIDDLE.search(text) for each in found for text in (each.before, each.base)):
        return "git marks its lines in no way that can be told apart"
    size = sum(len(text) for each in (*before, *found) for text in (each.before, each.branch, each.base))
    is_too_much = len(before) + len(found) > MOST_HUNKS or size > MOST_CHARACTERS
    return "there are more conflicts than are resolved at once" if is_too_much else ""


def _list_hunks(path: str, content: bytes, first: int) -> Iterator[ConflictHunk]:
    """The hunks in a file with marks; their lines end with a line feed alone."""
    parts, line = _split(content), 1
    for at in range(1, len(parts), 4):
        line += parts[at - 1].count("\n")
        branch, before, base = parts[at : at + 3]
        above, below = parts[at - 1].splitlines(keepends=True), parts[at + 3].splitlines(keepends=True)
        yield ConflictHunk(
            number=first + at // 4,
            path=path,
            line=line,
            before=before,
            branch=branch,
            base=base,
            above="".join(above[-_AROUND:]),
            below="".join(below[:_AROUND]),
        )
        line += branch.count("\n")


def _split(content: bytes) -> list[str]:
    """Text, then for each hunk: the branch's lines, those before, the base's, and the text behind it."""
    return [piece.decode().replace("\r\n", "\n") for piece in _HUNK.split(content)]


def _replace(content: bytes, texts: Sequence[str], edits: Sequence[BesideEdit]) -> bytes:
    """A file with marks, with each hunk replaced by lines that end as those of its sides do."""
    pieces = _HUNK.split(content)
    made = [*pieces[::4]]
    for at, text in enumerate(_edit(before := _split(content)[::4], edits)):
        if text != before[at]:
            made[at] = _encode(text, pieces[4 * at])
    hunks = [_encode(text, pieces[4 * at + 1] + pieces[4 * at + 3]) for at, text in enumerate(texts)]
    return b"".join(part for pair in zip_longest(made, hunks, fillvalue=b"") for part in pair)


def _encode(text: str, like: bytes) -> bytes:
    """The text with line ends like those of another."""
    return (text.replace("\n", "\r\n") if b"\r\n" in like else text).encode()


def _edit(outside: Outside, edits: Sequence[BesideEdit]) -> Outside:
    for each in edits:
        outside = edit_beside(outside, each) or outside
    return outside


def _list_changed(before: Outside, after: Outside, texts: Sequence[str]) -> Iterator[str]:
    """The lines of a resolved file that differ outside of its conflicts."""
    first = 1
    for old, new, text in zip_longest(before, after, texts, fillvalue=""):
        for kind, _, _, start, end in SequenceMatcher(None, old.splitlines(), new.splitlines()).get_opcodes():
            if kind != "equal":
                last = first + max(end - 1, start)
                yield f"{first + start}" if last == first + start else f"{first + start}-{last}"
        first += new.count("\n") + text.count("\n")


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
    return await mirror.commit_tree(first, tree, message, author, at, merged=second)


async def fetch_changed(mirror: Mirror, old: str, new: str) -> None:
    """Fetch the contents of all files that differ between two commits or trees, as far as they are not too large.

    :raises CodeAccessError: the remote was not reached or denies access.
    """
    changed = {blob for entry in await list_changes(mirror.git, old, new) for blob in entry.blobs}
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
        changes.append(await list_changes(mirror.git, shas[0], head))
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
        changed = [{entry.path: entry for entry in await list_changes(mirror.git, base, side)} for side in (one, other)]
        for path in changed[0].keys() & changed[1].keys():
            both = (changed[0][path], changed[1][path])
            wanted |= {blob for entry in both for blob in entry.blobs}
    if wanted:
        await mirror.available(wanted)
