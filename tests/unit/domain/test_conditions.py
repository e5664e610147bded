"""The language of conditions: what holds, what is refused, and that nothing else gets in."""

import contextlib
import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.conditions import (
    LONGEST,
    MAX_DEPTH,
    MAX_WILDCARDS,
    NAMES,
    Condition,
    ConditionError,
    ValueKind,
)
from domain.config.configuration import Preset
from domain.config.presets import build
from domain.verdicts import Reason

PAGE = Path(__file__).parents[3] / "docs" / "gates.md"
CONTEXT: Mapping[str, object] = {
    "review.lines_changed": 612,
    "review.files_changed": 3,
    "review.paths": ["db/001.sql", "db/002.sql", "src/app.py"],
    "review.risk_level": "medium",
    "review.decision": "approve",
    "review.from_fork": False,
    "review.first_time": True,
    "review.author": "Ann",
    "testing.coverage_delta": -2.5,
    "run.cost": 0.75,
    "run.trigger": "command",
}


def _holds(text: str, context: Mapping[str, object] = CONTEXT) -> bool:
    return Condition(text).holds(context)[0]


def _get_error(text: str) -> ConditionError:
    with pytest.raises(ConditionError) as caught:
        Condition(text)
    assert "\n" not in str(caught.value)
    return caught.value


def _tree(reason: Reason, depth: int = 0) -> list[str]:
    return [f"{'  ' * depth}{reason.text}", *(line for child in reason.children for line in _tree(child, depth + 1))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("false", False),
        ("not false", True),
        ("review.first_time", True),
        ("not review.first_time", False),
        ("review.lines_changed > 500", True),
        ("review.lines_changed > 612", False),
        ("review.lines_changed >= 612", True),
        ("review.lines_changed<=612", True),
        ("review.lines_changed < 612", False),
        ("review.lines_changed == 612.0", True),
        ("review.lines_changed != 612", False),
        ("500 < review.lines_changed <= 612", True),
        ("500 < review.lines_changed < 612", False),
        ("10 > review.files_changed < 5", True),
        ("testing.coverage_delta < -2", True),
        ("testing.coverage_delta < -2.5", False),
        ("run.cost > 0.5", True),
        ("review.lines_changed > review.files_changed", True),
        ("review.risk_level == 'medium'", True),
        ('review.risk_level >= "medium"', True),
        ('review.risk_level > "medium"', False),
        ('"low" < review.risk_level < "critical"', True),  # by rank, not by alphabet
        ('review.risk_level in ["high", "critical"]', False),
        ('review.risk_level not in ["high", "critical"]', True),
        ('review.decision != "approve"', False),
        ("review.files_changed in [1, 2, 3]", True),
        ('review.author == "ann"', True),
        ('review.author in ["@ANN", "bob"]', True),
        ('review.author not in ["bob"]', True),
        ('"src/app.py" in review.paths', True),
        ('"app.py" in review.paths', False),
        ('"src/other.py" not in review.paths', True),
        ('matches(review.paths, "db/**")', True),
        ('matches(review.paths, "*.md", "src/*")', True),
        ('matches(review.paths, "*.py")', False),
        ('not matches(review.paths, "docs/**")', True),
        ("review.from_fork == false", True),
        ("(review.files_changed > 5) == review.from_fork", True),
        ("false and false or true", True),
        ("false and (false or true)", False),
        ("not false and false", False),
        ("not (false and false)", True),
        ("not review.lines_changed > 900", True),
        (" ( ( true ) )\n and\ttrue ", True),
    ],
)
def test_what_holds(text: str, expected: bool) -> None:
    assert _holds(text) is expected


