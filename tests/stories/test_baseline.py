"""What works before anything is changed is known first: what fails already is not charged, what cannot run is asked."""

from typing import Any

import pytest
from sqlalchemy import select

from agents.llm.scripted import ScriptedModel
from memory.db.tables.runs import CheckpointRow
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import (
    DONE,
    TASK,
    TEST,
    IssueScene,
    get_pull_request,
    last_instructions,
    open_issue,
    patches,
    plan,
)
from tests.world.verification import FAILED, MEND, get_outcome, propose_diffs

NEEDS = "import nowhere\n\n\ndef test_rates():\n    assert nowhere.rates()\n"
WRONG = "from shop.cart import total\n\n\ndef test_old():\n    assert total([19]) == 20\n"
SETUP = {".github/forge.yml": "commands: {setup: \"sh -c 'echo No such package; exit 3'\"}\n"}
LINTED = {".github/forge.yml": "commands: {lint: \"sh -c 'echo shop/cart.py: too short; exit 1'\"}\n"}


async def open_unprepared(story: Story, model: ScriptedModel, **files: str) -> IssueScene:
    asked = await open_issue(story, **files)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    await asked.comment(asked.alice, "/forge run")
    return asked


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (SETUP, "ends with exit status 3. It says: No such package"),
        ({"tests/test_cart.py": NEEDS}, "The module nowhere is not installed where the tests ran"),
    ],
)
async def test_an_unprepared_repository_costs_one_question(
    story: Story, model: ScriptedModel, files: dict[str, str], why: str
) -> None:
    asked = await open_unprepared(story, model, **files)
    assert story.gates(asked.issue) == ["help_needed"]
    [question] = story.questions(asked.issue)
    assert why in question.body
    assert "commands.setup" in question.body
    assert "testing.runner: actions" in question.body
    assert not model.calls  # nothing was spent
    model.when(TASK, patches(DIFF), DONE)
    await asked.comment(asked.alice, "/forge approve help_needed")
    assert await get_outcome(story) == ("completed", "untested")
    told = last_instructions(model)
    assert "== before any change\nThe tests show nothing where they run: " in told
    assert ("Nobody can run them for you." in told) is (files is SETUP)
    assert not [call for call in model.calls if MEND in call.content or FAILED in call.content]
    assert len(story.questions(asked.issue)) == 1
    assert "**Before any change** the tests show nothing here: " in asked.status


async def test_whoever_wants_it_prepared_first_ends_the_run(story: Story, model: ScriptedModel) -> None:
    asked = await open_unprepared(story, model, **SETUP)
    await asked.comment(asked.alice, "/forge reject help_needed I set it up first")
    assert await get_outcome(story) == ("failed", "gate_rejected")
    assert "`alice` rejected `help_needed`. Nothing was changed. `/forge run` starts again." in asked.status
    assert not model.calls


async def test_what_fails_already_is_not_charged(story: Story, model: ScriptedModel) -> None:
    """A file that cannot be collected hides none of the others, and a check says nothing new."""
    files = {"tests/test_old.py": WRONG, "tests/test_rates.py": "from shop.cart import total\n" + NEEDS, **LINTED}
    asked, pull = await propose_diffs(story, model, DIFF, TEST, **files)
    assert await get_outcome(story) == ("completed", "proposed")
    assert not pull.draft
    assert story.gates(asked.issue) == []
    told = last_instructions(model)
    assert "Tests that pass: 1. Tests that fail already: 2." in told
    assert "- tests/test_old.py::test_old" in told
    [check] = story.github.check_runs(asked.repository, pull.head_sha, "Forge / test")
    assert check.title == "Passed: 2 tests, 2 also fail without this change"
    assert "as it does without this change" in (check.summary or "")
    assert "**Before any change** 2 tests fail already: " in asked.status
    assert "`tests/test_old.py::test_old`" in asked.status
    assert "does not count against the work on the issue" in asked.status


OLD = "print('not ok 1 - old (tests/a.js:3)')\n"
CONFIGURED = {".github/forge.yml": "commands: {test: 'python3 run_tests.py', typecheck: 'python3 typecheck.py'}\n"}
MANY = "for n in range(300):\n    print(f'app/m{n}.py:{n}: error: Incompatible types in assignment')\n"
"""What a type checker says of an older project: more than is kept of an output."""
SEES = (
    "import shop.cart, inspect\n"
    + MANY
    + ("if 'discount' in inspect.getsource(shop.cart):\n    print('shop/cart.py:2: error: NEW')\nraise SystemExit(1)\n")
)
LEAK = "Finding: REDACTED\nRuleID: {}\nFile: {}\nLine: {}\n12:0{}PM WRN leaks found: {}\n"
ISSUE = ">> Issue: [{}] {}\n   Severity: High\n   Location: ./shop/cart.py:{}:4\n{}\ttotal(cart)\n"
CYCLE = "package shop\n\timports shop/auth: import cycle not allowed\n"


