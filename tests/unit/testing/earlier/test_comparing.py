"""How a test compares with what stands in its place, by their texts alone."""

import pytest

from agents.syntax.tests import TestText
from agents.testing.earlier_tests.names import keep_gone, list_words
from agents.testing.earlier_tests.running import find_version
from agents.testing.earlier_tests.texts import Version, evades_more, find_near, list_versions
from domain.runs.testing import CaseOutcome, TestCase


@pytest.mark.parametrize(
    ("line", "is_evading"),
    [
        ("test('when custom processing throws then catch it', () => {", False),
        ('it("skips what is \\"pending\\"", () => {', False),
        ("value = read(path)  # type: ignore", False),
        ("// try: later", False),
        ("} catch (err) {", True),
        ("it.skip('adds', () => {", True),
        ("vi.mock('./sums')", True),
        ("monkeypatch.setattr('sums.add', lambda a, b: 4)", True),
        ("return", True),
    ],
)
def test_what_is_quoted_or_noted_keeps_no_test_from_failing(line: str, *, is_evading: bool) -> None:
    assert evades_more([], [line]) == is_evading


def _list(text: str, *names: str) -> list[Version]:
    lines = text.split("\n")
    starts = [next(at for at, line in enumerate(lines, 1) if f"'{name}'" in line) for name in names]
    tests = [TestText(name=name, start=start, end=start + 2) for name, start in zip(names, starts, strict=True)]
    return list_versions("a.test.js", text, tests)


def test_what_stands_where_a_test_stood_is_in_its_place() -> None:
    """Under another name, demanding the contrary; not where as many do not stand there."""
    kept = "it('one', () => {\n  one()\n})\n{}it('two', () => {\n  two()\n})\n"
    copies = "it('copies', () => {\n  assert.doesNotThrow(() => copy(src, out))\n})\n"
    fails = "it('fails', () => {\n  assert.throws(() => copy(src, out))\n})\n"
    other = "it('other', () => {\n  close(files)\n})\n"
    before = _list(kept.replace("{}", copies), "one", "copies", "two")
    after = _list(kept.replace("{}", fails), "one", "fails", "two")
    assert find_near(before[1], before, after) == after[1]
    assert find_near(before[1], before, _list(kept.replace("{}", other), "one", "other", "two")) is None
    assert find_near(before[1], before, _list(kept.replace("{}", fails + other), "one", "fails", "other", "two")) is None


def test_a_message_in_a_regular_expression_is_looked_for_as_a_program_has_it() -> None:
    line = r"assert.throws(() => match('a'), /Node\.js v10 or higher/);"
    before, after = {"a.js": "throw new Error('Node.js v10 or higher is required');"}, {"a.js": ""}
    assert "Node.js v10 or higher" in keep_gone(list_words([line]), before, after)


@pytest.mark.parametrize("row", [" with data set #12", ' with data set "a, b"', "", "[2-4]"])
def test_a_row_has_the_text_of_its_test(row: str) -> None:
    [adds] = list_versions("T.php", "", [TestText(name="testAdds", start=1, end=1)])
    case = TestCase(id=f"T.php::T::testAdds{row}", outcome=CaseOutcome.failed, path="T.php")
    assert find_version(case, [adds]) == adds
