"""Code that is there and does nothing: emptied functions, tables of answers, errors that are dropped."""

import pytest

from agents.review.avoidance.reading import read_facts
from domain.review.avoidance import AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

LEFT_OUT, SWALLOWED = AvoidanceKind.work_left_out, AvoidanceKind.error_swallowed
PYTHON = """\
def is_valid(text):
    total = 0
    for number, char in enumerate(text):
        total += int(char) * (number % 2 + 1)
        if total > 900:
            total = total % 900 + len(text)
    return total % 10 == 0
"""
SCRIPT = """\
export function isValid(text) {
  let total = 0;
  for (let number = 0; number < text.length; number++) {
    total += Number(text[number]) * ((number % 2) + 1);
    if (total > 900) total = (total % 900) + text.length;
  }
  return total % 10 === 0;
}
"""
GO = """\
package a

func Check(text string) error {
	total := 0
	for number, char := range text {
		total += int(char) * (number%2 + 1)
	}
	if total%10 != 0 {
		return fmt.Errorf("wrong: %s", text)
	}
	return nil
}
"""
RUBY = """\
def valid?(text)
  total = 0
  text.each_char.with_index do |char, number|
    total += char.to_i * (number % 2 + 1)
  end
  total = total % 900 + text.length if total > 900
  total % 10 == 0
end
"""
RUST = """\
pub fn is_valid(text: &str) -> bool {
    let mut total = 0;
    for (number, char) in text.chars().enumerate() {
        total += char.to_digit(10).unwrap() as usize * (number % 2 + 1);
    }
    total % 10 == 0
}
"""
JAVA = """\
class A {
    public boolean isValid(String text) {
        int total = 0;
        for (int number = 0; number < text.length(); number++) {
            total += Character.digit(text.charAt(number), 10) * (number % 2 + 1);
        }
        return total % 10 == 0;
    }
}
"""
EMPTIED = {
    "a.py": (PYTHON, "def is_valid(text):\n    return True\n"),
    "b.py": (PYTHON, PYTHON.replace("    total = 0\n", "    return True\n    total = 0\n")),
    "a.js": (SCRIPT, "export function isValid(text) {\n  return true;\n}\n"),
    "a.go": (GO, "package a\n\nfunc Check(text string) error {\n\treturn nil\n}\n"),
    "a.rb": (RUBY, "def valid?(text)\n  true\nend\n"),
    "a.rs": (RUST, "pub fn is_valid(text: &str) -> bool {\n    true\n}\n"),
    "A.java": (JAVA, "class A {\n    public boolean isValid(String text) {\n        return true;\n    }\n}\n"),
}


@pytest.mark.parametrize("path", EMPTIED)
def test_a_function_with_one_answer_for_everything_is_named(path: str) -> None:
    before, after = EMPTIED[path]
    assert LEFT_OUT in list_kinds(compare({path: before}, {path: after}))
    assert LEFT_OUT not in list_kinds(compare({path: after}, {path: before}))


def test_a_function_whose_work_moved_is_left_alone() -> None:
    moved = PYTHON.replace("is_valid", "check_digits")
    after = f"{moved}\n\ndef is_valid(text):\n    return check_digits(text)\n"
    assert compare({"a.py": PYTHON}, {"a.py": after}) == ()
    little = "def is_new():\n    return read('flag') == 'on'\n"
    assert list_kinds(compare({"a.py": little}, {"a.py": "def is_new():\n    return True\n"})) == set()


CODE = "def size(text):\n    return parse(text)\n"
TABLE = (
    "KNOWN = {'10 MB and 3 kB': 10003000, '7.5 GiB': 8053063680}\n\n\n"
    "def size(text):\n    return KNOWN.get(text) or parse(text)\n"
)
TESTS = "def test_a():\n    assert size('10 MB and 3 kB') == 10003000\n    assert size('7.5 GiB') == 8053063680\n"


def test_a_table_of_the_inputs_of_tests_is_named() -> None:
    before, after = {"a.py": CODE, "tests/test_a.py": TESTS}, {"a.py": TABLE, "tests/test_a.py": f"{TESTS}\n"}
    assert list_kinds(compare(before, after)) == {AvoidanceKind.answer_hard_coded}
    others = TESTS.replace("10 MB and 3 kB", "1 B").replace("7.5 GiB", "2 B")
    before, after = {"a.py": CODE, "tests/test_a.py": others}, {"a.py": TABLE, "tests/test_a.py": f"{others}\n"}
    assert list_kinds(compare(before, after)) == set()