def fail_saying(base: str, head: str) -> str:
    """A check that fails with and without the change."""
    return (
        "import shop.cart, inspect\n"
        f"print({head!r} if 'discount' in inspect.getsource(shop.cart) else {base!r})\nraise SystemExit(1)\n"
    )


SAYS = {
    "gitleaks": (
        LEAK.format("generic-api-key", "a.py", 3, 3, 1),
        LEAK.format("generic-api-key", "a.py", 9, 4, 1) + LEAK.format("aws-access-token", "shop/cart.py", 2, 4, 2),
    ),
    "bandit": (ISSUE.format("B101", "assert", 3, 3), ISSUE.format("B602", "shell=True", 3, 3)),
    "go": ("a.go:3:2: undefined: x\n", f"a.go:3:2: undefined: x\n{CYCLE}"),
    "old": (
        LEAK.format("aws-access-token", "a.py", 3, 3, 2) + ISSUE.format("B101", "assert", 3, 3),
        LEAK.format("aws-access-token", "a.py", 9, 4, 1) + ISSUE.format("B101", "assert", 7, 7),
    ),
}
NOT_OK = "print('ok 2 - total' if 'discount' not in open('shop/cart.py').read() else 'not ok 2 - total')\n"


@pytest.mark.parametrize(
    ("tests", "types", "verdict", "says"),
    [
        (f"{OLD}{NOT_OK}raise SystemExit(1)\n", "", "action_required", "As before the change, the tests show nothing"),
        ("", SEES, "failure", "ended with exit status 1"),
        ("", f"{MANY}raise SystemExit(1)\n", "success", "as it does without this change"),
        *(
            ("", fail_saying(*SAYS[tool]), "failure", "ended with exit status 1")
            for tool in ("gitleaks", "bandit", "go")
        ),
        ("", fail_saying(*SAYS["old"]), "success", "as it does without this change"),
    ],
)
async def test_what_fails_anew_never_passes_for_what_failed_before(
    story: Story, model: ScriptedModel, tests: str, types: str, verdict: str, says: str
) -> None:
    """Whether a command without a report failed before, and however much it said then."""
    asked = await open_unprepared(story, model, **CONFIGURED, **{"run_tests.py": tests, "typecheck.py": types})
    if tests:
        await asked.comment(asked.alice, "/forge approve help_needed")
    pull = get_pull_request(asked)
    story.pass_over(pull)
    check = story.github.check_runs(asked.repository, pull.head_sha, "Forge / test")[0]
    assert check.conclusion == verdict
    assert says in (check.summary or "")
    assert pull.draft is (verdict != "success")


async def test_a_base_is_tested_once(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **{"tests/test_old.py": WRONG})
    model.when("Title: Discounts", {"plan": None, "questions": ["How much?"]})
    await asked.comment(asked.alice, "/forge run")
    await asked.comment(asked.alice, "/forge run")
    first, second = await load_baselines(story)
    assert first == second  # to the microsecond


async def test_a_base_whose_tests_showed_nothing_is_tested_anew(story: Story, model: ScriptedModel) -> None:
    """Somebody may have mended meanwhile what was lacking."""
    asked = await open_unprepared(story, model, **SETUP)
    await asked.comment(asked.alice, "/forge reject help_needed no")
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["help_needed"]
    first, second = await load_baselines(story)
    assert first["commands"][0]["seconds"] != second["commands"][0]["seconds"]


async def load_baselines(story: Story) -> list[Any]:
    async with story.forge.services.database.transaction() as session:
        query = select(CheckpointRow).where(CheckpointRow.phase == "baseline").order_by(CheckpointRow.id)
        return [row.output["baseline"] for row in await session.scalars(query)]


async def test_who_asks_for_a_plan_only_waits_for_no_tests(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **SETUP)
    model.when("Title: Discounts", plan())
    await asked.comment(asked.alice, "/forge plan")
    assert await story.outcome() == ("completed", "planned")
