"""What leads from one state of files to another, where each is known by its difference from a commit."""

from domain.runs.patches import EXECUTABLE, NO_CHANGES, REGULAR, ChangedFile, ChangeSet
from pipeline.issue.coding.command_shadow import find_new_changes


def changes(**after: tuple[bytes | None, bytes | None]) -> ChangeSet:
    """Each file before and after."""
    return ChangeSet(files=tuple(ChangedFile(path=path, before=old, after=new) for path, (old, new) in after.items()))


def test_equal_states_differ_in_nothing() -> None:
    some = changes(a=(b"1", b"2"), b=(None, b"3"), c=(b"4", None))
    assert some.since(some) == NO_CHANGES


def test_what_was_changed_made_and_deleted_is_found() -> None:
    first = changes(a=(b"1", b"2"), b=(None, b"3"), c=(b"4", None), d=(b"5", b"6"))
    second = changes(a=(b"1", b"9"), e=(None, b"7"), d=(b"5", b"6"))
    assert second.since(first) == changes(a=(b"2", b"9"), b=(b"3", None), c=(None, b"4"), e=(None, b"7"))


def test_the_difference_leads_back() -> None:
    first, second = changes(a=(b"1", b"2"), b=(None, b"3")), changes(a=(b"1", None), c=(None, b"4"))
    there, back = second.since(first), first.since(second)
    assert there.then(back) == NO_CHANGES


def test_a_mode_is_a_difference() -> None:
    made = ChangedFile(path="a", before=b"1", after=b"1", mode=EXECUTABLE, old_mode=REGULAR)
    [forth] = ChangeSet(files=(made,)).since(NO_CHANGES).files
    assert (forth.mode, forth.old_mode) == (EXECUTABLE, REGULAR)
    [back] = NO_CHANGES.since(ChangeSet(files=(made,))).files
    assert (back.mode, back.old_mode) == (REGULAR, EXECUTABLE)


def test_what_a_program_found_is_not_its_doing() -> None:
    """The set-up made ``lock`` anew and left ``log``; the draft has neither, and its own ``a``."""
    before = changes(a=(b"1", b"2"), lock=(b"3", b"4"), log=(None, b"5"))
    draft = changes(a=(b"1", b"2"), ignored=(None, b"6"))
    after = changes(a=(b"1", b"7"), lock=(b"3", b"8"), log=(None, b"5"), new=(None, b"9"))
    assert find_new_changes(before, before, draft) == NO_CHANGES
    found = find_new_changes(before, after, draft)
    assert found == changes(a=(b"2", b"7"), lock=(b"3", b"8"), new=(None, b"9"))


def test_what_a_program_restores_is_its_doing() -> None:
    before = changes(a=(b"1", b"2"), lock=(b"3", b"4"))
    draft = changes(a=(b"1", b"2"))
    assert find_new_changes(before, NO_CHANGES, draft) == changes(a=(b"2", b"1"))