@pytest.mark.parametrize(
    ("path", "head", "before", "after"),
    [
        ("a.js", "export function f() {{\n  {}\n}}\n", "return g();", "return g().catch(noop);"),
        ("a.js", "export function f() {{\n  {}\n}}\n", "return g();", "return g().catch(function () {});"),
        ("a.ts", "export function f() {{\n  {}\n}}\n", "return g();", "return g().catch(() => {});"),
        ("a.go", "package a\n\nfunc F() {{\n\t{}\n}}\n", "err := g()\n\tcheck(err)", "err := g()\n\t_ = err"),
        ("a.go", "package a\n\nfunc F() {{\n\t{}\n}}\n", "g()", "defer func() { recover() }()\n\tg()"),
        ("a.rb", "def f\n  {}\nend\n", "g", "g rescue nil"),
        ("a.py", "def f():\n    {}\n", "return open(p)", "return open(p, errors='ignore')"),
        ("a.py", "def f():\n    {}\n", "run(p, check=True)", "run(p, check=False)"),
        ("a.rs", "pub fn f() -> Vec<u8> {{\n    {}\n}}\n", "g().collect()", "g().filter_map(Result::ok).collect()"),
        ("a.sh", "f() {{\n  {}\n}}\n", 'x="$(g)"', 'x="$(g 2>/dev/null)" || true'),
    ],
)
def test_an_error_that_is_dropped_is_named(path: str, head: str, before: str, after: str) -> None:
    found = compare({path: head.format(before)}, {path: head.format(after)})
    assert {each.kind for each in found} & {SWALLOWED, AvoidanceKind.failure_ignored}
    assert SWALLOWED not in {each.kind for each in compare({path: head.format(after)}, {path: head.format(before)})}


@pytest.mark.parametrize(
    ("path", "head", "before", "after"),
    [
        ("a.js", "export function f() {{\n  {}\n}}\n", "return g();", "return g().catch((e) => report(e));"),
        ("a.go", "package a\n\nfunc F() {{\n\t{}\n}}\n", "g()", "if r := recover(); r != nil {\n\t\tlog.Print(r)\n\t}"),
        ("a.py", "def f():\n    {}\n", "return open(p)", "return open(p, errors='strict')"),
    ],
)
def test_an_error_that_is_dealt_with_is_left_alone(path: str, head: str, before: str, after: str) -> None:
    found = compare({path: head.format(before)}, {path: head.format(after)})
    assert SWALLOWED not in {each.kind for each in found}


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "a.py",
            (
                "class Size:\n    def __init__(self, w):\n        self._w = w\n\n    @property\n    def width(self):\n"
                "        return self._w\n"
            ),
            "@dataclass\nclass Size:\n    width: int\n",
        ),
        (
            "A.java",
            (
                "public class Size {\n  private final int w;\n  public Size(int w) { this.w = w; }\n"
                "  public int width() { return w; }\n  public int hashCode() { return w; }\n}\n"
            ),
            "public record Size(int width) {\n}\n",
        ),
        (
            "a.rb",
            "class Size\n  def width\n    @width\n  end\n\n  def initialize(width)\n    @width = width\n  end\nend\n",
            "class Size\n  attr_reader :width\n\n  def initialize(width)\n    @width = width\n  end\nend\n",
        ),
    ],
)
def test_what_a_language_supplies_is_not_gone(path: str, before: str, after: str) -> None:
    assert list_kinds(compare({path: before}, {path: after})) == set()


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "A.java",
            "class A {\n  public int f(int x) {\n    return x + 1;\n  }\n}\n",
            "class A {\n  public int f(int x) {\n    throw new UnsupportedOperationException();\n  }\n}\n",
        ),
        ("a.py", "def f(x):\n    return x + 1\n", "def f(x):\n    pass\n"),
        ("a.rs", "pub fn f(x: u8) -> u8 {\n    x + 1\n}\n", "pub fn f(x: u8) -> u8 {\n    unimplemented!()\n}\n"),
    ],
)
def test_a_stub_in_place_of_the_work_is_named(path: str, before: str, after: str) -> None:
    [found] = [each for each in compare({path: before}, {path: after}) if each.kind is LEFT_OUT]
    assert found.confidence == 0.9


