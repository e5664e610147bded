"""What the tests of before say of the new code: a person's pull request, from the check to a maintainer's answer."""

from collections.abc import Mapping
from typing import Any

import pytest

from simulator import User
from simulator.errors import Moment, RequestInfo
from simulator.state import CheckRun, PullRequest
from tests.stories.driver import UNTHOUGHT, Story
from tests.world.automation import approvals, at_level, open_pull_request
from tests.world.summing_shop import BROKEN, CODE, FILES, HIDES, NAME, TAXED, TEST, WITHOUT

HEADING = "### The tests of before, on the new code"


async def propose(
    story: Story, changed: Mapping[str, str | None], settings: str = "", files: Mapping[str, str] | None = None
) -> tuple[PullRequest, User, User]:
    """A pull request of alice; carol maintains."""
    configured = {".github/forge.yml": settings} if settings else {}
    repository, alice = story.repository({**FILES, **(files or {}), **configured})
    carol = story.member(repository, "carol", "maintain")
    pull, _ = await story.propose(repository, alice, changed, "work", title="Tidy up")
    return pull, alice, carol


async def propose_from_fork(
    story: Story, changed: Mapping[str, str | None], files: Mapping[str, str] = FILES
) -> tuple[PullRequest, User]:
    """A pull request of a stranger; alice may write."""
    repository, alice = story.repository(files)
    mallory = story.github.user("mallory")
    pull, _ = await story.propose(repository, mallory, changed, "work", from_fork=True)
    return pull, alice


def find_check(story: Story, pull: PullRequest) -> CheckRun:
    return story.check(pull.repository, pull.head_sha)


def read_section(check: CheckRun) -> str:
    """What a check says about the tests of before."""
    return (check.summary or "").partition(HEADING)[2].partition("\n### ")[0].partition("\n<details>")[0].strip()


async def say(story: Story, pull: PullRequest, who: User, words: str) -> None:
    await story.after(who.comment(pull, words))
    story.pass_over(pull)


async def test_a_maintainer_decides_about_a_removed_test_that_fails(story: Story) -> None:
    """With its name, what it demanded and what it printed; the author's word does not count."""
    pull, alice, carol = await propose(story, HIDES)
    check = find_check(story, pull)
    assert check.conclusion == "action_required"
    said = read_section(check)
    assert f"**The change removes `{NAME}` (" in said
    assert "It demanded:\n\n```\nassert shop.total([1, 2]) == 3\n```" in said
    assert "assert 2 == 3" in said.partition("Now:")[2]
    [comment] = story.comments(pull)
    assert f"The test `{NAME}` passed before this change and fails on its code" in comment.body
    [question] = story.questions(pull)
    assert (
        "anyone with the role maintain or above, but the author of the change only if nobody else has it"
        in question.body
    )
    assert NAME in question.body
    await say(story, pull, alice, "/forge approve destructive")
    assert find_check(story, pull).conclusion == "action_required"
    await say(story, pull, carol, "/forge approve destructive")
    assert find_check(story, pull).conclusion == "success"
    await story.after(alice.push(pull.repository, "work", {"README.md": "# Shop\n"}))
    assert find_check(story, pull).conclusion == "neutral"  # the answer covers the same test at the next head
    assert story.gates(pull) == []
    await story.after(alice.push(pull.repository, "work", {"tests/test_shop.py": None}))
    assert find_check(story, pull).conclusion == "neutral"  # the other one passes, wherever it is
    story.pass_over(pull)


async def test_another_test_is_another_question(story: Story) -> None:
    pull, alice, carol = await propose(story, HIDES)
    await say(story, pull, carol, "/forge approve destructive")
    tax = {"shop.py": BROKEN.replace("price // 5", "price"), "tests/test_tax.py": None}
    await story.after(alice.push(pull.repository, "work", tax))
    assert find_check(story, pull).conclusion == "action_required"
    [*_, question] = story.questions(pull)
    assert "tests/test_tax.py::test_tax" in question.body
    assert NAME not in question.body
    story.pass_over(pull)


async def test_what_a_person_dismissed_is_listed_once(story: Story) -> None:
    pull, _, carol = await propose(story, HIDES)
    [name] = story.finding_names(pull)
    await say(story, pull, carol, f"/forge dismiss {name} it was meant")
    check = find_check(story, pull)
    assert (check.summary or "").count(NAME) == 1
    assert name in (check.summary or "").partition("### Dismissed")[2]
    assert read_section(check) == "- 1 test of before passes on the new code."


