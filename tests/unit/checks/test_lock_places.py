"""What takes the place of a package without a new address, and where pip looks without asking."""

import pytest

from agents.review.checks.locks.comparison import compare
from tests.unit.checks.lock_files import CJS, EVIL, NPM, POETRY, UV, npm, npm_package


@pytest.mark.parametrize(
    "head",
    [
        {"left": npm_package() | CJS},  # nobody asks for it
        {"left": npm_package() | CJS, "other": npm_package(dependencies={"left": "npm:right@1"})},
        {"left": {"resolved": "parts/left", "link": True}},
        {"left": {"version": "1.0.0", "inBundle": True}},
        {"left": npm_package(host=EVIL, value="x", inBundle=True)},
        {"left": npm_package(host=EVIL, value="x", link=True)},
    ],
)
def test_what_takes_the_place_of_a_package_is_named(head: dict[str, dict[str, object]]) -> None:
    found = compare("package-lock.json", NPM, npm(right=npm_package(value="r"), **head))
    assert [each for each in found.faults if "left" in each.packages[0] or each.subject == "left"]


def test_an_alias_is_seen_in_the_manifest_that_asks_for_it() -> None:
    """Not in what the lock file says of that."""
    asked = '"name": "app", "dependencies": {"left": "npm:right@1"}'
    head = npm(left=npm_package() | CJS, right=npm_package(value="r")).replace('"name": "app"', asked)
    assert compare("package-lock.json", NPM, head, {"package.json": f"{{{asked}}}"}).faults == ()
    assert [each.rule for each in compare("package-lock.json", NPM, head).faults] == ["other-package"]


@pytest.mark.parametrize(
    ("path", "base", "known"),
    [("poetry.lock", POETRY, 'hash = "sha256:aa"},'), ("uv.lock", UV, 'hash = "sha256:bb", size = 1 },')],
)
def test_an_archive_has_one_hash(path: str, base: str, known: str) -> None:
    """The right one is still there, so that the package manager would take either."""
    [line] = [line for line in base.split("\n") if known in line]
    head = base.replace(line, f"{line}\n{line.replace('sha256:', 'sha256:e')}")
    assert [each.rule for each in compare(path, base, head).faults] == ["hash-changed"]


@pytest.mark.parametrize(
    ("path", "base", "head"),
    [
        *(
            ("requirements.txt", "left==1\n", f"{option}\nleft==1\n")
            for option in (
                "--trusted-host evil.example",
                "--trusted-host=evil.example",
                "--trusted 'evil.example'",
                "--no-binary left --trusted-host evil.example",
            )
        ),
        ("requirements.txt", None, "--trusted-host evil.example\n"),
        ("pip.conf", None, "[global]\ntrusted-host = evil.example\n"),
        ("etc/pip.ini", "[install]\n", "[install]\ntrusted_host =\n  evil.example\n"),
    ],
)
def test_a_host_that_needs_no_certificate_is_named(path: str, base: str | None, head: str) -> None:
    told = [(each.rule, each.subject) for each in compare(path, base, head).faults]
    assert told == [("no-certificate", "evil.example")]
    assert not compare(path, head, f"{head}\n").faults


@pytest.mark.parametrize(
    ("path", "base", "head"),
    [
        ("requirements.txt", "left==1\n", '--index-url "https://evil.example/simple"\nleft==1\n'),
        ("requirements.txt", "left==1\n", "--no-binary left -i https://evil.example/simple\nleft==1\n"),
        ("pip.conf", None, "[global]\nextra-index-url =\n  https://evil.example/simple\n"),
        ("pip.conf", "[global]\ntimeout = 3\n", "[install]\nfind_links = https://evil.example/\n"),
    ],
)
def test_an_index_is_named_wherever_pip_finds_it(path: str, base: str | None, head: str) -> None:
    assert [(each.rule, each.subject) for each in compare(path, base, head).faults] == [("other-index", "evil.example")]


def test_settings_of_pip_are_not_read_for_all_that_they_say() -> None:
    assert not compare("pip.conf", None, "[global]\nproxy = evil.example\n").is_read
