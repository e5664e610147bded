"""Gives a manifest of the new code the settings of test runners that it had before, and a source its own tests."""

import json
import re
from typing import cast

_SECTIONS = re.compile(
    r"^\[(?:tool\.pytest[\w.]*|tool:pytest|pytest|tool\.coverage[\w.]*)\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE
)
_KEYS = ("jest", "mocha", "ava", "vitest", "c8", "nyc")
_RUST_TESTS = re.compile(
    r"^#\[cfg\((?:all\()?test\b[^\n]*\]\n(?:#\[[^\n]*\]\n)*(?:pub )?mod \w+ \{\n(?:(?!\})[^\n]*\n)*\}\n?", re.MULTILINE
)


def restore_settings(path: str, before: str, after: str) -> str:
    """A file at head with the part that only tests read as it was before; unchanged where that is the same.

    :param before: its text at the merge base; :param after: at head.
    """
    name = path.rpartition("/")[2]
    if name in {"pyproject.toml", "setup.cfg"}:
        return _restore_sections(before, after)
    if name == "package.json":
        return _restore_keys(before, after)
    return _restore_rust(before, after) if name.endswith(".rs") else after


def _restore_sections(before: str, after: str) -> str:
    old, new = _SECTIONS.findall(before), _SECTIONS.findall(after)
    if [part.strip() for part in old] == [part.strip() for part in new]:
        return after
    rest = _SECTIONS.sub("", after).rstrip("\n")
    return "\n\n".join([rest, *(part.strip("\n") for part in old)]) + "\n"


def _restore_keys(before: str, after: str) -> str:
    old, new = _load_table(before), _load_table(after)
    if not new or all(old.get(key) == new.get(key) for key in _KEYS):
        return after
    kept = {key: value for key, value in new.items() if key not in _KEYS}
    return json.dumps({**kept, **{key: old[key] for key in _KEYS if key in old}}, indent=2)


def _load_table(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, object], value) if isinstance(value, dict) else {}


def _restore_rust(before: str, after: str) -> str:
    old, new = _RUST_TESTS.findall(before), _RUST_TESTS.findall(after)
    if old == new or not old:
        return after
    return _RUST_TESTS.sub("", after).rstrip("\n") + "\n\n" + "\n".join(old)


def is_mixed(path: str) -> bool:
    """Whether a file of the program may hold settings of test runners, or tests of its own."""
    return path.rpartition("/")[2] in {"pyproject.toml", "setup.cfg", "package.json"} or path.endswith(".rs")
