"""How a test compares with what stands in its place, by their texts alone."""

import pytest

from agents.testing.earlier_tests.texts import evades_more


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
