"""How a test compares with what stands in its place, by their texts alone."""

from collections.abc import Sequence

import pytest

from agents.syntax.tests import TestText
from agents.testing.earlier_tests import outcomes
from agents.testing.earlier_tests.culprits import list_hunks, put_back, takes_away
from agents.testing.earlier_tests.evidence import confirm
from agents.testing.earlier_tests.names import keep_gone, list_words
from agents.testing.earlier_tests.outcomes import NOT_LOADED, NOT_LOADED_BEFORE, find_cause, judge, list_causes
from agents.testing.earlier_tests.running import Ran, find_version
from agents.testing.earlier_tests.texts import compare, evades_more, find_failing_line, list_versions
from domain.runs.earlier_tests import LONGEST_CELL, EarlierOutcome, EarlierTest, EarlierTests, Fate
from domain.runs.testing import CaseOutcome, TestCase
from messages.earlier_tests import render_section


@pytest.mark.parametrize(
    ("line", "is_evading"),
    [
        ("test('when custom processing throws then catch it', () => {", False),
        ('it("skips what is \\"pending\\"", () => {', False),
        ("value = read(path)  # type: ignore", False),
        ("// try: later", False),
        ("} catch (err) {", True),
        ("it.skip('adds', () => {", True),
        ("vi.mock('./sums')", True),
        ("monkeypatch.setattr('sums.add', lambda a, b: 4)", True),
        ("return", True),
    ],
)
def test_what_is_quoted_or_noted_keeps_no_test_from_failing(line: str, *, is_evading: bool) -> None:
    assert evades_more([], [line]) == is_evading


def test_a_message_in_a_regular_expression_is_looked_for_as_a_program_has_it() -> None:
    line = r"assert.throws(() => match('a'), /Node\.js v10 or higher/);"
    before, after = {"a.js": "throw new Error('Node.js v10 or higher is required');"}, {"a.js": ""}
    assert "Node.js v10 or higher" in keep_gone(list_words([line]), before, after)


@pytest.mark.parametrize("row", [" with data set #12", ' with data set "a, b"', "", "[2-4]"])
def test_a_row_has_the_text_of_its_test(row: str) -> None:
    [adds] = list_versions("T.php", "", [TestText(name="testAdds", start=1, end=1)])
    case = TestCase(id=f"T.php::T::testAdds{row}", outcome=CaseOutcome.failed, path="T.php")
    assert find_version(case, [adds]) == adds


def test_a_test_whose_fixture_failed_failed_at_no_line_of_its_own() -> None:
    text = "def test_adds(half):\n    assert half == 2\n"
    [adds] = list_versions("test_a.py", text, [TestText(name="test_adds", start=1, end=2)])
    assert find_failing_line(adds, "test_a.py:1: RuntimeError") is None
    assert find_failing_line(adds, "test_a.py:2: AssertionError") == 2


def test_a_failing_line_that_only_opens_a_call_is_shown() -> None:
    old = "def test_adds():\n    Sums().add(\n        1,\n    )\n    assert done()\n"
    [before], [after] = (
        list_versions("test_a.py", text, [TestText(name="test_adds", start=1, end=5)])
        for text in (old, old.replace("Sums()", "Sums.get()"))
    )
    difference = compare(before, after, 2)
    assert (difference.demanded, difference.now) == (("Sums().add(…",), ("Sums.get().add(…",))


def test_a_check_that_is_too_long_to_be_shown_is_shown_in_part() -> None:
    long = [f'        "{letter * 70}"' for letter in "abc"]
    old = "def test_says():\n    assert say() == 'a'\n"
    new = "\n".join(["def test_says():", "    assert say().find(", *long, "    ) != -1", ""])
    [before] = list_versions("test_a.py", old, [TestText(name="test_says", start=1, end=2)])
    [after] = list_versions("test_a.py", new, [TestText(name="test_says", start=1, end=6)])
    [now] = compare(before, after, 2).now
    assert (now[:26], now[-1], len(now)) == ('assert say().find( "aaaaaa', "…", LONGEST_CELL)


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("Error: no such table\n    at load (/code/a_cannot.js:3:1)\n", "Error: no such table"),
        (
            (
                "  File \"a.py\", line 4, in verify\n    raise Invalid(\na.InvalidError: Plugin 'a' for hook 'b'\n"
                "hookimpl definition: b(path)\nArgument(s) {'path'} are declared, not found\n"
            ),
            "a.InvalidError: Plugin 'a' for hook 'b': Argument(s) {'path'} are declared, not found",
        ),
        ('  File "a.py", line 4\n    f(\nSyntaxError: wrong\n', "SyntaxError: wrong"),
        ("a.rb:3:in `undefined': wrong\nSyntaxError: wrong\n/a/b/error.rb:3:in `load'\n", "SyntaxError: wrong"),
        (
            "# a.example/a\n./a_test.go:3:3: redundant newline\nFAIL\ta.example/a [build failed]\nFAIL\n",
            "./a_test.go:3:3: redundant newline",
        ),
        (
            "go: errors parsing go.mod:\n/code/go.mod:3: invalid go version '1.21.0'\n",
            "go: errors parsing go.mod: /code/go.mod:3: invalid go version '1.21.0'",
        ),
    ],
)
def test_a_cause_is_no_frame(output: str, cause: str) -> None:
    assert find_cause(output) == cause


