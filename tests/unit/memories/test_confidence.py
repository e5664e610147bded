"""The arithmetic of confidence, as a table and over random histories."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import memories
from domain.memories import Archived, Origin, Use
from tests.rows import NOON
from tests.unit.memories.records import WEEK, build_rated


@pytest.mark.parametrize(
    ("origin", "confidence"),
    [(Origin.model, 0.5), (Origin.person, 0.7), (Origin.production, 0.9)],
)
def test_what_a_memory_starts_with(origin: Origin, confidence: float) -> None:
    assert origin.confidence == confidence


@pytest.mark.parametrize(
    ("use", "before", "after"),
    [
        (Use.applied, 0.5, 0.6),
        (Use.confirmed, 0.5, 0.7),
        (Use.dismissed, 0.5, 0.3),
        (Use.applied, 0.95, 1.0),
        (Use.confirmed, 0.9, 1.0),
        (Use.dismissed, 0.1, 0.0),
    ],
)
def test_what_a_use_changes(use: Use, before: float, after: float) -> None:
    changed = memories.apply_use(build_rated(before), use, NOON + timedelta(hours=1))
    assert changed.confidence == after
    assert changed.used_at == NOON + timedelta(hours=1)


@pytest.mark.parametrize(
    ("unused", "left"),
    [
        (timedelta(), 0.7),
        (WEEK - timedelta(seconds=1), 0.7),
        (WEEK, 0.65),
        (2 * WEEK - timedelta(seconds=1), 0.65),
        (10 * WEEK, 0.2),
        (11 * WEEK, 0.15),
        (20 * WEEK, 0.0),
        (-WEEK, 0.7),  # a clock that was set back
    ],
)
def test_decay(unused: timedelta, left: float) -> None:
    assert memories.compute_confidence(build_rated(), NOON + unused) == left
    assert memories.compute_confidence(build_rated(pinned=True), NOON + unused) == 0.7


def test_decay_counts_before_a_use_and_begins_anew_after_it() -> None:
    used = memories.apply_use(build_rated(), Use.applied, NOON + 4 * WEEK)
    assert used.confidence == 0.6
    assert memories.compute_confidence(used, NOON + 4 * WEEK + WEEK) == 0.55


@pytest.mark.parametrize(
    ("confidence", "pinned", "unused", "why"),
    [
        (0.7, False, timedelta(), None),
        (0.2, False, timedelta(), None),
        (0.19, False, timedelta(), Archived.doubtful),
        (0.7, False, 10 * WEEK, None),  # 0.2 is left
        (0.7, False, 11 * WEEK, Archived.doubtful),
        (1.0, False, timedelta(days=90), Archived.unused),
        (1.0, False, timedelta(days=90) - timedelta(seconds=1), None),
        (1.0, True, timedelta(days=900), None),
        (0.1, True, timedelta(), Archived.doubtful),
    ],
)
def test_what_is_archived(confidence: float, pinned: bool, unused: timedelta, why: Archived | None) -> None:
    assert memories.find_archive_reason(build_rated(confidence, pinned=pinned), NOON + unused) is why


steps = st.lists(
    st.tuples(st.sampled_from(Use), st.timedeltas(min_value=timedelta(), max_value=timedelta(days=60))), max_size=30
)


@given(start=st.floats(0, 1), steps=steps, rest=st.timedeltas(min_value=timedelta(), max_value=timedelta(days=900)))
def test_random_histories(start: float, steps: list[tuple[Use, timedelta]], rest: timedelta) -> None:
    at, history = NOON, list[tuple[datetime, Use]]()
    for use, later in steps:
        at += later
        history.append((at, use))
    made = build_rated(round(start, 4))
    last = made
    for when, use in history:
        last = memories.apply_use(last, use, when)

    assert 0 <= last.confidence <= 1
    assert memories.compute_confidence(last, at + rest) <= last.confidence  # silence never adds any
    for use in (Use.applied, Use.confirmed):
        assert memories.apply_use(last, use, at).confidence >= memories.compute_confidence(last, at)
    assert memories.apply_use(last, Use.dismissed, at).confidence <= memories.compute_confidence(last, at)
    assert memories.apply_use(last, Use.recurred, at) == last  # a model does not confirm itself
