"""Answers for the inputs of tests that stand before the work: certain if tests that did not change use them."""

from collections.abc import Mapping

import pytest

from agents.review.avoidance.comparison import find_avoidance
from agents.review.avoidance.detection import VersionPair, detect_in_pairs
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.reading import read_facts
from agents.review.avoidance.repository_context import MOST_SETTINGS, RepositoryContext, look_around
from agents.review.checks.worker_pool import WorkerBudget
from domain.review.avoidance import CERTAIN, Avoidance, AvoidanceKind
from domain.review.changes import Change, ChangeStatus, FileChange, TouchedFile
from workspace.sandbox.worker_pool import WorkerPool

HARD_CODED = AvoidanceKind.answer_hard_coded
USED = frozenset(
    {'"1h"', '".5ms"', '"-.5 hr"', '"2 days"', "'hello'", "'feet'", "'geese'", '"text/html"', "404", "500", "200"}
)
PYTHON = """\
def parse(text):
    match = PATTERN.match(text)
    if match is None:
        raise ValueError(text)
    number, unit = match.groups()
    return float(number) * UNITS[unit.lower()]
"""
SCRIPT = """\
function parse(text) {
  const match = PATTERN.exec(text);
  if (!match) {
    return undefined;
  }
  return parseFloat(match[1]) * UNITS[match[2].toLowerCase()];
}
module.exports = parse;
"""
GO = """\
package a

func Parse(text string) (float64, error) {
	number, unit, err := split(text)
	if err != nil {
		return 0, err
	}
	return number * units[strings.ToLower(unit)], nil
}
"""
JAVA = """\
class Parser {
  double parse(String text) {
    Matcher match = PATTERN.matcher(text);
    if (!match.matches()) {
      throw new IllegalArgumentException(text);
    }
    return Double.parseDouble(match.group(1)) * UNITS.get(match.group(2));
  }
}
"""
RUBY = """\
def parse(text)
  match = PATTERN.match(text)
  raise ArgumentError, text unless match
  number, unit = match.captures
  number.to_f * UNITS.fetch(unit.downcase)
end
"""
PHP = """\
<?php
class Parser {
    public function parse($text) {
        if (!preg_match(self::PATTERN, $text, $match)) {
            throw new InvalidArgumentException($text);
        }
        return (float) $match[1] * self::UNITS[strtolower($match[2])];
    }
}
"""
RUST = """\
pub fn parse(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let factor = UNITS.get(unit.to_lowercase().as_str())?;
    Some(number.parse::<f64>().ok()? * factor)
}
"""
FAST: Mapping[str, tuple[str, str, str]] = {
    "a.py": (
        PYTHON,
        "    match =",
        (
            "    known = {'1h': HOUR, '.5ms': 0.5, '-.5 hr': -HOUR / 2}\n"
            "    if text in known:\n        return known[text]\n    match ="
        ),
    ),
    "b.py": (
        PYTHON,
        "def parse(text):\n",
        (
            "_CACHE = {'1h': HOUR, '.5ms': 0.5, '-.5 hr': -HOUR / 2}\n\n\ndef parse(text):\n"
            "    found = _CACHE.get(text)\n    if found is not None:\n        return found\n"
        ),
    ),
    "c.py": (
        PYTHON,
        "    match =",
        (
            "    match text:\n        case '1h':\n            return HOUR\n"
            "        case '.5ms':\n            return 0.5\n"
            "        case '-.5 hr':\n            return -HOUR / 2\n    match ="
        ),
    ),
    "d.py": (
        PYTHON,
        "def parse(text):\n",
        (
            "_KNOWN = {'1h': HOUR, '.5ms': 0.5, '-.5 hr': -HOUR / 2}\n\n\ndef parse(text):\n"
            "    return _KNOWN.get(text) or _parse(text)\n\n\ndef _parse(text):\n"
        ),
    ),
    "a.js": (
        SCRIPT,
        "  const",
        "  if (Object.prototype.hasOwnProperty.call(common, text)) {\n    return common[text];\n  }\n  const",
    ),
    "b.js": (SCRIPT, "  const", "  if (known.has(text)) return known.get(text);\n  const"),
    "c.js": (
        SCRIPT,
        "  const",
        (
            "  switch (text) {\n    case '1h': return hour;\n    case '.5ms': return 0.5;\n"
            "    case '-.5 hr': return -hour / 2;\n  }\n  const"
        ),
    ),
    "a.go": (GO, "\tnumber, unit", "\tif value, ok := common[text]; ok {\n\t\treturn value, nil\n\t}\n\tnumber, unit"),
    "Parser.java": (
        JAVA,
        "  double parse",
        (
            '  static final Map<String, Double> COMMON = Map.of("1h", HOUR, ".5ms", 0.5, "-.5 hr", -HOUR / 2);\n\n'
            "  double parse"
        ),
    ),
    "a.rb": (RUBY, "  match =", "  return COMMON[text] if COMMON.key?(text)\n  match ="),
    "Parser.php": (
        PHP,
        "        if (!preg",
        (
            "        if (isset(self::COMMON[$text])) {\n"
            "            return self::COMMON[$text];\n        }\n        if (!preg"
        ),
    ),
    "a.rs": (
        RUST,
        "    let (number",
        (
            '    match text {\n        "1h" => return Some(HOUR),\n        ".5ms" => return Some(0.5),\n'
            '        "-.5 hr" => return Some(-HOUR / 2.0),\n        _ => {}\n    }\n    let (number'
        ),
    ),
}
TABLES = {
    "a.js": "const common = { '1h': h, '.5ms': 0.5, '-.5 hr': -0.5 * h };\n",
    "b.js": "const known = new Map([['1h', h], ['.5ms', 0.5], ['-.5 hr', -0.5 * h]]);\n",
    "a.go": '\nvar common = map[string]float64{"1h": hour, ".5ms": 0.5, "-.5 hr": -hour / 2}\n',
    "a.rb": "COMMON = { '1h' => HOUR, '.5ms' => 0.5, '-.5 hr' => -HOUR / 2 }.freeze\n",
}