def test_of_a_table_the_rows_that_fail_are_shown_and_not_what_only_moved() -> None:
    rows = [
        '{">1.1", "4.1.0", true},',
        '{"= 2.0", "1.2.3", false},',
        '{"<=1.1", "1.1.1", false},',
        '{">0", "0.1", true},',
    ]
    new = ['{"<=1.1", "1.1.1", true},', '{"=2.0", "1.2.3", false},', '{">1.1", "4.1.0", true},', '{">2", "3", true},']
    checks = ["if found != each.want {", "t.Errorf(each.name)"]
    texts = ["\n".join(["func TestIt(t *testing.T) {", *each, *checks, "}"]) for each in (rows, new)]
    before, after = (
        list_versions("a_test.go", text, [TestText(name="TestIt", start=1, end=len(text.split("\n")))])[0]
        for text in texts
    )
    difference = compare(before, after, None, 'Constraint "<=1.1" failing with "1.1.1"')
    assert (difference.demanded[0], difference.now[0]) == (rows[2], new[0])
    assert not {rows[0], rows[1]} & {*difference.demanded}
    assert not {new[1], new[2]} & {*difference.now}


def test_only_what_can_be_installed_has_that_as_its_remedy() -> None:
    [compiled] = list_causes(NOT_LOADED, {"a_test.go": "./a_test.go:3:2: undefined: Add"})
    [missing] = list_causes(NOT_LOADED, {"test_a.py": "ModuleNotFoundError: No module named 'yaml'"})
    assert ("commands.setup" in compiled, "commands.setup" in missing) == (False, True)
    assert "`yaml` is missing where Forge runs tests, and the code of before did not need it" in missing


def test_a_cause_is_cut_between_words() -> None:
    assert find_cause(f"Error: {80 * 'word '}") == f"Error: {37 * 'word '}word…"


@pytest.mark.parametrize(
    ("output", "is_of_2"),
    [
        (
            "E       print 'a'\nE       ^^^^^^^^^\nE   SyntaxError: Missing parentheses in call to 'print'",
            True,
        ),
        ("E       except ValueError, e:\nE   SyntaxError: multiple exception types must be parenthesized", True),
        ("E       a = re.compile(ur'x')\nE                      ^^^\nE   SyntaxError: invalid syntax", True),
        ("    if a <> b:\n         ^\nSyntaxError: invalid syntax\n", True),
        ("E   ModuleNotFoundError: No module named 'urlparse'", True),
        ("E       a = = 1\nE           ^\nE   SyntaxError: invalid syntax", False),
        ("E   ModuleNotFoundError: No module named 'yaml'", False),
    ],
)
def test_code_for_python_2_is_called_so(output: str, *, is_of_2: bool) -> None:
    [told] = list_causes(NOT_LOADED_BEFORE, {"test_a.py": output})
    said = "test_a.py could not be run where Forge runs tests, without the change, too: written for Python 2, not 3"
    assert (told == said) is is_of_2


def test_what_may_have_to_be_built_has_that_as_its_remedy() -> None:
    files = {"test/a.js": "Error: Cannot find module '../a.js'\nRequire stack:\n- /code/test/a.js\n"}
    [before], [now] = list_causes(NOT_LOADED_BEFORE, files), list_causes(NOT_LOADED, files)
    assert before.endswith("too: `../a.js` is missing: if built, do so in `commands.setup`")
    assert now.endswith("was seen to be gone: Error: Cannot find module '../a.js'")
    [added] = list_causes(NOT_LOADED_BEFORE, files, ["lib/b.js", "a.js"])
    assert added == "test/a.js could not be run on the code of before, which has no `a.js`."