def test_the_reason_shows_every_part_with_the_value_found() -> None:
    condition = Condition('review.risk >= 5 and (review.from_fork or not matches(review.paths, "db/**"))')
    held, reason = condition.holds({**CONTEXT, "review.risk": 42})
    assert not held
    whole, *parts = _tree(reason)
    assert whole == (
        'review.risk (42) >= 5 and (review.from_fork (false) or not matches(review.paths, "db/**") '
        '("db/001.sql" and 1 more)): does not hold'
    )
    assert parts == [
        "  review.risk (42) >= 5",
        '  review.from_fork (false) or not matches(review.paths, "db/**") ("db/001.sql" and 1 more): does not hold',
        "    review.from_fork (false): does not hold",
        '    not matches(review.paths, "db/**") ("db/001.sql" and 1 more): does not hold',
        '      matches(review.paths, "db/**") ("db/001.sql" and 1 more)',
    ]
    assert (reason.code, reason.children[0].code) == ("condition.fails", "condition.holds")
    assert (reason.children[0].value, reason.children[0].threshold) == (42, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plan.tasks > 3", True),
        ("not plan.tasks > 3", True),
        ("plan.tasks > 3 or review.from_fork", True),
        ("plan.tasks > 3 and review.first_time", True),
        ("plan.tasks > 3 and review.from_fork", False),  # fails whatever the plan was
        ("not (plan.tasks > 3 or review.first_time)", False),
        ('plan.risk_level in ["high"]', True),
        ('plan.risk_level == "high"', True),
        ("1 < plan.tasks < 3", True),
        ("review.files_changed < 3 < plan.tasks", False),
    ],
)
def test_what_is_not_known_yet_asks_a_person_unless_it_cannot_matter(text: str, expected: bool) -> None:
    held, reason = Condition(text).holds(CONTEXT)
    assert held is expected
    if expected:
        assert reason.code == "condition.unknown"
        assert " is not known yet, so a person is asked" in reason.text
        assert "(not known yet)" in "\n".join(_tree(reason))


def test_what_is_known_decides_where_the_rest_does_not_matter() -> None:
    held, reason = Condition("plan.tasks > 3 or review.first_time").holds(CONTEXT)
    assert (held, reason.code) == (True, "condition.holds")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("review.lines_changed", ["many", True, float("nan"), float("inf"), 10**400, None]),
        ("review.risk_level", ["extreme", 3]),
        ("review.author", [7, None]),
        ("review.paths", ["db/a.sql", [1], None]),
        ("review.from_fork", ["false", 0]),
    ],
)
def test_a_value_of_another_type_is_not_known(name: str, wrong: list[object]) -> None:
    text = {
        ValueKind.number: f"{name} > 500",
        ValueKind.text: f'{name} == "high"',
        ValueKind.login: f'{name} == "ann"',
        ValueKind.texts: f'matches({name}, "x")',
        ValueKind.flag: name,
    }[NAMES[name].type.kind]
    for value in wrong:
        held, reason = Condition(text).holds({name: value})
        assert (held, reason.code) == (True, "condition.unknown")


@pytest.mark.parametrize(
    "text",
    [
        "().__class__",
        "().__class__.__bases__[0]",
        "review.__class__",
        "review.paths.__class__",
        "__import__('os').system('true')",
        "__builtins__",
        "lambda: true",
        "(lambda: true)()",
        "[x for x in review.paths]",
        "{x for x in review.paths}",
        "any(x for x in review.paths)",
        "f'{review}'",
        "b'x' == 'x'",
        "'%s' % review.author",
        "'a' 'b' == 'ab'",
        "9**9**9 > 1",
        "1 + 1 == 2",
        "'a' * 9 == 'a'",
        "review.lines_changed // 2 > 1",
        "(x := 1)",
        "true if true else false",
        "review.paths[0] == 'x'",
        "eval('1')",
        "getattr(review, 'paths')",
        "open('/etc/passwd')",
        "matches('x', 'y')",
        "matches(review.paths, review.author)",
        "matches",
        "true; false",
        "true # comment",
        "await true",
        "yield",
        "not",
        "True",
        "None",
        "1e9 > 1",
        "0x10 > 1",
        "1_000 > 1",
        "1j == 1",
        "... == 1",
        "review.",
        ".lines_changed > 1",
        "review . lines_changed > 1",
        "'\\x41' == 'A'",
        "'a\nb' == 'a'",
        "true \x00",
        "тrue",
        "review.lines_changed > ５",
        "\u202etrue",
    ],
)
def test_tricks_are_refused(text: str) -> None:
    _get_error(text)


