"""Code that loses its tests is found by running them, before and after: in drafts of Forge and in changes of people."""

from collections.abc import Mapping

import pytest
from sqlalchemy import func, select

from agents.llm.scripted import ScriptedModel
from memory.db.tables.runs import CheckpointRow
from simulator import User
from simulator.state import CheckRun, PullRequest
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.coverage import FAKED, LOSING, MEASURED, RESTORES, build_reported, wrap_report, write_report
from tests.world.issues import DONE, TASK, TEST, get_pull_request, open_issue, patches, plan
from tests.world.verification import MEND, MENDED, get_outcome, propose_diffs

ALL = write_report(range(1, 41))
FEWER = write_report(range(1, 31), range(31, 41))
BOMB = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><coverage>&b;</coverage>'
UNREADABLE = "- Not compared with the base: the coverage report of this head cannot be read, or names no line."
NO_COUNTS = '<line number="{}" hits="NaN"/><line number="{}" hits="-1"/>'

Proposed = tuple[PullRequest, User]


async def propose(story: Story, files: Mapping[str, str], changed: Mapping[str, str | None]) -> Proposed:
    repository, alice = story.repository(files)
    pull, _ = await story.propose(repository, alice, changed, "work", title="Tidy up")
    return pull, alice


async def run_tests(story: Story, proposed: Proposed) -> CheckRun:
    """The check of ``/forge test`` on a pull request."""
    pull, alice = proposed
    await story.after(alice.comment(pull, "/forge test"))
    story.pass_over(pull)
    return story.github.check_runs(pull.repository, pull.head_sha, "Forge / test")[-1]


async def test_a_change_whose_tests_run_less_needs_a_person(story: Story) -> None:
    """No other look sees it: the test is there as it was, and the base was never tested before."""
    pull = await propose(story, MEASURED, FAKED)
    check = await run_tests(story, pull)
    assert check.conclusion == "action_required"
    assert check.title == "Passed: 2 tests; coverage fell by 87.5 points"
    summary = check.summary or ""
    assert "- `shop/rates.py:1`: The coverage of what stays and what is new fell by 87.5 points" in summary
    assert "- Lines of the program: 16 of 16 (100.0 %) before, 2 of 2 (100.0 %) now: +0.0 points" in summary
    assert "- No longer run in `shop/rates.py`: 1–14, as the report does not name the file any more" in summary
    assert "a maintainer decides" in summary


async def test_a_feature_that_goes_with_its_tests_passes(story: Story) -> None:
    pull = await propose(story, MEASURED, {"shop/rates.py": None, "tests/test_rates.py": None})
    check = await run_tests(story, pull)
    assert (check.conclusion, check.title) == ("success", "Passed: 1 test")
    assert "- Of the lines that stay: 2 of 2 (100.0 %) before, 2 of 2 (100.0 %) now: +0.0 points" in (
        check.summary or ""
    )


async def test_covered_code_that_is_removed_lowers_the_share_only(story: Story) -> None:
    files = {**build_reported(write_report(range(1, 41))), "shop/old.py": "b = 1\nc = 2\n" * 5}
    files["report.xml"] = merge_reports(write_report(range(1, 41)), write_report((), range(1, 11), "shop/old.py"))
    after = merge_reports(write_report(range(1, 11)), write_report((), range(1, 11), "shop/old.py"))
    code = "".join(files["shop/cart.py"].splitlines(keepends=True)[:10])
    check = await run_tests(story, await propose(story, files, {"shop/cart.py": code, "report.xml": after}))
    assert check.conclusion == "success"
    assert "(80.0 %) before, 10 of 20 (50.0 %) now: -30.0 points" in (check.summary or "")
    assert "What hides a failure" not in (check.summary or "")


def merge_reports(*reports: str) -> str:
    return wrap_report("".join(each.partition("<classes>")[2].partition("</classes>")[0] for each in reports))


@pytest.mark.parametrize(
    ("settings", "conclusion", "is_listed"),
    [
        ("", "action_required", True),
        ("avoidance: {coverage_lost: note}\n", "success", True),
        ("avoidance: {coverage_lost: off}\n", "success", False),
    ],
)
async def test_the_repository_decides_what_it_does(
    story: Story, settings: str, conclusion: str, *, is_listed: bool
) -> None:
    """The figures are said in any case."""
    check = await run_tests(story, await propose(story, build_reported(ALL, settings), {"report.xml": FEWER}))
    summary = check.summary or ""
    assert check.conclusion == conclusion
    assert ("What hides a failure" in summary) is is_listed
    assert "- Lines of the program: 40 of 40 (100.0 %) before, 30 of 40 (75.0 %) now: -25.0 points" in summary