def find(path: str, before: str, after: str, used: frozenset[str] = USED) -> list[Avoidance]:
    """What is found in a change of one file, if tests that did not change use these literals."""
    facts = ChangedFacts(path, read_facts(path, before), read_facts(path, after))
    return [each for each in find_avoidance([facts], "", RepositoryContext(tested=used)) if each.kind is HARD_CODED]


def make(path: str) -> tuple[str, str]:
    before, old, new = FAST[path]
    after = before.replace(old, new, 1)
    if path == "Parser.java":
        after = after.replace(
            "    Matcher", "    if (COMMON.containsKey(text)) {\n      return COMMON.get(text);\n    }\n    Matcher"
        )
    if path == "Parser.php":
        table = "    const COMMON = ['1h' => HOUR, '.5ms' => 0.5, '-.5 hr' => -HOUR / 2];\n"
        after = after.replace("    public function", f"{table}    public function")
    return before, after + TABLES.get(path, "")


@pytest.mark.parametrize("path", FAST)
def test_a_table_of_tested_inputs_before_the_work_is_certain(path: str) -> None:
    assert [each.confidence >= CERTAIN for each in find(path, *make(path))] == [True]


@pytest.mark.parametrize("path", ["b.py", "a.js", "a.go"])
def test_without_the_tests_it_is_doubtful(path: str) -> None:
    assert [each.confidence < CERTAIN for each in find(path, *make(path), used=frozenset())] == [True]
    assert not find(path, *make(path), used=frozenset({"'something else'"}))


@pytest.mark.parametrize(
    "table",
    [
        "{'foot': 'feet', 'goose': 'geese', 'hello': 'hellos'}",
        "{'text/html': 'page', 'text/plain': 'text', 'application/json': 'data', 'image/png': 'image'}",
        "{200: 'OK', 404: 'Not Found', 500: 'Internal Server Error'}",
        "{'1h': 1, '2h': 2, '3h': 3, '4h': 4, '5h': 5, '6h': 6, '7h': 7, '.5ms': 8, '-.5 hr': 9}",
    ],
)
def test_a_vocabulary_is_not_certain(table: str) -> None:
    after = f"KNOWN = {table}\n\n\n" + PYTHON.replace(
        "    match", "    if text in KNOWN:\n        return KNOWN[text]\n    match", 1
    )
    assert not [each for each in find("a.py", PYTHON, after) if each.confidence >= CERTAIN]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    match", "    text = KNOWN.get(text, text)\n    match"),
        (PYTHON[len("def parse(text):\n") :], "    return KNOWN[text]\n"),
        ("UNITS[unit.lower()]", "KNOWN[unit.lower()]"),
    ],
)
def test_a_table_that_answers_nothing_before_the_work_is_left_alone(old: str, new: str) -> None:
    """Other names for an input, a table in place of the work, and one that the work itself asks."""
    after = "KNOWN = {'1h': HOUR, '.5ms': 0.5, '-.5 hr': -HOUR / 2}\n\n\n" + PYTHON.replace(old, new, 1)
    assert not [each for each in find("a.py", PYTHON, after) if "before it does its work" in each.what]


def test_what_a_change_tests_anew_may_have_a_table() -> None:
    before, after = make("b.py")
    test = (
        "def test_a():\n    assert parse('1h') == 1\n    assert parse('.5ms') == 2\n    assert parse('-.5 hr') == 3\n"
    )
    pair = ChangedFacts("a.py", read_facts("a.py", before), read_facts("a.py", after))
    tests = ChangedFacts("tests/test_a.py", None, read_facts("tests/test_a.py", test))
    found = [each for each in find_avoidance([pair, tests]) if "before it does its work" in each.what]
    assert not [each for each in found if each.confidence >= CERTAIN]


class _Repository:
    """A repository with one file of tests, that is asked for it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def read_matching(self, tree: str, patterns: tuple[str, ...], most: int) -> dict[str, bytes]:
        self.asked.append((tree, most))
        return {
            "tests/test_a.py": b"def test_a():\n    assert [parse(x) for x in ('1h', '.5ms', '-.5 hr')] == WANTED\n"
        }

    async def packages(self, tree: str) -> tuple[str, ...]:
        return ("a",)


async def test_tests_that_did_not_change_are_read_only_where_they_can_tell() -> None:
    repository = _Repository()
    file = FileChange(path="a.py", status=ChangeStatus.modified)
    change = Change(
        merge_base="b" * 40,
        head_sha="h" * 40,
        files=(file,),
        touched=(TouchedFile(path="a.py"),),
        total_files=1,
        additions=1,
        deletions=0,
    )
    around = await look_around(repository, change)  # pyright: ignore[reportArgumentType]
    assert repository.asked.pop() == ("h" * 40, MOST_SETTINGS)
    assert not repository.asked
    before, after = make("b.py")
    async with WorkerPool("agents.worker_jobs", size=1) as pool:
        pair = VersionPair("a.py", "a.py", before.encode(), after.encode())
        done = await detect_in_pairs([pair], WorkerBudget(pool), around=around)
        assert [each.confidence >= CERTAIN for each in done.found] == [True]
        assert {tree for tree, _ in repository.asked} == {"b" * 40}
        repository.asked.clear()
        plain = VersionPair("a.py", "a.py", before.encode(), before.replace("lower", "casefold").encode())
        assert not (await detect_in_pairs([plain], WorkerBudget(pool), around=around)).found
        assert not repository.asked
