"""Compares a test with what stands in its place: what it demanded, what is demanded now, and whether that is less."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import isclose

from agents.syntax.tests import TestText
from domain.runs.earlier_tests import LONGEST_CELL
from domain.text.line_diff import list_changes

_SHOWN = 12
"""Lines of a test that are kept to be shown."""
_QUOTED_CHECKS = 6
_ALIKE = 0.5
_DESELECTS = re.compile(
    r"ignore|deselect|exclude|skip|testpaths|norecursedirs|python_(?:files|functions|classes)|testMatch|testRegex|"
    r"PathPattern|(?:^|[\s\"'=])-[km]\b|--?(?:grep|tag|filter|pattern|skip)|\bonly\b|items",
    re.IGNORECASE,
)
_FRAMEWORK = re.compile(
    r"def|test|it|describe|expect|assert|self|func|t|testing|function|async|await|const|let|var|return|should|"
    r"to|be|eq|equal|import|from|class|public|void|fn|assert_eq|end|do|toBe|toEqual|assertEqual|assertEquals|"
    r"require|true|false|none|null|nil|not|is|in|if|else|for|with|as|new|this|then"
)
_WORD = re.compile(r"\w+")
_CHECK = re.compile(
    r"assert|expect|should|\brequire\b|\bcheck\b|verif|raises|throws?\b|\bfail|must|t\.(Error|Fatal)|\[\[? |\bis\(|"
    r"\bok\(|snapshot|matches|\bEnsure|panic",
    re.IGNORECASE,
)
_EXACT = re.compile(
    r"==|!=|toBe\(|equal|eql?\b|assert_eq|\bsame\b|IsEqual|EqualTo|raises|throws?\b|toThrow|panic|match|snapshot|contain|"
    r"include|\bin\b|startswith|endswith|calledwith|called_with|have_attributes|\bbe [(:\d]|shouldBe|deepStrict|status|"
    r"\bcalled\b|count|length|-eq",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"is not None|not\.?to\.?be_?(nil|null|undefined)|toBeDefined|toBeTruthy|NotNull|not_nil|NotNil|isinstance|"
    r"InstanceOf|instance_of|be_a\b|be_truthy|is_some|is_ok|assertTrue\(\s*[\w.]+\([^=<>]*\)\s*\)|typeof|"
    r"!= (None|null|nil|undefined)\b|\bAny\(|anything\(|is_a\b|ANY\b|not_to raise|DoesNotThrow|does_not_raise|"
    r"doesNotThrow|not\.toThrow",
    re.IGNORECASE,
)
_VACUOUS = re.compile(
    r"assert\w*[\s(!]+(True|true|1)\s*[,);]*\s*$|\bor (True|1)\b|\|\|\s*true\b|expect\((true|1)\)|"
    r"(?P<one>[\w.\"']+(\([^()]*\))?)\s*==\s*(?P=one)(?![\w.(\[])|assert\w*\(\s*(?P<same>[\w.\"']+)\s*,\s*(?P=same)\s*[,)]"
)
_EVADES = re.compile(
    r"monkeypatch|\bmock|patch\(|patch\.|setattr\(|\bstub|spyOn|sinon|allow\(|defineProperty|sys\.modules|\bMagicMock|"
    r"^\s*(try|except|rescue|catch)\b|\btry\s*[:{]|suppress\(|\bcatch\b|^\s*return\s*;?$|skip|xfail|"
    r"\bif (False|false|0)\b|todo\(|\.fails\b|pending|Ignore|Disabled|\bprototype\.\w+\s*=|collect_ignore|deselect|"
    r"pytest_\w+\(|"
    r"^\s*[A-Za-z_][\w.]*\.\w+ = (lambda|function|\()",
    re.IGNORECASE | re.MULTILINE,
)
_EXPECTS_FAILURE = re.compile(
    r"should_panic|expectedFailure|\bfailing\(|(?:raises?(?:_error)?|throws?|expectException)\W[^,)]*Assert\w*(?:Error|Fail)",
    re.IGNORECASE,
)
_ROUGHLY = re.compile(
    r"close_?to\b|approx|almost_?(?:equal|eq)|in_?(?:delta|epsilon)\b|with_?delta|be_within|\.within\(|is_?close|"
    r"all_?close|\b(?:[ar]tol|abs_tol|rel_tol|tolerance|epsilon|delta|places)\s*[=:]\s*[-.\d]",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'|(?<![\w.])\d[\w.]*")
_LAST_NUMBER = re.compile(r"-?\d[\w.+-]*(?=\s*\)[\s);]*$)")
_ROUNDING = 1e-6  # of a value
_ASSERTED = re.compile(r"\bassert(?:ion)?\b[^\n]* failed|AssertionError|AssertionFailed|Failed asserting")
_FAILS_TO_MATCH = re.compile(rf"{_ASSERTED.pattern}|expected|expect\(", re.IGNORECASE)
_BRACKET = re.compile(r"[()]")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`")
_NOTE = re.compile(r"\s(?:#|//)\s.*$")
_TELLING = 12  # characters of a text that no output has by chance
_LOADS = re.compile(r"\s*(?:require|import|from|use|using)\b")
_HEAD = re.compile(r"\s*(?:@|(?:async )?def \w+\()")
_LONGEST_CHECK = 8  # lines after the first of a check that is shown as one
_COMMENT = re.compile(r"^\s*(#(?!\[)|//|\*|/\*)")
_OUTPUT_OF_GO = re.compile(r"\s*//\s*(?:unordered )?output:", re.IGNORECASE)
_OPEN = re.compile(r"(?:[(\[]|[(\[=:,]\s*\{)$")


class _Strength(IntEnum):
    nothing = 0
    weak = 1
    exact = 2


@dataclass(frozen=True)
class Version:
    """One test as a file has it.

    :param lines: its own, with what stands above it.
    """

    path: str
    test: TestText
    lines: tuple[str, ...]

    @property
    def code(self) -> list[str]:
        """The lines that say something, without layout."""
        return [" ".join(line.split()) for line in self.lines if line.strip() and not _COMMENT.match(line)]


@dataclass(frozen=True)
class Difference:
    """How a test differs from what stands in its place.

    :param demanded: what it demanded and is not there any more; :param now: what stands there.
    :param is_less: whether that demands less, or keeps the test from failing.
    :param path: of the file that has these lines; empty if it is the test's own.
    """

    demanded: tuple[str, ...] = ()
    now: tuple[str, ...] = ()
    is_less: bool = False
    path: str = ""


def list_versions(path: str, text: str, tests: Sequence[TestText]) -> list[Version]:
    """The tests of a file with their lines."""
    lines = text.split("\n")
    found = [Version(path, each, tuple(lines[each.start - 1 : each.end])) for each in tests]
    return [replace(each, lines=_read_output(each.lines)) if path.endswith("_test.go") else each for each in found]


def _read_output(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a test of Go, in which the comment with the output that an example demands is none."""
    first = next((at for at, line in enumerate(lines) if _OUTPUT_OF_GO.match(line)), len(lines))
    return (*lines[:first], *(line.strip().removeprefix("//") for line in lines[first:]))


