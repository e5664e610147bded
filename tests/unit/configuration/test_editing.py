"""What an edit of the configuration file changes, and what it leaves as it is."""

import pytest

from domain.config.configuration import Configuration
from domain.config.origins import ValueOrigin, trace_origins
from domain.config.presets import Values, apply_ceilings, build
from pipeline.config.editing import ABSENT, NewValue, edit_file


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        (None, {"budgets.day": 20}, "# Configuration of Forge.\nbudgets:\n  day: 20\n"),
        ("# why\n", {"budgets.day": 20}, "# why\nbudgets:\n  day: 20\n"),
        ("budgets:\n  day: 3  # low\n", {"budgets.day": 4}, "budgets:\n  day: 4  # low\n"),
        ("budgets:\n  day: 3\n  run: 2\n", {"budgets.day": ABSENT}, "budgets:\n  run: 2\n"),
        ("ladder: {max_level: 2}\n", {"ladder.max_level": 3}, "ladder: {max_level: 3}\n"),
        ("a: 'x'\nb:\n  day: 3\n", {"b.day": ABSENT}, "a: 'x'\n"),
        ("p:\n  l:\n    - a  # 1\n    - b  # 2\n", {"p.l": ["b", "c"]}, "p:\n  l:\n    - b  # 2\n    - c\n"),
        ("p:\n- a  # 1\n", {"p": ["c", "a"]}, "p:\n- c\n- a\n"),
        ("# why\r\na: 1\r\n\r\nb: 2\r\n", {"a": 3}, "# why\r\na: 3\r\n\r\nb: 2\r\n"),
    ],
)
def test_edits(before: str | None, changes: dict[str, NewValue], after: str) -> None:
    assert edit_file(None if before is None else before.encode(), changes).decode() == after


BELOW = "\n# about this\nq: 1\n"


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        (f"p:\n  k: 2\n  l: 3\n{BELOW}", {"p.l": ABSENT}, f"p:\n  k: 2\n{BELOW}"),
        (f"# first\np:\n  l:\n    m: 3\n{BELOW}", {"p.l.m": ABSENT}, f"# first\n{BELOW}"),
        (f"p:\n  l:\n{BELOW}", {"p.l": ABSENT}, BELOW.lstrip()),
        (f"p:\n  l: |\n    text\n{BELOW}", {"p.l": ABSENT}, BELOW.lstrip()),
        (f"p:\n  l: [a,\n    b]\n  k: 2\n{BELOW}", {"p.l": ABSENT}, f"p:\n  k: 2\n{BELOW}"),
        (f"p: {{l: 1, k: 2}}\n{BELOW}", {"p.l": ABSENT}, f"p: {{k: 2}}\n{BELOW}"),
        (f"k: 2\np: {{l: 1}}\n{BELOW}", {"p.l": ABSENT}, f"k: 2\n{BELOW}"),
        (f"p:\n  - a  # 1\n  - b  # 2\n{BELOW}", {"p": ["a"]}, f"p:\n  - a  # 1\n{BELOW}"),
        (f"p:\n  - a  # 1\n  - b\n{BELOW}", {"p": ["b", "c"]}, f"p:\n  - b\n  - c\n{BELOW}"),
        (f"p:\n  - a\n{BELOW}", {"p": ["c"]}, f"p:\n  - c\n{BELOW}"),
        (f"p:\n  - a\n{BELOW}", {"p": []}, f"p: []\n{BELOW}"),
    ],
)
def test_what_is_said_of_the_next_key_stays(before: str, changes: dict[str, NewValue], after: str) -> None:
    assert edit_file(before.encode(), changes).decode() == after


def test_each_value_has_its_origin() -> None:
    below: Values = {"memory": {"max": 5}}
    own: Values = {"preset": "production", "budgets": {"day": 90.0}, "audit": {"retention_days": 7}}
    effective = apply_ceilings(build(below, own), {"budgets.day": 10})
    found = {each.path: each for each in trace_origins(effective, below, own, {"budgets.day": 10})}
    assert set(found) >= {"review.model", "gates.large_change.when"}
    assert (found["budgets.day"].origin, found["budgets.day"].value) == (ValueOrigin.ceiling, 10)
    assert found["budgets.day"].wanted == 90
    assert found["memory.max"].origin is ValueOrigin.organisation
    assert found["audit.retention_days"].origin is ValueOrigin.repository
    assert found["ladder.max_level"].origin is ValueOrigin.preset
    assert found["review.model"].origin is ValueOrigin.default
    assert Configuration().memory.max != 5
