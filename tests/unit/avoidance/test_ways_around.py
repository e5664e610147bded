"""What a change could do to go unseen, and what formatters do that must not be seen."""

import pytest

from agents.review.avoidance.comparison import MOST, find_avoidance
from agents.review.avoidance.detection import VersionPair, detect_in_pairs
from agents.review.avoidance.facts import SourceFacts
from agents.review.avoidance.pairs import ChangedFacts, is_removal_asked
from agents.review.avoidance.reading import read_facts
from agents.review.checks.worker_pool import WorkerBudget
from domain.review.avoidance import Avoidance, AvoidanceKind, list_certain
from workspace.sandbox.worker_pool import WorkerPool

PATH = "tests/test_shop.py"
TEST = """\
from shop import total


def test_total():
    assert total([1, 2]) == 3
    assert total([4, 8]) == 12
    assert total([]) == 0


def test_neg():
    assert total([-1]) == "negative"
"""


def compare(before: str, after: str, path: str = PATH, asked: str = "") -> list[Avoidance]:
    """What is certain in a change of one file."""
    return list_certain(find_avoidance([ChangedFacts(path, _read(path, before), _read(path, after))], asked))


def _read(path: str, text: str) -> SourceFacts:
    return read_facts(path, text)


def list_kinds(found: list[Avoidance]) -> set[AvoidanceKind]:
    return {each.kind for each in found}


def test_a_test_that_checks_nothing_any_more_is_as_good_as_gone() -> None:
    emptied = TEST.replace('    assert total([-1]) == "negative"\n', "    total([-1])\n")
    assert AvoidanceKind.test_removed in list_kinds(compare(TEST, emptied))


def test_each_assertion_of_one_test_counts() -> None:
    less = TEST.replace("    assert total([1, 2]) == 3\n    assert total([4, 8]) == 12\n", "")
    before = TEST.replace("    assert total([]) == 0\n", "    assert total([]) == 0\n    assert total([7]) == 7\n")
    found = [each for each in compare(before, less) if each.kind is AvoidanceKind.assertion_removed]
    assert len(found) == 3


def test_a_mark_of_the_whole_module_is_seen() -> None:
    marked = "import pytest\n\npytestmark = pytest.mark.skip(reason='x')\n" + TEST
    assert list_kinds(compare(TEST, marked)) == {AvoidanceKind.test_deselected}


def test_a_helper_that_checks_nothing_excuses_nothing() -> None:
    helped = TEST.replace('    assert total([-1]) == "negative"\n', "    ok(total([-1]))\n")
    assert compare(TEST, helped + "\n\ndef ok(x):\n    assert True\n")


def test_values_in_dead_code_take_nothing_over() -> None:
    kept = TEST.partition("\n\n\ndef test_neg")[0] + '\n    note = (total, "negative", -1, 1)\n'
    assert AvoidanceKind.test_removed in list_kinds(compare(TEST, kept))


def test_many_findings_of_one_kind_hide_no_other() -> None:
    names = [f"a_{number}" for number in range(5 * MOST)]
    work = "".join(f"def {name}(x):\n    return x + 1\n\n\n" for name in names)
    stubs = "".join(f"def {name}(x):\n    raise NotImplementedError\n\n\n" for name in names)
    files = [ChangedFacts("a.py", read_facts("a.py", work), read_facts("a.py", stubs))]
    files.append(ChangedFacts(PATH, read_facts(PATH, TEST), None))
    assert AvoidanceKind.test_removed in {each.kind for each in find_avoidance(files)}


@pytest.mark.parametrize(
    ("asked", "is_asked"),
    [
        ("Please remove `test_neg`, it is wrong.", True),
        ("`test_neg` can go.", True),
        ("test_neg has to go, too.", True),
        ("Nobody uses test_neg.", True),
        ("test_neg is no longer needed.", True),
        ("test_neg was obsolete from the beginning.", True),
        ("Please do not delete test_neg, it must stay.", False),
        ("test_neg must not be removed.", False),
        ("test_neg is never to be deleted.", False),
        ("test_neg is no longer supported, but keep it.", False),
        ("We need to go through test_neg first.", False),
        ("test_neg has to go green.", False),
        ("Deprecate neg for now.", False),
        ("DROP TABLE fails in test_neg.", False),
        ("Removing an item with a neg amount crashes.", False),
        ("Totals are wrong. Remove the note. See test_neg.", False),
    ],
)
def test_only_who_asks_for_a_removal_asks_for_it(asked: str, is_asked: bool) -> None:
    assert is_removal_asked(asked, "test_neg") is is_asked


def test_other_quotes_are_no_other_tests() -> None:
    script = "it('adds', () => {\n  expect(total('a')).toBe('b');\n});\n"
    assert compare(script, script.replace("'", '"'), "test/shop.test.js") == []
    assert compare(TEST, TEST.replace('"', "'")) == []