def find_failing_line(version: Version, output: str) -> int | None:
    """The line of a test at which it failed, from 1 within the file, by the last place in it that its output names.

    Its head is none: what fails there is a fixture.
    """
    name = re.escape(version.path.rpartition("/")[2])
    places = re.finditer(rf"{name}[\"']?(?:[:(]|,? line )(\d{{1,7}})", output)
    inside = [line for line in (int(found[1]) for found in places) if version.test.start <= line <= version.test.end]
    inside = [line for line in inside if not _HEAD.match(version.lines[line - version.test.start])]
    return inside[-1] if inside else None


def quote(version: Version, line: int | None) -> tuple[str, ...]:
    """The lines that demanded something: the failing one, else those that look like it."""
    whole = _join_checks(_strip(version.lines))
    if line is not None:
        return (whole[line - version.test.start],)
    return tuple(dict.fromkeys(each for each in whole if _CHECK.search(_keep_code(each))))[-_QUOTED_CHECKS:]


def compare(before: Version, after: Version, failing: int | None, output: str = "") -> Difference:
    """How two versions of a test differ.

    :param failing: the line at which the first fails now, from 1 within its file; :param output: what it printed.
    """
    old, new = _strip(before.lines), _strip(after.lines)
    at = None if failing is None else failing - before.test.start
    changes = list_changes(old, new)
    hit = [each for each in changes if at is not None and each.start <= at < each.end]
    chosen = hit or changes
    whole_before, whole_now = _show_lines(old), _show_lines(new)
    removed = [at for start, end, _, _ in chosen for at in range(start, end) if old[at]]
    added = [at for _, _, start, end in chosen for at in range(start, end) if new[at]]
    added = added or [at for _, _, start, end in changes for at in range(start, end) if new[at]]
    added_anywhere = [line for _, _, start, end in changes for line in new[start:end]]
    evades = evades_more([line for each in changes for line in old[each.start : each.end]], added_anywhere)
    is_less = evades or not added
    gone, fresh = _drop_moved(removed, old, new), _drop_moved(added, new, old)
    if gone or fresh:  # else only the order differs
        removed, added = gone, fresh
    chosen_lines = (
        _choose([whole[at] for at in places], output) for whole, places in ((whole_before, removed), (whole_now, added))
    )
    demanded, now = (
        tuple(sorted(tell_something([*dict.fromkeys(each)]), key=lambda line: not _is_told(line, output))[:_SHOWN])
        for each in chosen_lines
    )
    return Difference(demanded or _cut_check(old, removed), now or _cut_check(new, added), is_less)


