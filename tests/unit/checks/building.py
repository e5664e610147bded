"""Builds a change from two versions of some files, as git would describe it."""

import difflib
from collections.abc import Mapping

from domain.review.changes import Change, ChangeStatus, ContentKind, FileChange, FileVersions, Hunk, TouchedFile

Versions = Mapping[str, tuple[str | bytes | None, str | bytes | None]]


def file_change(path: str, base: str | None, head: str | None) -> FileChange:
    old, new = (base or "").split("\n"), (head or "").split("\n")
    if base is None:
        old = []
    status = ChangeStatus.added if base is None else ChangeStatus.deleted if head is None else ChangeStatus.modified
    hunks = tuple(_hunks(old, new))
    return FileChange(path=path, status=status, kind=ContentKind.text, hunks=hunks)


def _hunks(old: list[str], new: list[str]):
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [" " + text for text in old[i1:i2]]
                continue
            lines += ["-" + text for text in old[i1:i2]]
            lines += ["+" + text for text in new[j1:j2]]
        first, last = group[0], group[-1]
        old_length, new_length = last[2] - first[1], last[4] - first[3]
        yield Hunk(
            old_start=first[1] + (old_length > 0),
            old_length=old_length,
            new_start=first[3] + (new_length > 0),
            new_length=new_length,
            lines=tuple(lines),
        )


def change_of(files: Versions) -> tuple[Change, dict[str, FileVersions]]:
    """A change and its content from path → (content at the merge base, content at head)."""
    changes = tuple(file_change(path, _text(base), _text(head)) for path, (base, head) in files.items())
    change = Change(
        merge_base="a" * 40,
        head_sha="b" * 40,
        files=changes,
        total_files=len(changes),
        additions=0,
        deletions=0,
        touched=tuple(TouchedFile(path=path, is_gone=head is None) for path, (_, head) in files.items()),
    )
    contents = {path: FileVersions(base=_bytes(base), head=_bytes(head)) for path, (base, head) in files.items()}
    return change, contents


def _text(content: str | bytes | None) -> str | None:
    return content.decode(errors="replace") if isinstance(content, bytes) else content


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