def test_a_line_that_nobody_can_read_hides_and_removes_nothing() -> None:
    """The file counts as one that could not be compared."""
    long = TEST + f"\n\nBLOB = '{'a' * 3000}'\n"
    assert compare(TEST, long) == []
    assert ChangedFacts(PATH, read_facts(PATH, TEST), read_facts(PATH, long)).is_unread


def test_a_failure_behind_what_tidies_up_is_seen() -> None:
    path = ".github/workflows/ci.yml"
    assert list_kinds(compare("- run: pytest\n", "- run: rm -f x; pytest || true\n", path)) == {
        AvoidanceKind.failure_ignored
    }
    assert compare("- run: pytest\n", "- run: pytest\n- run: rm -r x || true\n", path) == []


def test_what_linters_leave_out_are_no_tests() -> None:
    assert compare("[tool.ruff]\n", '[tool.ruff]\nexclude = ["migrations"]\n', "pyproject.toml") == []


def test_large_tables_are_compared() -> None:
    """Each of 2,000 cases is another one; it once took longer than anyone waits."""

    def table(by: int) -> str:
        rows = "".join(f"    ({number}, {number + by}),\n" for number in range(100))
        marks = f"@pytest.mark.parametrize('a,b', [\n{rows}])\n"
        return "import pytest\n\n\n" + "".join(
            f"{marks}def test_{name}(a, b):\n    assert f{name}(a) == b\n\n\n" for name in range(20)
        )

    assert find_avoidance([ChangedFacts(PATH, read_facts(PATH, table(0)), read_facts(PATH, table(1)))])


LOGIN = """\
import jwt from 'jsonwebtoken';

export function login(token: string): User {
  const claims = jwt.verify(token, key());
  return new User(claims);
}
"""


def test_code_that_asks_whether_a_test_runs_it_is_seen() -> None:
    bypass = "  if (process.env.NODE_ENV === 'test') {\n    return new User({ id: 1 });\n  }\n  const claims"
    found = compare(LOGIN, LOGIN.replace("  const claims", bypass), "src/auth/login.ts")
    assert list_kinds(found) == {AvoidanceKind.answer_hard_coded}


HANDED = "python3 - <<'EOF'\nimport shop\nshop.check()\nEOF\n"
WORKFLOW = "jobs:\n  a:\n    steps:\n      - run: |\n" + "".join(f"          {line}\n" for line in HANDED.splitlines())
PAGE = "<template><p/></template>\n<script>\nexport default { load() {\n  return fetchAll();\n} }\n</script>\n"


@pytest.mark.parametrize(
    ("path", "before", "old", "dropped", "honest"),
    [
        (
            "scripts/check.sh",
            HANDED,
            "shop.check()",
            "try:\n    shop.check()\nexcept Exception:\n    pass",
            "shop.check(2)",
        ),
        (
            ".github/workflows/ci.yml",
            WORKFLOW,
            "          shop.check()",
            "          try:\n              shop.check()\n          except Exception:\n              pass",
            "          shop.check(2)",
        ),
        (
            "src/App.vue",
            PAGE,
            "  return fetchAll();",
            "  try { return fetchAll(); } catch (error) {}",
            "  return fetchAll(2);",
        ),
    ],
)
def test_a_program_within_a_file_of_another_language_is_read(
    path: str, before: str, old: str, dropped: str, honest: str
) -> None:
    found = compare(before, before.replace(old, dropped), path)
    assert list_kinds(found) == {AvoidanceKind.error_swallowed}
    assert found[0].line is None or found[0].line > 1
    assert compare(before, before.replace(old, honest), path) == []


async def test_a_test_that_becomes_a_file_of_machines_is_gone() -> None:
    pair = VersionPair("tests/test_shop.lock", PATH, TEST.encode(), TEST.encode())
    async with WorkerPool("agents.worker_jobs", size=1) as pool:
        done = await detect_in_pairs([pair], WorkerBudget(pool))
    assert {each.kind for each in list_certain(done.found)} == {AvoidanceKind.test_removed}


def test_one_assertion_is_missed_in_a_large_move() -> None:
    large = "\n\n".join(f"def test_n{number}():\n    assert f({number}) == {number}\n" for number in range(80))
    before, after = (
        read_facts(path, text)
        for path, text in (
            ("tests/a.py", large),
            ("tests/new/a.py", large.replace("    assert f(7) == 7\n", "    f(7)\n")),
        )
    )
    found = list_certain(find_avoidance([ChangedFacts("tests/new/a.py", before, after, "tests/a.py")]))
    assert AvoidanceKind.assertion_removed in list_kinds(found)
    assert all(each.name.startswith("test_n7") for each in found)