def _is_told(line: str, output: str) -> bool:
    """Whether an output shows all values of a line, as it does those of the row of a table that fails."""
    values = [value for found in _LITERAL.findall(line) if (value := found.strip("\"'"))]
    return bool(values) and all(each in output for each in values)


def _drop_moved(places: Sequence[int], lines: Sequence[str], others: Sequence[str]) -> list[int]:
    """The places of lines that do not stand in the other version as well, but for their layout and a comma behind."""
    there = {"".join(line.split()).rstrip(",") for line in others}
    return [at for at in places if "".join(lines[at].split()).rstrip(",") not in there]


def _cut_check(lines: Sequence[str], at: Sequence[int]) -> tuple[str, ...]:
    """The beginning of the check that the first of some lines is part of, where it is too long to be shown.

    Of what only opens something, as a call over several lines does, it is that line.
    """
    whole = _join_checks(lines)[at[0]] if at else ""
    is_part = len(whole) > LONGEST_CELL or _OPEN.search(whole)
    return (f"{whole[: LONGEST_CELL - 1]}…",) if is_part else ()


def _show_lines(lines: Sequence[str]) -> list[str]:
    """Each line, or the whole check that it is part of, where that is short enough to be shown."""
    joined = zip(lines, _join_checks(lines), strict=True)
    return [whole if len(whole) <= LONGEST_CELL else line for line, whole in joined]


