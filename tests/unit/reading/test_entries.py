"""The set of changes is whole and balanced, and an entry with a mistake is refused by name."""

from collections import Counter

import pytest
from pydantic import ValidationError

from tests.bench.reading.entry import Entry, Kind, Scope, load_entries, load_entry

ENTRY = '''
id = "py-till-open"
language = "python"
kind = "breaking"
scope = "file"
title = "Tidy up"
description = "No change."
origin = "undone safeguard"
breaks = "Without an amount it adds None."

[source]
package = "till"
version = "1.0"
licence = "MIT"
copyright = "Copyright (c) A"

[[defects]]
path = "till.py"
from = 2
to = 2

[[edits]]
path = "till.py"
before = "    return total + (amount or 0)\\n"
after = "    return total + amount\\n"

[[files]]
path = "till.py"
text = """
def pay(total, amount):
    return total + (amount or 0)
"""
'''


@pytest.fixture(scope="module")
def entries() -> tuple[Entry, ...]:
    return load_entries()


def test_every_entry_of_the_set_is_valid_and_has_its_own_id(entries: tuple[Entry, ...]) -> None:
    assert len({entry.id for entry in entries}) == len(entries) >= 60


def test_the_set_is_balanced(entries: tuple[Entry, ...]) -> None:
    kinds = Counter((entry.kind, entry.scope) for entry in entries)
    languages = Counter(entry.language for entry in entries)
    assert kinds[Kind.breaking, Scope.file] + kinds[Kind.breaking, Scope.repo] >= 30
    assert kinds[Kind.harmless, Scope.file] + kinds[Kind.harmless, Scope.repo] >= 30
    assert kinds[Kind.breaking, Scope.repo] >= 11
    assert kinds[Kind.harmless, Scope.repo] >= 10
    assert len([language for language, count in languages.items() if count >= 8]) >= 6


def test_an_entry_says_what_it_was_and_what_it_becomes() -> None:
    entry = load_entry(ENTRY)
    assert entry.base == {"till.py": "def pay(total, amount):\n    return total + (amount or 0)\n"}
    assert entry.head == {"till.py": "def pay(total, amount):\n    return total + amount\n"}


def test_a_finding_may_miss_the_lines_by_three() -> None:
    defect = load_entry(ENTRY).defects[0]
    assert [line for line in range(9) if defect.is_named_at("till.py", line)] == [0, 1, 2, 3, 4, 5]
    assert not defect.is_named_at("shop.py", 2)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("from = 2\nto = 2", "from = 2\nto = 3", "till.py has no lines 2 to 3"),
        ("before = ", 'before = "gone" # ', "occurs 0 times"),
        ("total + amount\\n", "total + (amount or 0)\\n", "till.py is edited, but stays the same"),
        ("total + amount\\n", "total + (amount\\n", "till.py cannot be parsed"),
        ('kind = "breaking"', 'kind = "harmless"', "says what it breaks and where, and only that"),
        ('scope = "file"', 'scope = "repo"', "evidence in another file needs another file"),
        ('licence = "MIT"', 'licence = "GPL-3.0"', "GPL-3.0 is not among the licences that are accepted"),
        ('title = "Tidy up"', 'titel = "Tidy up"', "titel"),
    ],
)
def test_a_mistake_is_named(before: str, after: str, said: str) -> None:
    assert before in ENTRY
    with pytest.raises(ValidationError, match=said):
        load_entry(ENTRY.replace(before, after))
