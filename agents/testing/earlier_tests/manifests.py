"""Gives the new code the settings of test runners that it had before, and a source of Rust the tests it had before."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from agents.testing.earlier_tests.choice import is_of_tests

_TOKEN = re.compile(
    r"""
      //[^\n]* | /\*(?:.*?\*/|.*)
    | (?<!\w)[bc]?r(?P<hashes>\#*)"(?:.*?"(?P=hashes)|.*) | "(?:\\.|[^"\\])*"? | '(?:\\.[^'\n]{0,12}|[^'\\\n])'
    | [{}()\[\];]
    """,
    re.VERBOSE | re.DOTALL,
)
"""Brackets, and what may hold some that are none; whatever does not end goes to the end of the file."""
_LINE_END = re.compile(r"[ \t]*(?://[^\n]*)?\n?")
_GOES_ON = re.compile(r"\s*[;.,?)]")
_CASE = re.compile(r"\[\s*(?:\w+::)*(?:test|rstest|test_case|quickcheck|bench)\b")
_FOR_TESTS = re.compile(r"\[\s*cfg\s*\(\s*(?:all\s*\(\s*)?test\b")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAMED = re.compile(
    r"\b(mod|fn|static(?:\s+mut)?|const(?!\s+(?:fn|unsafe|async|extern)\b)|struct|enum|trait|type|macro_rules!)\s+(\w+)"
)


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


@dataclass(frozen=True)
class _Item:
    """One item at the top of a file.

    :param text: with what stands above it, up to the end of its line.
    :param attributes: in their brackets, one after the other; :param code: what follows them.
    """

    text: str
    attributes: str
    code: str

    @property
    def key(self) -> tuple[str, ...]:
        """Its kind and name, or all of it if it has none."""
        code = _COMMENTS.sub("", self.code)
        named = _NAMED.search(code.partition("{")[0])
        return named.groups() if named else tuple(code.split())

    @property
    def is_of_tests(self) -> bool:
        """Whether only builds for tests have it."""
        return self.is_case or _FOR_TESTS.search(self.attributes) is not None

    @property
    def is_case(self) -> bool:
        """Whether it is a test by itself."""
        return _CASE.search(self.attributes) is not None


def find_rust_tests(text: str) -> str:
    """The part of a source that only its tests need."""
    return "".join(each.text for each in _divide(text) if each.is_of_tests)


def restore_rust_tests(before: str, after: str) -> str:
    """A source with the tests of another version in the place of its own; unchanged where these are the same.

    What is of the tests there stands where it stood, or after what it followed. A test, or a module of them, also
    replaces what bears its name and is none any more; of a helper that the program has now, that one stays.
    """
    old, new = [*_divide(before)], [*_divide(after)]
    tests = [each for each in old if each.is_of_tests]
    if not tests or tests == [each for each in new if each.is_of_tests]:
        return after
    waiting: defaultdict[tuple[str, ...], list[_Item]] = defaultdict(list)
    for each in tests:
        waiting[each.key].append(each)
    kept: list[_Item] = []
    for item in new:
        same = waiting[item.key].pop(0) if waiting[item.key] else None
        if same is not None and (item.is_of_tests or same.is_case or same.key[0] == "mod"):
            kept.append(same)
        elif not item.is_of_tests:
            kept.append(item)
    for at, item in enumerate(old):
        if any(each is item for each in waiting[item.key]):
            keys = [each.key for each in kept]
            kept.insert(keys.index(old[at - 1].key) + 1 if at and old[at - 1].key in keys else len(kept), item)
    return "".join(each.text for each in kept)


def _divide(text: str) -> Iterator[_Item]:
    """The items of a file; comments and attributes for all of it are items, too, and so is what is left at its end."""
    text = text if text.endswith("\n") else f"{text}\n"
    depth = start = opened = code = 0
    attributes: list[str] = []
    for token in _TOKEN.finditer(text):
        mark, end = token[0], token.end()
        if end <= start:
            continue  # behind the last item, on its line
        is_attribute = is_for_all = False
        if mark in "{([":
            opened, depth = (opened if depth else token.start()), depth + 1
        elif mark in "})]":
            depth = max(0, depth - 1)
            is_attribute = depth == 0 and mark == "]" and text[opened - 1 : opened] in {"#", "!"}
            is_for_all = is_attribute and text[opened - 1] == "!"
        if is_attribute:
            attributes.append(text[opened:end])
            code = end
        is_over = mark == ";" or is_for_all or (mark == "}" and not _GOES_ON.match(text, end))
        if depth == 0 and (is_over or mark.startswith(("//!", "/*!"))):
            line_end = _LINE_END.match(text, end)
            stop = line_end.end() if line_end else end
            yield _Item(text[start:stop], "".join(attributes), text[max(code, start) : end])
            start = code = stop
            attributes.clear()
    if start < len(text):
        yield _Item(text[start:], "".join(attributes), text[max(code, start) :])