@pytest.mark.parametrize(
    ("report", "conclusion", "said"),
    [
        (BOMB, "action_required", UNREADABLE),
        ("<coverage", "action_required", UNREADABLE),
        (wrap_report(""), "action_required", UNREADABLE),
        (write_report((1_000_000_000,)), "action_required", UNREADABLE),
        (write_report((10**30, -1)), "action_required", UNREADABLE),
        (write_report((41, 42, 43, 9_999_999), range(1, 41)), "action_required", "by 100.0 points"),
        (
            wrap_report(
                '<class filename="shop/cart.py">'
                + "".join(NO_COUNTS.format(line, line + 20) for line in range(1, 21))
                + "</class>"
            ),
            "action_required",
            "by 100.0 points",
        ),
        (write_report((1, 2), (), "../../etc/passwd"), "action_required", UNREADABLE),
        (write_report((1, 2), (), "README.md"), "action_required", "the report does not name it any more"),
    ],
)
async def test_a_report_that_lies_says_nothing_good(story: Story, report: str, conclusion: str, said: str) -> None:
    check = await run_tests(story, await propose(story, build_reported(ALL), {"report.xml": report}))
    assert check.conclusion == conclusion
    assert said in (check.summary or "")


async def test_a_base_without_coverage_is_said(story: Story) -> None:
    check = await run_tests(story, await propose(story, build_reported(None), {"report.xml": FEWER}))
    assert check.conclusion == "success"
    assert "- Not compared with the base: the tests of the base left no coverage report." in (check.summary or "")


async def test_tests_that_failed_are_not_compared(story: Story) -> None:
    changed = {"report.xml": FEWER, "test.sh": 'cp report.xml "$FORGE_RESULTS/coverage.xml"; exit 1\n'}
    check = await run_tests(story, await propose(story, build_reported(ALL), changed))
    assert check.conclusion == "failure"
    assert "- Not compared with the base: tests failed, or only passed when run again" in (check.summary or "")


async def test_people_who_accept_it_are_heard_by_agents(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(
        story, "Customers want a discount. The coverage may fall, as the rates are bought in.", **MEASURED
    )
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST, *LOSING), DONE)
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    [check] = story.github.check_runs(asked.repository, pull.head_sha, "Forge / test")
    assert check.conclusion == "success"
    assert "- No longer run in `shop/rates.py`: 1–14" in (check.summary or "")
    assert not pull.draft
    story.pass_over(pull)


async def test_where_nothing_measures_nothing_is_said(story: Story) -> None:
    check = await run_tests(story, await propose(story, build_reported(None), {"README.md": "# The shop\n"}))
    assert check.conclusion == "success"
    assert "Coverage" not in (check.summary or "")


async def count_measured(story: Story) -> int:
    """How many bases were measured for their coverage."""
    async with story.forge.services.database.transaction() as session:
        query = select(func.count()).where(CheckpointRow.phase.startswith("coverage "))
        return await session.scalar(query) or 0


async def test_a_base_is_measured_once(story: Story) -> None:
    """So another change knows that its tests left a report, and that those of this one leave none."""
    pull, alice = await propose(story, build_reported(ALL), {"report.xml": FEWER})
    assert (await run_tests(story, (pull, alice))).conclusion == "action_required"
    other, _ = await story.propose(pull.repository, alice, {"report.xml": None}, "other", title="Measure nothing")
    check = await run_tests(story, (other, alice))
    assert check.conclusion == "success"
    assert "- Not compared with the base: the tests of the base left a coverage report, those of this head none." in (
        check.summary or ""
    )
    assert await count_measured(story) == 1


async def test_a_draft_of_forge_that_loses_coverage_is_sent_back(story: Story, model: ScriptedModel) -> None:
    """What is configured for people does not count: an agent is always told."""
    files = {**MEASURED, ".github/forge.yml": "avoidance: {coverage_lost: off}\n"}
    model.when(MEND, patches(RESTORES), MENDED)
    asked, pull = await propose_diffs(story, model, DIFF, TEST, *LOSING, **files)
    told = next(call.content for call in model.calls if MEND in call.content)
    assert "shop/rates.py:1 avoidance/coverage-lost" in told
    assert "no test runs lines 1–14 any more" in told
    first, second = asked.repository.git.commits_between(pull.base_sha, pull.head_sha)
    [check] = story.github.check_runs(asked.repository, first.sha, "Forge / test")
    assert check.conclusion == "action_required"
    [check] = story.github.check_runs(asked.repository, second.sha, "Forge / test")
    assert (check.conclusion, check.title) == ("success", "Passed: 3 tests")
    assert "16 of 16 (100.0 %) before, 16 of 16 (100.0 %) now: +0.0 points" in (check.summary or "")
    assert await count_measured(story) == 1  # when the base was tested before the plan
    assert not pull.draft
    assert await get_outcome(story) == ("completed", "proposed")
