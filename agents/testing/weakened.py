"""Finds tests that a change removes or weakens: deleted files, fewer tests, tests that are skipped or may fail."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from agents.testing.test_selection import is_runnable
from domain.paths import is_source, is_test
from domain.review.changes import Change, ChangeStatus, FileChange
from domain.runs.task_result import RequiredFix
from messages.tests import format_ranges

WEAKENED = "tests.weakened"
MAX_FINDINGS = 20  # one attempt cannot fix more

_WHAT_TO_DO = "Restore what was taken away, or have the task say why it had to go."
_BEGINS = re.compile(
    r"(?:async\s+)?def\s+(test\w*)"
    r"|(?:it|test)(?:\.(?:each|only|concurrent)\b.*)?\(\s*(['\"`].*)"
    r"|func\s+(Test\w*|Fuzz\w*)"
    r"|(#\[(?:\w+::)?test\b.*\])"
)
_IS_SKIPPED = re.compile(
    r"\bpytest\.mark\.(?:skip|skipif|xfail)\b|\bpytest\.(?:skip|xfail)\("
    r"|\bunittest\.(?:skip|expectedFailure)|@(?:skip|expectedFailure)\w*|\bself\.skipTest\("
    r"|\b(?:it|test|describe)\.(?:skip|todo|fails)\b|\bx(?:it|test|describe)\("
    r"|\bt\.Skip(?:f|Now)?\(|#\[ignore\b"
)
_IS_COMMENT = re.compile(r"#(?!\[)|//|\*|/\*")


def find_weakened(change: Change) -> tuple[RequiredFix, ...]:
    """What a change removes from the tests (pure).

    A test is not missed if another file of the change holds it under the same name: it was moved.
    """
    files = [file for file in change.files if is_test(file.path) and is_source(file.path)]
    arrived = Counter[str]()
    for file in files:
        arrived += Counter(_list_added(file)) - Counter(_list_removed(file))
    found = [
        *_find_deleted(change, files, arrived),
        *_find_moved_away(change),
        *_find_fewer(files, arrived),
        *_find_skipped(files),
    ]
    return tuple(found[:MAX_FINDINGS])


def _find_deleted(change: Change, files: Iterable[FileChange], arrived: Counter[str]) -> Iterator[RequiredFix]:
    """Deleted files of tests with a test that no other file holds."""
    looked_into = {file.path: file for file in files}
    for each in change.touched:
        if not each.is_gone or not is_runnable(each.path) or each.lines == 0:
            continue
        file = looked_into.get(each.path)
        held = () if file is None else tuple(_list_removed(file))
        if not held or _count_lost(Counter(held), arrived):
            how_many = f" with {_count(len(held))} in it" if held else ""
            yield _to_fix(each.path, None, f"This file was deleted{how_many}.")


def _find_moved_away(change: Change) -> Iterator[RequiredFix]:
    """Files of tests that were moved to where no test runner finds them."""
    for each in change.touched:
        if each.old_path and is_runnable(each.old_path) and not is_runnable(each.path):
            yield _to_fix(each.path, None, f"{each.old_path} was moved here, where no test runner finds it.")


def _find_fewer(files: Iterable[FileChange], arrived: Counter[str]) -> Iterator[RequiredFix]:
    """Remaining files that hold fewer tests than before."""
    for file in files:
        if file.status is ChangeStatus.deleted:
            continue
        removed, added = Counter(_list_removed(file)), Counter(_list_added(file))
        fewer = min(removed.total() - added.total(), _count_lost(removed - added, arrived))
        if fewer > 0:
            yield _to_fix(file.path, None, f"This file holds {_count(fewer)} fewer than before.")


def _find_skipped(files: Iterable[FileChange]) -> Iterator[RequiredFix]:
    """Files in which tests are newly skipped or expected to fail."""
    for file in files:
        before = {text.strip() for text in _list_lines(file, "-")}
        lines = [line for line, text in file.added_lines.items() if text.strip() not in before and _skips(text)]
        if lines:
            yield _to_fix(
                file.path, lines[0], f"Tests are skipped or expected to fail here: lines {format_ranges(lines)}."
            )


def _count_lost(removed: Counter[str], arrived: Counter[str]) -> int:
    """How many of the tests no other file took over; each added test makes up for one removed test only."""
    taken_over = removed & arrived
    arrived.subtract(taken_over)
    return (removed - taken_over).total()


def _skips(text: str) -> bool:
    return _IS_SKIPPED.search(text) is not None and _IS_COMMENT.match(text.strip()) is None


def _list_removed(file: FileChange) -> list[str]:
    return _list_names(_list_lines(file, "-"))


def _list_added(file: FileChange) -> list[str]:
    return _list_names(_list_lines(file, "+"))


def _list_lines(file: FileChange, mark: str) -> Iterator[str]:
    return (line[1:] for hunk in file.hunks for line in hunk.lines if line.startswith(mark))


def _list_names(texts: Iterable[str]) -> list[str]:
    """The names of the tests that begin in these lines. All Rust tests look alike: their names are in the next line."""
    begun = (_BEGINS.match(text.strip()[:500]) for text in texts)
    return [next(filter(None, match.groups())) for match in begun if match is not None]


def _count(number: int) -> str:
    return f"{number:,} test" if number == 1 else f"{number:,} tests"


def _to_fix(path: str, line: int | None, what: str) -> RequiredFix:
    return RequiredFix(path=path, line=line, rule=WEAKENED, message=f"{what} {_WHAT_TO_DO}")
