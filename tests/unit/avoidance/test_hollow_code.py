"""Code that is there and does nothing: emptied functions, tables of answers, errors that are dropped."""

import pytest

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