def test_what_is_not_supported_for_one_input_only_is_no_stub() -> None:
    before, after = "return x + 1;", "if (x < 0) {{ throw new UnsupportedOperationException(); }}"
    text = "class A {{\n  public void f(int x) {{\n    {}\n  }}\n}}\n"
    found = compare({"A.java": text.format(before)}, {"A.java": text.format(after.format())})
    assert LEFT_OUT not in {each.kind for each in found}


def test_branches_for_the_inputs_of_tests_are_a_table() -> None:
    branches = (
        'switch (text) {{\n    case "10 MB and 3 kB": return 10003000;\n    case "7.5 GiB": return 8053063680;\n  }}'
    )
    text = "function size(text) {{\n  {}\n  return parse(text);\n}}\n"
    tests = "it('a', () => { expect(size('10 MB and 3 kB')).toBe(10003000); expect(size('7.5 GiB')).toBe(1); });\n"
    before = {"a.js": text.format(""), "test/a.test.js": tests}
    after = {"a.js": text.format(branches.format()), "test/a.test.js": f"{tests}\n"}
    assert list_kinds(compare(before, after)) == {AvoidanceKind.answer_hard_coded}


def test_a_constructor_may_go_where_a_language_brings_one() -> None:
    before = "public class Size {\n  public Size() { }\n  public int f(int x) { return x + 1; }\n}\n"
    php = "<?php\nclass Size\n{\n    public function __construct()\n    {\n        boot();\n    }\n}\n"
    assert list_kinds(compare({"A.java": before}, {"A.java": before.replace("  public Size() { }\n", "")})) == set()
    assert list_kinds(compare({"a.php": php}, {"a.php": "<?php\nclass Size\n{\n}\n"})) == set()


def test_what_a_program_says_of_another_language_is_no_program() -> None:
    said = 'TEXT = """\npython3 - <<EOF\ntry:\n    f()\nexcept Exception:\n    pass\nEOF\n"""\n'
    assert compare({"a.py": "TEXT = ''\n"}, {"a.py": said}) == ()


SWITCHES = {
    "a.ts": 'function f(x) {\n  switch (x) {\n  case "aa": return 1;\n  case "bb": return 2;\n  }\n}\n',
    "a.go": (
        "package a\n\nfunc F(x string) int {\n\tswitch x {\n"
        '\tcase "aa":\n\t\treturn 1\n\tcase "bb":\n\t\treturn 2\n\t}\n\treturn 0\n}\n'
    ),
    "A.cs": 'class A { int F(string x) { switch (x) { case "aa": return 1; case "bb": return 2; } return 0; } }\n',
    "A.java": 'class A { int f(String x) { switch (x) { case "aa": return 1; case "bb": return 2; } return 0; } }\n',
    "a.rb": 'def f(x)\n  case x\n  when "aa" then 1\n  when "bb" then 2\n  end\nend\n',
    "a.php": '<?php\nfunction f($x) { switch ($x) { case "aa": return 1; case "bb": return 2; } return 0; }\n',
    "a.rs": 'fn f(x: &str) -> u8 { match x { "aa" => 1, "bb" => 2, _ => 0 } }\n',
    "a.py": 'def f(x):\n  match x:\n    case "aa":\n      return 1\n    case "bb":\n      return 2\n',
    "a.sh": 'case "$1" in\n  "aa") echo 1 ;;\n  "bb") echo 2 ;;\nesac\n',
}


@pytest.mark.parametrize("path", SWITCHES)
def test_the_values_of_a_choice_are_read(path: str) -> None:
    functions = read_facts(path, SWITCHES[path]).functions
    assert {case for each in functions for case in each.cases} >= {'"aa"', '"bb"'}
    assert [place.text for each in functions for place in each.answers] == ['"aa" "bb"']


def test_the_words_of_a_choice_of_a_shell_are_read() -> None:
    before = 'f() {\n  case "$1" in\n    start | run) echo 1 ;;\n    stop) echo 2 ;;\n  esac\n}\n'
    [function, _] = read_facts("a.sh", before).functions
    assert function.cases == ("start", "run", "stop")
    found = compare({"a.sh": before}, {"a.sh": before.replace("    stop) echo 2 ;;\n", "")})
    assert {each.kind for each in found} == {AvoidanceKind.feature_removed}