@pytest.mark.parametrize(
    ("text", "what", "allowed", "nearest"),
    [
        ("", "is empty", "`and`, `or`, `not`, comparisons", ""),
        (" \n", "is empty", "`and`, `or`, `not`, comparisons", ""),
        ("review.lines_changed >", "ends too early", "`and`", ""),
        (
            "review.line_changed > 5",
            "names `review.line_changed`, which Forge does not know",
            "`review.lines_changed`, ",
            "review.lines_changed",
        ),
        ("plan.task > 5", "names `plan.task`, which", "`plan.risk_level`, `plan.tasks`", "plan.tasks"),
        ("cost > 5", "names `cost`, which Forge does not know", "`review.lines_changed`, ", "run.cost"),
        ("ture", "names `ture`, which", "`review.lines_changed`, ", "true"),
        ("true && false", "cannot be read at character 6, `&&`", "`and`", "and"),
        ("true OR false", "cannot be read at character 6, `OR`", "`and`", "or"),
        ("!review.from_fork", "cannot be read at character 1, `!`", "`and`", "not"),
        ("review.risk = 5", "cannot be read at character 13, `=`", "`and`", "=="),
        ("review.first_time not true", "cannot be read at `true`", "`and`", ""),
        ("review.first_time or (true", "ends too early", "`and`", ""),
        ("review.lines_changed", "takes `review.lines_changed`, a number, for true or false", "a comparison", ""),
        ("review.author or true", "takes `review.author`, a login, for true or false", "a comparison", ""),
        ("not review.risk", "takes `review.risk`, a number, for true or false", "a comparison", ""),
        (
            'review.lines_changed > "500"',
            'compares `review.lines_changed`, a number, with `"500"`, text',
            "values of the same kind",
            "",
        ),
        (
            "review.from_fork == 0",
            "compares `review.from_fork`, true or false, with `0`, a number",
            "values of the",
            "",
        ),
        ("review.risk_level > 50", "compares `review.risk_level`, text, with `50`, a number", "values of the", ""),
        ("review.files_changed in [1, 'two']", "compares `review.files_changed`, a number, with", "values of the", ""),
        ("review.paths == 'x'", "compares `review.paths`, a list of texts, with", "values of the", ""),
        (
            "review.risk_level == 'hihg'",
            "compares with `'hihg'`, which is never the case",
            "`low`, `medium`, `high`, `critical`",
            "high",
        ),
        ("run.trigger in ['comand']", "compares with `'comand'`", "`pull_request`", "command"),
        ("review.risk_level == review.author", "compares `review.risk_level` with `review.author`", "names that", ""),
        ("review.author > 'a'", "puts `review.author` and `'a'` in order with `>`", "numbers and risk levels", ""),
        ("review.decision < 'approve'", "puts `review.decision` and", "numbers and risk levels", ""),
        ("review.from_fork < true", "puts `review.from_fork` and", "numbers and risk levels", ""),
        ("review.author in 'ann'", "looks for something in `'ann'`, which is no list", "a list", ""),
        ("review.risk in review.paths", "looks for `review.risk` in `review.paths`", "text in a list", ""),
        ("[1] == 1", "has the list `[1]` in a place for one value", "a list after `in`", ""),
        ("review.author in []", "has an empty list", "at least one value", ""),
        ("matches(review.author, 'x')", "matches `review.author` with patterns", "`review.paths`", ""),
        ("matches(review.paths)", "has a `matches` without a pattern", "`matches(review.paths, ", ""),
        ("matches(review.paths, '')", "has the pattern ``, which is empty", "patterns such as", ""),
        ("matches(review.paths, '/db')", "has the pattern `/db`, which starts with “/”", "patterns such as", ""),
        ("matches(review.paths, '../x')", "has the pattern `../x`, which holds “.” or “..”", "patterns such as", ""),
    ],
)
def test_a_mistake_says_what_is_wrong_and_what_would_be_right(text: str, what: str, allowed: str, nearest: str) -> None:
    error = _get_error(text)
    assert error.what.startswith(what)
    assert error.allowed.startswith(allowed)
    assert error.nearest == nearest


def test_bounds() -> None:
    assert _holds("(" * MAX_DEPTH + "true" + ")" * MAX_DEPTH)
    assert _get_error("(" * (MAX_DEPTH + 1) + "true" + ")" * (MAX_DEPTH + 1)).what == "is nested too deep"
    assert _get_error("not " * (MAX_DEPTH + 1) + "true").what == "is nested too deep"
    assert _holds("true" + " " * (LONGEST - 4))
    assert _get_error("true" + " " * (LONGEST - 3)).what == f"has {LONGEST + 1} characters"
    assert not _holds(f'matches(review.paths, "{"**a" * MAX_WILDCARDS}")')
    assert (
        _get_error(f'matches(review.paths, "{"**a" * (MAX_WILDCARDS + 1)}")').what
        == f"has {MAX_WILDCARDS + 1} wildcards"
    )
    assert _holds(f"review.lines_changed < {'9' * 15}")
    _get_error(f"review.lines_changed < {'9' * 16}")


