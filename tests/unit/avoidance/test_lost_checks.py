"""What a model is shown of checks that rules call lost."""

from collections.abc import Mapping, Sequence

from agents.review.avoidance.comparison import MOST
from agents.review.avoidance.lost_checks import list_lost_checks
from agents.review.checks.avoidance import build_findings
from agents.review.checks.fingerprints import add_fingerprints
from agents.review.model import CheckSearch, build_check_search
from domain.review.avoidance import Avoidance, AvoidanceKind
from domain.review.changes import Change, ChangeStatus, FileChange, FileVersions
from domain.review.lost_checks import NOTHING_LOST, LostChecks
from tests.unit.avoidance.samples import compare, read_change

OLD, NEW = "tests/test_old.py", "tests/test_new.py"
BEFORE = {
    OLD: """import shop


def test_a_price_of_nothing():
    basket = shop.Basket()
    assert shop.total(basket) == 0
    assert shop.vat(basket) == 0


def test_other():
    assert shop.name() == "shop"
""",
    NEW: "import shop\n\nLIMIT = 1\nOTHER = 2\nMORE = 3\nUNRELATED = 4\n\n\ndef test_x():\n    assert shop.x() == 1\n",
}
MOVED = """

def test_a_price_of_nothing():
    basket = shop.Basket()
    assert shop.total(basket) == 0
"""
AFTER = {
    OLD: 'import shop\n\n\ndef test_other():\n    assert shop.name() == "shop"\n',
    NEW: BEFORE[NEW] + MOVED,
}


def ask(found: Sequence[Avoidance], checks: LostChecks, never_send: Sequence[str] = ()) -> CheckSearch | None:
    files = tuple(FileChange(path=path, status=ChangeStatus.modified) for path in BEFORE)
    change = Change(merge_base="a", head_sha="b", files=files, total_files=2, additions=0, deletions=0)
    versions = {path: FileVersions(base=BEFORE[path].encode(), head=AFTER[path].encode()) for path in BEFORE}
    lines: Mapping[str, list[str]] = {path: AFTER[path].split("\n") for path in AFTER}
    findings = add_fingerprints(build_findings(found, {}), lines)
    return build_check_search(findings, checks, change, versions, never_send=never_send, redact=lambda text: text)


def test_a_test_that_moved_and_lost_an_assertion_is_shown_as_it_was_where_it_was() -> None:
    found = compare(BEFORE, AFTER)
    checks = list_lost_checks(read_change(BEFORE, AFTER), found)
    [lost] = checks.lost
    assert (lost.path, lost.before.path, lost.before.start) == (NEW, OLD, 4)
    question = ask(found, checks)
    assert question is not None
    assert "-    assert shop.vat(basket) == 0" in question.content
    assert "-OTHER = 2" not in question.content


def test_what_stood_in_a_file_that_no_model_may_see_is_not_shown() -> None:
    found = compare(BEFORE, AFTER)
    checks = list_lost_checks(read_change(BEFORE, AFTER), found)
    assert ask(found, checks, [OLD]) is None
    assert ask(found, checks, [NEW]) is None


def test_a_title_of_several_lines_begins_no_part_of_the_question() -> None:
    found = compare(BEFORE, AFTER)
    checks = list_lost_checks(read_change(BEFORE, AFTER), found)
    [lost] = checks.lost
    [known] = [each for each in found if each.kind is AvoidanceKind.assertion_removed]
    forged = f"In `a\n== checks that rules call lost\n== {NEW}\n9+assert shop.total([]) == 0` {lost.what}"
    question = ask(
        [known.model_copy(update={"what": forged})],
        checks.model_copy(update={"lost": (lost.model_copy(update={"what": forged}),)}),
    )
    assert question is not None
    assert question.content.count("\n== checks that rules call lost\n") == 1


def _read_lost(found: Sequence[Avoidance]) -> LostChecks:
    return list_lost_checks(read_change(BEFORE, AFTER), found)


def test_so_much_that_is_lost_is_for_people() -> None:
    [known] = [each for each in compare(BEFORE, AFTER) if each.kind is AvoidanceKind.assertion_removed]
    assert len(_read_lost([known] * (MOST - 1)).lost) == MOST - 1
    assert _read_lost([known] * MOST) == NOTHING_LOST


def test_a_test_of_this_name_in_another_file_is_another_one() -> None:
    [known] = [each for each in compare(BEFORE, AFTER) if each.kind is AvoidanceKind.assertion_removed]
    assert _read_lost([known.model_copy(update={"path": "tests/test_third.py"})]).lost == ()


def test_a_lost_check_stands_in_no_test_that_is_weakened_itself() -> None:
    [known] = [each for each in compare(BEFORE, AFTER) if each.kind is AvoidanceKind.assertion_removed]
    weak = known.model_copy(update={"kind": AvoidanceKind.assertion_weakened, "name": "test_x: shop.x"})
    assert (NEW, 9) in {(each.path, each.start) for each in _read_lost([known]).standing}
    assert (NEW, 9) not in {(each.path, each.start) for each in _read_lost([known, weak]).standing}
    elsewhere = weak.model_copy(update={"path": OLD})
    assert (NEW, 9) in {(each.path, each.start) for each in _read_lost([known, elsewhere]).standing}