def test_tests_of_which_the_same_is_said_are_one_row() -> None:
    alike = [
        EarlierTest(
            id=f"test_a.py::test_x[{number}]",
            path="test_a.py",
            outcome=EarlierOutcome.changed,
            fate=Fate.rewritten,
            demanded=("assert a == 1",),
            now=("assert a == 2",),
        )
        for number in range(99)
    ]
    other = alike[0].model_copy(update={"id": "test_a.py::test_y", "now": ("assert a == 3",)})
    rows = [line for line in render_section(EarlierTests(tests=(*alike, other))).split("\n") if line[:3] == "| `"]
    assert rows == [
        "| `test_a.py::test_x[0]` and 98 more like it | `assert a == 1` | `assert a == 2` |",
        "| `test_a.py::test_y` | `assert a == 1` | `assert a == 3` |",
    ]


@pytest.mark.parametrize(
    ("before", "after", "is_taken"),
    [
        ("a()\nif x is None:\n    raise Error(x)\nb()", "a()\nb()", True),
        ("try:\n    read(a)\nexcept OSError:\n    pass\n", "read(a)\n", True),
        ("render(text, strict)", "render(text)", True),
        ("r'(--|//|#)'\n{}\nr'(--|//|#) '", "r'(--|#)'\n{}\nr'(--|#) '", True),
        ('{"r": "®", "p": "§", "tm": "™"}', '{"r": "®", "tm": "™"}', True),
        ("", "b()", False),
        ("add(a, at(b, c))", "add(a, c)", False),
        ("if not a:\n    b()", "if a:\n    b()", False),
        ("return a - 1", "return a", False),
        ("return lower(strip(a))", "return strip(a)", False),
        ("if a > limit:\n    stop()\nb()", "b()\nif a > 9 * limit:\n    stop()", False),
        ("a = 1", "a = 2", False),
    ],
)
def test_what_is_only_taken_away_is_told_from_what_is_altered(before: str, after: str, *, is_taken: bool) -> None:
    hunks = list_hunks("a.py", before, after)
    assert all(takes_away(each, hunks) for each in hunks) == is_taken
    assert put_back(hunks, {"a.py": after}) == {"a.py": before}


def test_what_is_meant_is_a_row_for_people_and_a_duty_for_agents() -> None:
    taken = EarlierTest(
        id="test_a.py::test_x",
        path="test_a.py",
        outcome=EarlierOutcome.changed,
        fate=Fate.removed,
        demanded=("assert a == 1",),
        culprits=("a.py:3-4",),
    )
    said = EarlierTests(tests=(taken,))
    assert "| `assert a == 1` | removed with its code<br>for `a.py:3-4` |" in render_section(said)
    assert (said.lost, said.obligations) == ((), (taken,))


@pytest.mark.parametrize(
    ("now", "before", "outcome"),
    [
        (CaseOutcome.failed, CaseOutcome.passed, EarlierOutcome.lost),
        (None, None, EarlierOutcome.lost),  # the time is up
        (CaseOutcome.passed, CaseOutcome.passed, EarlierOutcome.unknown),
        (CaseOutcome.failed, CaseOutcome.failed, EarlierOutcome.unknown),
    ],
)
async def test_what_fails_twice_by_chance_is_not_asked_about(
    now: CaseOutcome | None, before: CaseOutcome | None, outcome: EarlierOutcome
) -> None:
    name, asked = "test_a.py::test_waits", list[str]()

    def tell(ended: CaseOutcome) -> TestCase:
        return TestCase(id=name, outcome=ended, path="test_a.py")

    async def run(files: Sequence[str]) -> tuple[Ran, Ran]:
        asked.extend(files)
        return Ran({name: tell(now)} if now else {}), Ran({name: tell(before)} if before else {})

    failed = tell(CaseOutcome.failed)
    found = outcomes.TestEvidence(name, "test_a.py", case=failed, again=failed, passed_before=True)
    [confirmed] = await confirm([found], run)
    assert judge(found).outcome is EarlierOutcome.lost
    assert (judge(confirmed).outcome, asked) == (outcome, ["test_a.py"])
