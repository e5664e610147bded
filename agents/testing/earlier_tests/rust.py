"""Gives a source of Rust the tests of another version, as its program and its tests share one file."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

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
            start, code, attributes = stop, stop, []
    if start < len(text):
        yield _Item(text[start:], "".join(attributes), text[max(code, start) :])
