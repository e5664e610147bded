"""Gives a manifest of the new code the settings of test runners that it had before, and a source its own tests."""

import json
import re
from collections.abc import Mapping
from typing import cast

from agents.testing.earlier_tests.rust import find_rust_tests, restore_rust_tests
from agents.testing.earlier_tests.sides import is_of_tests

_SECTIONS = re.compile(
    r"^\[(?:tool\.pytest[\w.]*|tool:pytest|pytest|tool\.coverage[\w.]*)\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE
)
_KEYS = ("jest", "mocha", "ava", "vitest", "c8", "nyc", "tape")
_SCRIPTS = re.compile(r"(pre|post)?test|unit|mocha|jest|vitest|ava|tape")
_RUST_SWITCH = re.compile(r"^(?:autotests|test|doctest|harness)\s*=\s*false[^\n]*\n?", re.MULTILINE)


def restore_settings(path: str, before: str, after: str) -> str:
    """A file at head with the part that only tests read as it was before; unchanged where that is the same.

    :param before: its text at the merge base; :param after: at head.
    """
    name = path.rpartition("/")[2]
    if name in {"pyproject.toml", "setup.cfg"}:
        return _restore_sections(before, after)
    if name == "package.json":
        return _restore_keys(before, after)
    if name == "Cargo.toml":
        return after if _RUST_SWITCH.search(before) else _RUST_SWITCH.sub("", after)
    return restore_rust_tests(before, after) if name.endswith(".rs") else after


def keep_tests(path: str, text: str) -> str:
    """The part of a source that is of its tests: all of it, but where the program and its tests share a file."""
    return find_rust_tests(text) if path.endswith(".rs") and not is_of_tests(path) else text


def _restore_sections(before: str, after: str) -> str:
    old, new = _SECTIONS.findall(before), _SECTIONS.findall(after)
    if [part.strip() for part in old] == [part.strip() for part in new]:
        return after
    rest = _SECTIONS.sub("", after).rstrip("\n")
    return "\n\n".join([rest, *(part.strip("\n") for part in old)]) + "\n"


def _restore_keys(before: str, after: str) -> str:
    old, new = _load_table(before), _load_table(after)
    tests, others = _divide_scripts(old)[0], _divide_scripts(new)
    if not new or (tests == others[0] and all(old.get(key) == new.get(key) for key in _KEYS)):
        return after
    kept = {key: value for key, value in new.items() if key not in _KEYS}
    found = {key: old[key] for key in _KEYS if key in old}
    return json.dumps({**kept, **found, "scripts": {**others[1], **tests}}, indent=2)


def _divide_scripts(table: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """The scripts that run tests, and the others."""
    value = table.get("scripts")
    scripts = cast(dict[str, object], value) if isinstance(value, dict) else {}
    tests = {key: text for key, text in scripts.items() if _SCRIPTS.match(key)}
    return tests, {key: text for key, text in scripts.items() if key not in tests}


def _load_table(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, object], value) if isinstance(value, dict) else {}
