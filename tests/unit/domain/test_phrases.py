"""The phrases that texts share: lists stay short, numbers have their nouns, moments are in UTC."""

from datetime import datetime, timedelta, timezone

from domain.text.escaping import format_day, format_moment, name_count, name_some
from messages.deliveries import describe_rewritten


def test_a_list_names_a_few_and_counts_the_rest() -> None:
    assert name_some("abc", 3) == "a, b, c"
    assert name_some("abcd", 3) == "a, b, c and 1 more"
    assert describe_rewritten(range(1, 400)).endswith("9, 10 and 389 more")


def test_a_number_has_its_noun() -> None:
    assert [name_count(each, "test") for each in (0, 1, 1200)] == ["0 tests", "1 test", "1,200 tests"]
    assert name_count(2, "memory", "memories") == "2 memories"


def test_moments_are_told_in_utc() -> None:
    late = datetime(2026, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    assert (format_moment(late), format_day(late)) == ("2026-02-28 22:30 UTC", "2026-02-28")
