"""The answer to `/forge diff` is bounded, whatever was changed."""

from domain.review.changes import Change, ChangeStatus, FileChange, Hunk
from messages.changes import LONGEST_DIFF, OwnChanges, OwnCommit, render_changes

SHA = "1234567890" * 4


def _commit(lines: int, files: int = 1) -> OwnCommit:
    hunk = Hunk(old_start=0, old_length=0, new_start=1, new_length=lines, lines=("+" + "x" * 900,) * lines)
    changed = [
        FileChange(path=f"a{at}.py", status=ChangeStatus.added, additions=lines, hunks=(hunk,)) for at in range(files)
    ]
    change = Change(
        merge_base=SHA, head_sha=SHA, files=tuple(changed), total_files=files + 1, additions=lines, deletions=0
    )
    return OwnCommit(SHA, "Fix @everybody <b>now</b>", change)


def test_a_long_diff_is_cut_and_says_where_the_rest_is() -> None:
    told = render_changes(SHA, OwnChanges([_commit(1_000, files=30)], more=3))
    assert len(told) < LONGEST_DIFF + 3_000
    assert f"more lines: see the commits {SHA}." in told
    assert "  - 11 more files" in told
    assert told.startswith("Forge made 4 commits here")


def test_a_subject_is_inert() -> None:
    told = render_changes(SHA, OwnChanges([_commit(1)]))
    assert "`@everybody`" in told
    assert "<b>" not in told
    assert "more lines" not in told