async def test_another_expectation_is_shown_in_a_table(story: Story) -> None:
    """Nobody is asked, and nobody is accused."""
    changed = TEST.replace("total([1, 2]) == 3", "total([1, 2]) == 2")
    pull, _, _ = await propose(story, {"shop.py": BROKEN, "tests/test_shop.py": changed})
    check = find_check(story, pull)
    assert (check.conclusion, check.title) == ("neutral", UNTHOUGHT)
    assert "**Behaviour that tests show to have changed**" in read_section(check)
    row = f"| `{NAME}` | `assert shop.total([1, 2]) == 3` | `assert shop.total([1, 2]) == 2` |"
    assert row in read_section(check)
    assert story.gates(pull) == []
    assert story.comments(pull) == []


async def test_the_file_of_an_expectation_that_tests_share_is_named(story: Story) -> None:
    """The test's own name may be a number, and its text is as it was."""
    test = (
        "import pathlib\n\nimport shop\n\n\ndef test_data():\n"
        "    for each in pathlib.Path(__file__).parent.joinpath('data').iterdir():\n"
        "        assert shop.total([1, 2]) == int(each.read_text())\n"
    )
    files = {"tests/test_data.py": test, "tests/data/one-and-two.txt": "3\n"}
    pull, _, _ = await propose(story, {"shop.py": BROKEN, "tests/data/one-and-two.txt": "2\n"}, files=files)
    row = "| `tests/test_data.py::test_data`, by `tests/data/one-and-two.txt` | `3` | `2` |"
    assert row in read_section(find_check(story, pull))


async def test_another_expectation_that_the_code_of_before_meets_as_well_is_told_apart(story: Story) -> None:
    """It may be widened for something new, or weakened: the check says that it cannot tell, and nobody is accused."""
    changed = TEST.replace("total([1, 2]) == 3", "total([0, 2]) == 2")
    pull, _, _ = await propose(story, {"shop.py": BROKEN, "tests/test_shop.py": changed})
    said = read_section(find_check(story, pull))
    assert f"| `{NAME}` | `assert shop.total([1, 2]) == 3` | `assert shop.total([0, 2]) == 2` |" in said
    assert said.startswith("**Tests that ask for something else.**")
    assert "**Behaviour that tests show to have changed**" not in said
    assert (story.gates(pull), story.comments(pull)) == ([], [])


async def test_a_failing_test_that_is_moved_to_where_nothing_runs_it_is_asked_about(story: Story) -> None:
    """It stands there word for word, and no run of all tests comes to it."""
    where = {"pytest.ini": FILES["pytest.ini"] + "testpaths = tests\n"}
    changed = {"shop.py": BROKEN, "tests/test_shop.py": None, "attic/test_shop.py": TEST}
    pull, _, _ = await propose(story, changed, files=where)
    check = find_check(story, pull)
    assert check.conclusion == "action_required"
    assert f"**`{NAME}` fails.**" in read_section(check)
    assert "The change leaves it where nothing runs it (" in read_section(check)
    [question] = story.questions(pull)
    assert "in attic/test_shop.py:4: The test" in question.body
    story.pass_over(pull)


async def test_a_test_that_goes_with_its_code_is_one_line(story: Story) -> None:
    less = CODE.partition("\n\n\ndef tax")[0] + "\n"
    pull, _, _ = await propose(story, {"shop.py": less, "tests/test_tax.py": None})
    check = find_check(story, pull)
    assert (check.conclusion, check.title) == ("neutral", UNTHOUGHT)
    assert read_section(check) == "- 1 test went with the code: `tax` is gone."
    assert story.gates(pull) == []
    story.pass_over(pull)


async def test_a_test_that_follows_a_new_name_is_one_line(story: Story) -> None:
    renamed = {"shop.py": CODE.replace("tax", "duty"), "tests/test_tax.py": TAXED.replace("shop.tax", "shop.duty")}
    pull, _, _ = await propose(story, renamed)
    assert read_section(find_check(story, pull)) == "- 1 test was rewritten with the code: `tax` is gone."
    story.pass_over(pull)


