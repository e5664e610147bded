"""The name of the branch for an issue: readable, and one that git takes whatever the title is."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.github.commits import add_suffix, make_branch_name

ODD = st.text(alphabet="ab.-/@{}~^:?*[\\ \t\n\0\x1b\u202e\u200déßŁ字'", max_size=80)
TITLES = st.one_of(st.text(max_size=300), ODD, st.sampled_from([".lock", "a.lock", "..", "@{", "@", "-", "HEAD"]))


def are_valid_refs(names: list[str]) -> bool:
    """Whether git takes all names, in one process."""
    script = 'for name; do git check-ref-format --branch "$name" >/dev/null || exit 1; done'
    return subprocess.run(["sh", "-c", script, "sh", *names], check=False, capture_output=True).returncode == 0


@given(st.lists(TITLES, min_size=1, max_size=40), st.integers(1, 2**31))
def test_git_takes_every_name(titles: list[str], number: int) -> None:
    names = [make_branch_name(number, title) for title in titles]
    assert are_valid_refs([*names, *(add_suffix(name, 2) for name in names)])
    assert all(name.startswith(f"forge/{number}") and len(name) <= 70 and name.isascii() for name in names)


def test_git_would_say_if_a_name_were_none() -> None:
    assert not are_valid_refs(["forge/12", "forge/12..x"])


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Discounts", "forge/12-discounts"),
        ("Don't charge twice (again)!", "forge/12-dont-charge-twice-again"),
        ("Größe: naïve Łódź", "forge/12-grosse-naive-odz"),
        ("割引", "forge/12"),
        ("🎉", "forge/12"),
        ("", "forge/12"),
        ("a/b.lock", "forge/12-a-b-lock"),
        ("../../main", "forge/12-main"),
        ("x\u202ey\x1b[31mz", "forge/12-xyz"),
        (
            "Let people choose the currency in which prices are shown",
            "forge/12-let-people-choose-the-currency-in-which",
        ),
        ("x" * 300, "forge/12-" + "x" * 40),
    ],
)
def test_a_name_reads_like_the_title(title: str, name: str) -> None:
    assert make_branch_name(12, title) == name


def test_the_same_title_gives_the_same_name() -> None:
    assert make_branch_name(12, "Discounts") == make_branch_name(12, " discounts ")


def test_a_secret_in_a_title_does_not_become_a_name() -> None:
    secret = "ghp_" + "a1B2" * 9
    assert "a1b2" not in make_branch_name(12, f"Rotate {secret}")


def test_a_taken_name_gets_a_number() -> None:
    assert add_suffix("forge/12-discounts", 2) == "forge/12-discounts-2"
    assert add_suffix("forge/12", 3) == "forge/12-3"