def test_what_is_found_is_shown_on_one_short_line() -> None:
    _, reason = Condition('review.base == "main"').holds({"review.base": "a\nb\x1b[31m" + "x" * 500})
    assert len(reason.text) < 150
    assert reason.text.isprintable()


def test_thousands_of_paths_take_no_time() -> None:
    condition = Condition('matches(review.paths, "**/migrations/**/*.py", "deploy/**/*.tf", "**/*.sql")')
    begin = time.monotonic()
    condition.holds({"review.paths": [f"src/package_{number}/module_{number}.py" for number in range(3000)]})
    assert time.monotonic() - begin < 2


def test_the_presets_and_the_page_speak_the_language() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"^ +when: '(.+)'$", page, re.MULTILINE)
    assert shown
    assert f"up to {LONGEST} characters" in page
    preset = [gate.when or "" for name in Preset for gate in build({"preset": name.value}).gates.values()]
    for text in [*shown, *preset]:
        Condition(text)
    assert all(f"- `{name}`: " in page for name in NAMES)


def test_a_condition_knows_its_names() -> None:
    condition = Condition('1 < plan.tasks and (not review.from_fork or matches(review.paths, "x"))')
    assert condition.names == {"plan.tasks", "review.from_fork", "review.paths"}


_WORDS = [
    *NAMES,
    *["and", "or", "not", "in", "true", "false", "matches", "(", ")", "[", "]", ",", "<", "<=", ">", ">=", "==", "!="],
    *[
        "5",
        "-2.5",
        '"high"',
        "'x'",
        "__class__",
        "lambda",
        "**",
        ":",
        ".",
        "f'",
        '"**/*"',
        "ann",
        "if",
        "else",
        "{",
        "}",
    ],
]
_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text(), max_size=5)
_CONTEXTS = st.dictionaries(st.sampled_from(sorted(NAMES)), _VALUES)


def _never_breaks(text: str, context: Mapping[str, object]) -> None:
    begin = time.monotonic()
    with contextlib.suppress(ConditionError):
        held, reason = Condition(text).holds(context)
        assert held == (reason.code != "condition.fails")
    assert time.monotonic() - begin < 2


@given(st.lists(st.sampled_from(_WORDS), max_size=25).map(" ".join), _CONTEXTS)
def test_no_words_break_it(text: str, context: dict[str, object]) -> None:
    _never_breaks(text, context)


@given(st.text(max_size=320), _CONTEXTS)
def test_no_text_breaks_it(text: str, context: dict[str, object]) -> None:
    _never_breaks(text, context)


_NUMBERS = st.sampled_from([name for name, known in NAMES.items() if known.type.kind is ValueKind.number])
_SIMPLE = st.one_of(
    st.sampled_from(["true", "false", "review.from_fork", "review.first_time"]),
    st.builds("{} {} {}".format, _NUMBERS, st.sampled_from(["<", ">=", "==", "!="]), st.integers(-9, 9)),
    st.builds('review.risk_level {} "{}"'.format, st.sampled_from(["<", ">=", "=="]), st.sampled_from(["low", "high"])),
)
_CONDITIONS = st.recursive(
    _SIMPLE,
    lambda inner: st.one_of(
        st.builds("({}) and ({})".format, inner, inner),
        st.builds("({}) or {}".format, inner, inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=4,
)


@given(_CONDITIONS, _CONTEXTS)
def test_not_turns_around_what_is_known(text: str, context: dict[str, object]) -> None:
    held, reason = Condition(text).holds(context)
    opposite, _ = Condition(f"not ({text})").holds(context)
    assert opposite is (True if reason.code == "condition.unknown" else not held)


@given(_CONDITIONS, _CONTEXTS, st.data())
def test_what_becomes_known_never_asks_where_nobody_was_asked_before(
    text: str, context: dict[str, object], data: st.DataObject
) -> None:
    """A condition that fails while something is not known fails whatever it turns out to be."""
    held, _ = Condition(text).holds(context)
    if not held:
        more = data.draw(_CONTEXTS)
        assert not Condition(text).holds({**more, **{k: v for k, v in context.items() if _is_known(k, context)}})[0]


def _is_known(name: str, context: Mapping[str, object]) -> bool:
    text = {ValueKind.number: f"{name} == 0", ValueKind.flag: name}.get(NAMES[name].type.kind, "true")
    return Condition(text).holds(context)[1].code != "condition.unknown" or NAMES[name].type.choices != ()