async def test_a_test_that_passes_wherever_it_is_is_one_line(story: Story) -> None:
    moved = {"tests/test_shop.py": None, "tests/unit/test_shop.py": TEST}
    pull, _, _ = await propose(story, {"README.md": "# Shop\n", **moved})
    check = find_check(story, pull)
    assert (check.conclusion, check.title) == ("success", "No findings")
    assert read_section(check) == "- 2 tests of before pass on the new code."
    story.pass_over(pull)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("commands: {setup: ['false']}\n", "could not be run"),
        ("testing: {runner: actions}\n", "The repository's own workflows run tests here, and Forge does not"),
    ],
)
async def test_tests_that_cannot_run_claim_nothing(story: Story, settings: str, said: str) -> None:
    pull, _, _ = await propose(story, HIDES, settings)
    check = find_check(story, pull)
    assert (check.conclusion, check.title) == ("neutral", UNTHOUGHT)
    why, removed = read_section(check).splitlines()
    assert said in why
    assert (
        removed
        == "- 1 test of before is not where it was, and Forge did not run it: `test_total` (`tests/test_shop.py`)."
    )
    assert story.gates(pull) == []
    story.pass_over(pull)


@pytest.mark.parametrize("is_configured", [False, True])
async def test_what_no_runner_takes_is_run_by_the_configured_command(story: Story, *, is_configured: bool) -> None:
    """Of which the exit status is known. Without such a command one line says what to do, and claims nothing."""
    files = {"total.sh": "echo $(($1 + $2))\n", "tests/test_total.sh": '[ "$(sh total.sh 1 2)" -eq 3 ]\n'}
    broken = {"total.sh": "echo $(($1 - $2))\n", "tests/test_total.sh": "true\n"}
    settings = "commands: {test: sh tests/test_total.sh}\n" if is_configured else ""
    pull, _, _ = await propose(story, broken, settings, files)
    said = read_section(find_check(story, pull))
    if is_configured:
        assert "**`sh tests/test_total.sh` fails.** It passed before this change" in said
        assert story.gates(pull) == ["destructive"]
    else:
        assert "- No runner that Forge knows takes `tests/test_total.sh`" in said
        assert "Name what runs all tests in `commands.test`" in said
        assert story.gates(pull) == []
    story.pass_over(pull)


async def test_a_change_without_tests_runs_nothing(story: Story) -> None:
    pull, _, _ = await propose(story, {"shop.py": BROKEN})
    assert HEADING not in (find_check(story, pull).summary or "")
    story.pass_over(pull)


async def test_a_fork_waits_for_a_word(story: Story) -> None:
    """Nothing of it runs before somebody with write access says so; then the review hears what the tests say."""
    pull, alice = await propose_from_fork(story, HIDES)
    check = find_check(story, pull)
    assert check.conclusion == "neutral"
    assert "Forge runs nothing of a fork before somebody with the role write lets it. `/forge test`" in read_section(
        check
    )
    assert story.gates(pull) == []
    await say(story, pull, alice, "/forge test")
    [tested] = story.github.check_runs(pull.repository, pull.head_sha, "Forge / test")
    assert (tested.conclusion, tested.title) == ("success", "Passed: 2 tests; 1 of before fails")
    assert f"**The change removes `{NAME}`" in read_section(tested)
    check = find_check(story, pull)
    assert check.conclusion == "action_required"
    assert f"**The change removes `{NAME}`" in read_section(check)
    assert story.gates(pull) == ["destructive"]
    [comment] = story.comments(pull)
    assert NAME in comment.body


async def test_settings_beside_others_do_not_run_a_fork(story: Story) -> None:
    """A manifest that holds settings of a runner is no way round the word."""
    settings = "[tool.pytest.ini_options]\npythonpath = ['.']\n"
    files = {**FILES, "pytest.ini": None, "pyproject.toml": settings}
    changed = {"shop.py": BROKEN, "pyproject.toml": f"{settings}addopts = '--deselect {NAME}'\n"}
    there = {path: text for path, text in files.items() if text is not None}
    pull, alice = await propose_from_fork(story, changed, there)
    assert "Forge runs nothing of a fork before somebody with the role write lets it" in read_section(
        find_check(story, pull)
    )
    assert story.gates(pull) == []
    await say(story, pull, alice, "/forge review")
    assert f"**`{NAME}` fails.**" in read_section(find_check(story, pull))


async def test_a_fork_with_an_ok_is_asked_at_once(story: Story) -> None:
    pull, alice = await propose_from_fork(story, HIDES)
    await say(story, pull, alice, "/forge review")
    assert find_check(story, pull).conclusion == "action_required"
    assert story.gates(pull) == ["destructive"]