def tell_something(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines that say something by themselves: a bracket does not, nor does what only opens one."""
    return tuple(line for line in lines if _WORD.search(line) and not _OPEN.search(line))


def evades_more(removed: Sequence[str], added: Sequence[str]) -> bool:
    """Whether lines that were added keep a test from failing: they replace the subject, skip, or catch.

    What is quoted, such as a title, or only a comment keeps nothing from failing.
    """
    before, after = (
        Counter(found[0].strip().lower() for line in lines for found in _EVADES.finditer(_keep_code(line)))
        for lines in (removed, added)
    )
    return bool(after - before)


def names_error(before: Version, after: Version, output: str) -> bool:
    """Whether a test newly demands the very text of the error that its program ended with, as its output shows."""
    if _FAILS_TO_MATCH.search(output):
        return False
    old = set(before.code)
    demanded = [line for line in after.code if line not in old and _CHECK.search(_keep_code(line))]
    texts = (found[0][1:-1] for line in demanded for found in _QUOTED.finditer(line))
    return any(len(text) >= _TELLING and text in output for text in texts)


def expects_failure_more(removed: Sequence[str], added: Sequence[str]) -> bool:
    """Whether lines that were added let a test pass because its assertion fails."""
    before, after = (sum(len(_EXPECTS_FAILURE.findall(line)) for line in lines) for lines in (removed, added))
    return after > before


def failed_at_assertion(output: str) -> bool:
    """Whether a test failed at an assertion, and not at an error of what it tests."""
    return _ASSERTED.search(output) is not None


def deselects_more(removed: Sequence[str], added: Sequence[str]) -> bool:
    """Whether settings, hooks or scripts leave tests out that they did not leave out before."""
    before, after = (sum(len(_DESELECTS.findall(line)) for line in lines) for lines in (removed, added))
    return after > before


def checks_less(removed: Sequence[str], added: Sequence[str]) -> bool:
    """Whether lines that took the place of others demand less than they did."""
    return _measure(added) < _measure(removed)


def is_rougher(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether lines ask for the same values as before, with a tolerance that they did not have, or another one."""
    old, new = (sum(len(_ROUGHLY.findall(line)) for line in lines) for lines in (before, after))
    if new > old:
        return _keeps_all(before, after)
    first, second = (
        [_LAST_NUMBER.sub("", line) if _ROUGHLY.search(line) else line for line in lines] for lines in (before, after)
    )
    return first == second and [*before] != [*after]


def demands(lines: Sequence[str]) -> bool:
    """Whether some lines of code demand something; one that loads a module does not."""
    code = [_keep_code(line) for line in lines if not _LOADS.match(line)]
    return any(_CHECK.search(line) for line in code)


def differs_little(demanded: Sequence[str], output: str) -> bool:
    """Whether an output shows a number that is next to one that was demanded, as sums of fractions are."""
    wanted = [float(number) for line in demanded for number in _NUMBER.findall(line)]
    shown = [float(number) for number in _NUMBER.findall(output)]
    return any(one != other and isclose(one, other, rel_tol=_ROUNDING) for one in wanted for other in shown)


def measure_likeness(one: Version, other: Version) -> float:
    """How much two tests say the same, from 0 to 1, whatever framework or name they have."""
    first, second = _count_words(one), _count_words(other)
    if not first or not second:
        return 0.0
    alike = 2 * sum((first & second).values()) / (first.total() + second.total())
    return max(alike, 0.8 * len(first.keys() & second.keys()) / len(first))


def find_stand_in(test: Version, candidates: Sequence[Version]) -> Version | None:
    """The test that took the place of one that is not there any more: its name or what it says is alike."""
    rated = [(measure_likeness(test, each) + 0.2 * (each.test.name == test.test.name), each) for each in candidates]
    best = max(rated, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] >= _ALIKE else None


def demands_something(version: Version) -> bool:
    """Whether a test can fail at an assertion of its own."""
    return _measure(_strip(version.lines)) is not _Strength.nothing


def keeps_literals(before: Version, after: Version) -> bool:
    """Whether all values and texts of a test are still in it, so that only names in it changed."""
    return _keeps_all(before.code, after.code)


def _keeps_all(before: Sequence[str], after: Sequence[str]) -> bool:
    old, new = (Counter(found[0] for line in lines for found in _LITERAL.finditer(line)) for lines in (before, after))
    return not old - new


def _count_words(version: Version) -> Counter[str]:
    words = (word for line in version.code for word in _WORD.findall(line))
    return Counter(word for word in words if not _FRAMEWORK.fullmatch(word) and word != version.test.name)


def _keep_code(line: str) -> str:
    """A line without what is quoted in it, and without its comment."""
    return "" if _COMMENT.match(line) else _NOTE.sub("", _QUOTED.sub('""', line))


def _strip(lines: Sequence[str]) -> list[str]:
    return [" ".join(line.split()) if not _COMMENT.match(line) else "" for line in lines]


def _join_checks(lines: Sequence[str]) -> list[str]:
    """Each line, or the whole check that it is part of, where formatters spread that over several lines."""
    whole, opened = dict(enumerate(lines)), list[int]()
    joined = set[int]()
    for at, line in enumerate(lines):
        for bracket in _BRACKET.findall(_QUOTED.sub("", line)):
            if bracket == "(":
                opened.append(at)
                continue
            start = opened.pop() if opened else at
            if 0 < at - start <= _LONGEST_CHECK and _CHECK.search(_keep_code(lines[start])):
                inside = {*range(start, at + 1)} - joined  # an inner check was closed before
                whole |= dict.fromkeys(inside, " ".join(filter(None, lines[start : at + 1])))
                joined |= inside
    return [whole[at] for at in range(len(lines))]


def _choose(lines: Sequence[str], output: str) -> list[str]:
    """The lines that demand something, as a row of a table does that an output shows; else all."""
    telling = [
        line for line in lines if _CHECK.search(_keep_code(line)) or (line.endswith(",") and _is_told(line, output))
    ]
    return telling or [line for line in lines if line]


def _measure(lines: Sequence[str]) -> _Strength:
    strength = _Strength.nothing
    text = [line for line in lines if line and not _COMMENT.match(line)]
    for line in text:
        if _VACUOUS.search(line) or not (_CHECK.search(line) or _EXACT.search(line)):
            continue
        is_weak = _WEAK.search(line) is not None or not _EXACT.search(line)
        strength = max(strength, _Strength.weak if is_weak else _Strength.exact)
    return strength
