"""Decides where a review comment belongs in a diff, and moves it when the head moves."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.diff import DiffLine, FileDiff, shift
from simulator.pull_json import files_at
from simulator.state import Json, PullRequest, ReviewComment, Side


class Misplaced(Exception):
    """The position is not in the diff: `field` is path, line or start_line."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


@dataclass(frozen=True)
class CommentPosition:
    path: str
    commit: str
    line: int | None
    side: Side
    start_line: int | None
    start_side: Side | None
    position: int | None
    hunk: str


def find_place(pull: PullRequest, wanted: Json, commit: str) -> CommentPosition:
    """The place a request asks for in the diff up to `commit`, or `Misplaced`."""
    file = next((file for file in files_at(pull, commit) if file.path == wanted.get("path")), None)
    if file is None:
        raise Misplaced("path")
    if wanted.get("subject_type") == "file":
        return CommentPosition(file.path, commit, None, "RIGHT", None, None, None, "")
    end, side = _end_line(file, wanted)
    if end is None:
        raise Misplaced("line")
    start_line, start_side = wanted.get("start_line"), _side(wanted.get("start_side") or side)
    if start_line is None:
        return CommentPosition(
            file.path, commit, _number(end, side), side, None, None, end.position, file.hunk_up_to(end)
        )
    start = file.place(start_side, start_line)
    # A range stays within one hunk and runs downwards.
    if start is None or start.hunk != end.hunk or start.position >= end.position:
        raise Misplaced("start_line")
    number = _number(end, side)
    return CommentPosition(file.path, commit, number, side, start_line, start_side, end.position, file.hunk_up_to(end))


def _end_line(file: FileDiff, wanted: Json) -> tuple[DiffLine | None, Side]:
    if wanted.get("line") is None and wanted.get("position") is not None:
        found = file.at_position(int(wanted["position"]))
        return found, "LEFT" if found is not None and found.new is None else "RIGHT"
    side = _side(wanted.get("side") or "RIGHT")
    line = wanted.get("line")
    return (file.place(side, line) if isinstance(line, int) else None), side


def _side(value: str) -> Side:
    return "LEFT" if value == "LEFT" else "RIGHT"


def _number(line: DiffLine, side: Side) -> int | None:
    return line.old if side == "LEFT" else line.new


def follow(pull: PullRequest, old_head: str, old_base: str) -> None:
    """Move every comment to the new head, or mark it outdated where its lines changed."""
    for thread in pull.threads:
        for comment in thread.comments:
            if comment.position is not None or comment.subject_type == "file":
                move(comment, old_head, old_base)
        thread.outdated = _is_outdated(thread.comments[0])


def _is_outdated(comment: ReviewComment) -> bool:
    return comment.position is None and comment.subject_type == "line"


def move(comment: ReviewComment, old_head: str, old_base: str) -> None:
    pull = comment.pull
    if comment.subject_type == "file":
        comment.commit_id = pull.head_sha
        return
    place = _place_after(comment, old_head, old_base)
    if place is None:
        # GitHub keeps original_line and the hunk, and forgets the rest.
        comment.line = comment.start_line = comment.position = None
        return
    comment.path, comment.line, comment.start_line = place.path, place.line, place.start_line
    comment.position, comment.commit_id = place.position, pull.head_sha


def _place_after(comment: ReviewComment, old_head: str, old_base: str) -> CommentPosition | None:
    line = _shift_line(comment, comment.side, comment.line, old_head, old_base)
    start = _shift_line(comment, comment.start_side or comment.side, comment.start_line, old_head, old_base)
    if line is None or (comment.start_line is not None and (start is None or not _same_span(comment, line, start))):
        return None
    wanted: Json = {"path": line[0], "line": line[1], "side": comment.side}
    if start is not None:
        wanted |= {"start_line": start[1], "start_side": comment.start_side}
    try:
        return find_place(comment.pull, wanted, comment.pull.head_sha)
    except Misplaced:
        return None


def _same_span(comment: ReviewComment, line: tuple[str, int], start: tuple[str, int]) -> bool:
    """A line put in or taken out between the ends of a range changes what it says."""
    if comment.line is None or comment.start_line is None or comment.start_side not in (None, comment.side):
        return True
    return line[1] - start[1] == comment.line - comment.start_line


def _shift_line(
    comment: ReviewComment, side: Side, number: int | None, old_head: str, old_base: str
) -> tuple[str, int] | None:
    if number is None:
        return None
    pull, git = comment.pull, comment.pull.repository.git
    if side == "RIGHT":
        return shift(git.diff(old_head, pull.head_sha), comment.path, number)
    before, after = git.merge_base(old_base, old_head), git.merge_base(pull.base_tip, pull.head_sha)
    if before is None or after is None:
        return None
    moved = shift(git.diff(before, after), comment.path, number)
    return None if moved is None else (comment.path, moved[1])
