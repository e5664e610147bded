"""What the check says of earlier tests."""

from domain.runs.earlier_tests import NOTHING_EARLIER, EarlierOutcome, EarlierTest, EarlierTests, Fate
from messages.earlier_tests import describe_finding, render_earlier_tests


def _test(outcome: EarlierOutcome, **more: object) -> EarlierTest:
    fields = {"id": "tests/test_a.py::test_adds", "path": "tests/test_a.py", "outcome": outcome, "fate": Fate.removed}
    return EarlierTest.model_validate({**fields, **more})


def test_a_change_that_touches_no_test_is_told_nothing() -> None:
    assert not render_earlier_tests(NOTHING_EARLIER)


def test_each_outcome_has_its_place() -> None:
    changed = _test(EarlierOutcome.changed, demanded=("assert add(2, 2) == 4 | @all",), now=("assert add(2, 2) == 0",))
    gone = _test(EarlierOutcome.gone, names=("halve",))
    unknown = _test(EarlierOutcome.unknown)
    found = EarlierTests(tests=(changed, gone, unknown), holding=1, left_out=3, not_run=("`jest` is not installed.",))
    text = render_earlier_tests(found)
    assert "1 earlier test that this change touches still holds." in text
    assert "**Behaviour that tests show to have changed**" in text
    row = next(line for line in text.split("\n") if line.startswith("| `tests"))
    assert row.count("`assert add(2, 2) == 0`") == 1
    assert "1 earlier test went with the code: the program has `halve` no more." in text
    assert "1 earlier test could not be judged. 3 earlier tests left out" in text
    assert "`jest` is not installed." in text


def test_a_finding_says_what_was_demanded_how_it_failed_and_what_to_do() -> None:
    lost = _test(EarlierOutcome.lost, demanded=("assert add(2, 2) == 4",), output="E   assert 0 == 4")
    text = describe_finding(lost)
    for part in ("`tests/test_a.py::test_adds` passed before", "takes this test away", "== 4", "assert 0 == 4", "Mend"):
        assert part in text