async def test_a_test_of_the_head_shows_the_same(story: Story) -> None:
    changed = TEST.replace("total([1, 2]) == 3", "total([1, 2]) == 2")
    pull, alice, _ = await propose(story, {"shop.py": BROKEN, "tests/test_shop.py": changed})
    await say(story, pull, alice, "/forge test")
    [tested] = story.github.check_runs(pull.repository, pull.head_sha, "Forge / test")
    assert (tested.conclusion, tested.title) == ("success", "Passed: 3 tests")
    assert read_section(tested) == read_section(find_check(story, pull))


async def test_of_ten_pushes_the_last_one_is_answered(story: Story) -> None:
    """A push ends what runs of the head before."""
    repository, alice = story.repository(FILES)
    heads = [await alice.push(repository, "work", HIDES, base="main")]
    pull = await alice.open_pull_request(repository, "work", "main", title="Tidy up")
    heads += [await alice.push(repository, "work", {"README.md": f"# Shop {number}\n"}) for number in range(9)]
    await story.settle()
    checks = [each for head in heads[:-1] for each in story.github.check_runs(repository, head, "Forge / review")]
    assert {each.conclusion for each in checks} <= {"cancelled"}
    assert find_check(story, pull).conclusion == "action_required"
    assert len(story.comments(pull)) == 1
    assert story.gates(pull) == ["destructive"]


async def test_pushes_share_the_run_before_the_change(story: Story) -> None:
    """Unless it is a day old, for what a set-up brings may be another by then."""
    repository, alice = story.repository(FILES)
    shown: list[str] = []

    async def watch(request: RequestInfo, moment: Moment) -> None:
        body: dict[str, Any] = request.body or {}
        output: dict[str, str] = body.get("output") or {}
        doing = output.get("summary", "").partition("**Under way:** ")[2].partition(".")[0]
        if moment == "after" and doing and doing not in shown[-1:]:
            shown.append(doing)

    story.github.on_write(watch)
    pull, _ = await story.propose(repository, alice, HIDES, "work", title="Tidy up")
    before = "Running earlier tests on the code they were written for"
    assert shown.count(before) == 1
    for number, runs in enumerate([1, 2]):
        await story.after(alice.push(repository, "work", {"shop.py": f"{BROKEN}\n\nLEVEL = {number}\n"}))
        assert find_check(story, pull).conclusion == "action_required"
        assert shown.count("Running the earlier tests on the new code") == number + 2
        assert shown.count(before) == runs
        story.clock.move(days=2)
    story.pass_over(pull)


async def test_a_push_ends_the_tests_under_way(story: Story) -> None:
    """The verdict so far is shown until they end."""
    slow = TEST.replace("def test_total():", "def test_total():\n    __import__('time').sleep(5)")
    repository, alice = story.repository({**FILES, "tests/test_shop.py": slow})
    first = await alice.push(repository, "work", HIDES, base="main")
    shown: list[tuple[str, str]] = []

    async def push(request: RequestInfo, moment: Moment) -> None:
        body: dict[str, Any] = request.body or {}
        output: dict[str, str] = body.get("output") or {}
        summary = output.get("summary", "")
        if moment == "after" and "**Under way:**" in summary and not shown:
            shown.append((body["status"], summary))
            mended = {"shop.py": CODE, "tests/test_shop.py": slow, "README.md": "# Shop\n"}
            await alice.push(repository, "work", mended)

    story.github.on_write(push)
    pull = await story.after(alice.open_pull_request(repository, "work", "main", title="Tidy up"))
    [(status, summary)] = shown
    assert status == "in_progress"
    assert "**Under way:** Running the earlier tests" in summary
    assert "**So far:** no findings." in summary
    assert story.check(repository, first).conclusion == "cancelled"
    assert (find_check(story, pull).conclusion, story.gates(pull)) == ("success", [])
    story.pass_over(pull)


async def test_automatic_approval_waits(story: Story) -> None:
    """Of a change that would be approved without them, and of one that is."""
    tests = {"pytest.ini": FILES["pytest.ini"], "shop.py": CODE, "tests/test_shop.py": TEST}
    repository, alice, carol = await at_level(story, 4, files={"data/prices.csv": "1\n2\n", **tests})
    pull, head = await open_pull_request(story, repository, alice, {"tests/test_shop.py": WITHOUT}, "passes")
    assert story.check(repository, head).conclusion == "neutral"
    assert len(approvals(story, pull)) <= 1
    hidden, head = await open_pull_request(story, repository, carol, HIDES, "hides")
    assert story.check(repository, head).conclusion == "action_required"
    assert approvals(story, hidden) == []
