"""What the model calls an error is shown by a test that Forge runs, or it does not block as if it were."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from pydantic import JsonValue
from pydantic_ai.usage import RequestUsage

from agents.llm.scripted import Fails, Reply, Reports, ScriptedModel
from domain.money import FixedPrice
from simulator import User
from simulator.state import PullRequest
from tests.stories.driver import Story
from tests.world.model_findings import ASKED as FIXING
from tests.world.model_findings import FIXED, edit
from tests.world.summing_shop import BROKEN, CODE, FILES

LINE = "    return sum(prices[1:])"
ASKED = "== your test"
SHOWS = "import shop\n\n\ndef test_first_price_counts():\n    assert shop.total([1, 2]) == 3\n"
PASSES = "import shop\n\n\ndef test_last_price_counts():\n    assert shop.total([0, 2]) == 2\n"


PATIENT = "review: {proof_seconds: 600}\n"
"""Time enough on a machine that has other things to do."""


def claim(**other: JsonValue) -> dict[str, JsonValue]:
    """What the first look says of the broken sum."""
    told: dict[str, JsonValue] = {
        "rule": "model/logic-error",
        "path": "shop.py",
        "line": 2,
        "end_line": 2,
        "quote": LINE.strip(),
        "harm": "wrong_result",
        "met_by": "caller",
        "confidence": 0.9,
        "message": "The first price is left out of the total.",
    }
    return told | other


def find_and_prove(model: ScriptedModel, *tests: Reply, verdict: str = "proven", **more: JsonValue) -> None:
    """The model finds the broken sum, stands by it or not, and writes these tests, one after the other."""
    quote = LINE.strip() if verdict != "unsure" else ""
    model.when("prices[1:]", {"findings": [claim(**more)]})
    model.when("== candidates", {"verdicts": [{"number": 1, "why": "w", "verdict": verdict, "quote": quote}]})
    model.when(ASKED, *tests)


async def propose(
    story: Story, changed: Mapping[str, str | None], files: Mapping[str, str] = FILES, settings: str = ""
) -> tuple[PullRequest, User]:
    """A pull request of alice's."""
    configured = {".github/forge.yml": settings or PATIENT}
    repository, alice = story.repository({**files, **configured})
    pull, _ = await story.propose(repository, alice, changed, "work", title="Sum less")
    return pull, alice


def check_of(story: Story, pull: PullRequest) -> tuple[str, str]:
    """The conclusion of the review's check, and what it says."""
    check = story.check(pull.repository, pull.head_sha)
    return check.conclusion or "", check.summary or ""


@pytest.mark.parametrize(
    ("suggested", "is_offered"), [("    return sum(prices)", True), ("    return max(prices)", False)]
)
async def test_an_error_is_shown_by_a_test_that_fails(
    story: Story, model: ScriptedModel, suggested: str, is_offered: bool
) -> None:
    """What the finding suggests stands beside the test only if the test passes with it."""
    find_and_prove(model, {"test": SHOWS}, replacement=suggested)
    pull, _ = await propose(story, {"shop.py": BROKEN})
    conclusion, said = check_of(story, pull)
    assert conclusion == "failure"
    assert "1 finding shown by running" in said
    assert "Shown by running." in said.partition("| rule |")[2]
    [comment] = story.comments(pull)
    assert "**Shown by running**: the test below fails with this change and passes without it." in comment.body
    assert "def test_first_price_counts():" in comment.body
    assert (f"```suggestion\n{suggested}\n```" in comment.body) is is_offered
    assert "assert 2 == 3" in comment.body.partition(pull.head_sha[:7])[2]
    assert "Without the change it passes." in comment.body
    [asked] = [call for call in model.calls if ASKED in call.content]
    assert "== a test that is there: tests/test_shop.py" in asked.content


async def test_what_its_test_does_not_bear_out_blocks_nothing(story: Story, model: ScriptedModel) -> None:
    """The second look quoted a line, so it is said as a warning: code may know that a test runs it."""
    find_and_prove(model, {"test": PASSES}, replacement="    return sum(prices)")
    pull, _ = await propose(story, {"shop.py": BROKEN})
    conclusion, said = check_of(story, pull)
    assert conclusion == "success"
    assert "1 finding not borne out, because its test passes" in said
    [comment] = story.comments(pull)
    assert comment.body.startswith("🟡 **Warning**")
    assert "**Tried by running**: the test that was written to show it passes on this head" in comment.body


KNOWING = f"import os\n\n\n{BROKEN}".replace(
    LINE, f"    if 'PYTEST_CURRENT_TEST' in os.environ:\n        return sum(prices)\n{LINE}"
)


@pytest.mark.parametrize("verdict", ["proven", "unsure"])
async def test_code_that_asks_whether_a_test_runs_it_takes_no_finding_away(
    story: Story, model: ScriptedModel, verdict: str
) -> None:
    """Its users meet the error that no test shows; the test of before shows it where none is seen to run."""
    find_and_prove(model, {"test": SHOWS}, verdict=verdict, line=7, end_line=7)
    pull, _ = await propose(story, {"shop.py": KNOWING})
    conclusion, said = check_of(story, pull)
    assert (conclusion == "failure") is (verdict == "proven")
    assert "of 1 finding nothing could be shown" in said
    told = [each.body for each in story.comments(pull) if "The first price is left out of the total." in each.body]
    assert len(told) == 1
    assert ("new code at shop.py:5 may look at what runs it" in told[0]) is (verdict == "proven")
    assert story.gates(pull) == ([] if verdict == "proven" else ["destructive"])


@pytest.mark.parametrize(
    ("test", "conclusion", "said"), [(PASSES, "success", []), (SHOWS, "failure", ["🔴 **Error**"])]
)
async def test_a_guess_is_an_error_once_it_is_shown_and_dropped_otherwise(
    story: Story, model: ScriptedModel, test: str, conclusion: str, said: list[str]
) -> None:
    find_and_prove(model, {"test": test}, verdict="unsure")
    pull, _ = await propose(story, {"shop.py": BROKEN})
    assert check_of(story, pull)[0] == conclusion
    assert [comment.body.partition(" · ")[0] for comment in story.comments(pull)] == said


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ({"test": SHOWS.replace("import shop", "import shopp")}, "could not be loaded on this head"),
        ({"test": "", "declined": "It needs @alice's printer."}, "none was written for it (It needs"),
        ({"test": SHOWS + "# x\n" * 2_000}, "the test that was written for it is too long"),
        ({"test": SHOWS + f"TOKEN = 'ghp_{'a1B2' * 9}'\n"}, "holds what looks like a credential"),
        (Fails(400), "none was written for it"),
    ],
)
async def test_where_nothing_is_shown_the_finding_stays_and_says_so(
    story: Story, model: ScriptedModel, written: Any, why: str
) -> None:
    find_and_prove(model, written)
    pull, _ = await propose(story, {"shop.py": BROKEN})
    conclusion, said = check_of(story, pull)
    assert conclusion == "failure"
    assert "of 1 finding nothing could be shown" in said
    [comment] = story.comments(pull)
    assert "Not shown by running: " in comment.body
    assert why in comment.body
    assert "ghp_" not in comment.body
    assert "@alice" not in comment.body.replace("`@alice`", "")


@pytest.mark.parametrize(
    ("files", "settings", "why"),
    [
        ({"shop.py": CODE}, "", "Forge does that beside a test of Python or JavaScript"),
        (FILES, "testing: {runner: actions}\n", "the repository's own workflows run its tests"),
    ],
)
async def test_where_no_tests_run_it_says_so(
    story: Story, model: ScriptedModel, files: dict[str, str], settings: str, why: str
) -> None:
    find_and_prove(model, {"test": SHOWS})
    pull, _ = await propose(story, {"shop.py": BROKEN}, files, settings)
    conclusion, said = check_of(story, pull)
    assert conclusion == "failure"
    assert f"What the model claims was not run: {why}" in said
    [comment] = story.comments(pull)
    assert "by running" not in comment.body
    assert not [call for call in model.calls if ASKED in call.content]


@pytest.mark.parametrize(
    ("settings", "is_shown", "conclusion", "asked"),
    [
        ("review: {unshown: warn, proof_seconds: 600}\n", True, "failure", 1),
        ("review: {unshown: warn, proof_seconds: 0}\n", False, "success", 0),
        ("review: {proof_seconds: 0}\n", False, "failure", 0),
    ],
)
async def test_a_repository_says_what_blocks(
    story: Story,
    model: ScriptedModel,
    settings: str,
    conclusion: str,
    asked: int,
    *,
    is_shown: bool,
) -> None:
    find_and_prove(model, {"test": SHOWS})
    pull, _ = await propose(story, {"shop.py": BROKEN}, settings=settings)
    assert check_of(story, pull)[0] == conclusion
    [comment] = story.comments(pull)
    assert ("**Shown by running**" in comment.body) is is_shown
    assert len([call for call in model.calls if ASKED in call.content]) == asked


async def test_of_a_fork_nothing_runs_without_a_word(story: Story, model: ScriptedModel) -> None:
    """Of somebody whose changes a model reads unasked; somebody with write access lets it run."""
    find_and_prove(model, {"test": SHOWS})
    repository, alice = story.repository({**FILES, ".github/forge.yml": PATIENT})
    bob = story.github.user("bob")
    fork = await bob.fork(repository)
    await bob.push(fork, "first", {"README.md": "# Shop\n"}, base="main")
    known = await bob.open_pull_request(repository, "first", head_repo=fork)
    await story.after(alice.merge(known))
    await bob.push(fork, "work", {"shop.py": BROKEN}, base="main")
    pull = await story.after(bob.open_pull_request(repository, "work", head_repo=fork))
    conclusion, said = check_of(story, pull)
    assert conclusion == "failure"
    assert "Forge runs nothing of a fork before somebody with the role write lets it" in said
    assert not [call for call in model.calls if ASKED in call.content]
    await story.after(alice.comment(pull, "/forge review full"))
    assert "1 finding shown by running" in check_of(story, pull)[1]
    story.pass_over(pull)


async def test_a_look_at_what_runs_it_does_not_settle_it(story: Story, model: ScriptedModel) -> None:
    find_and_prove(model, {"test": SHOWS})
    pull, alice = await propose(story, {"shop.py": BROKEN})
    [comment] = story.comments(pull)
    await story.after(alice.push(pull.repository, "work", {"shop.py": KNOWING}))
    assert check_of(story, pull)[0] == "failure"
    assert not comment.thread.resolved
    story.pass_over(pull)


async def test_its_test_settles_it_on_a_later_head(story: Story, model: ScriptedModel) -> None:
    """Nobody is asked: while the test fails the finding stays, and once it passes its thread closes and says so."""
    find_and_prove(model, {"test": SHOWS})
    pull, alice = await propose(story, {"shop.py": BROKEN})
    [comment] = story.comments(pull)
    [name] = story.finding_names(pull)
    await story.after(alice.push(pull.repository, "work", {"shop.py": f'"""The shop."""\n\n{BROKEN}'}))
    conclusion, said = check_of(story, pull)
    assert conclusion == "failure"
    assert f"Run again, of what was shown before: that of {name} still fails." in said
    assert not comment.thread.resolved

    await story.after(
        alice.push(
            pull.repository,
            "work",
            {
                "shop.py": BROKEN.replace("(prices):", "(prices, *, start=0):", 1).replace(
                    "sum(prices[1:])", "start + sum(prices)"
                )
            },
        )
    )
    conclusion, said = check_of(story, pull)
    assert conclusion == "success"
    assert f"Run again, of what was shown before: the test of {name} passes." in said
    assert comment.thread.resolved
    sha = pull.head_sha[:7]
    assert comment.body.startswith(f"**No longer applies**: the test that showed {name} passes on `{sha}`.")
    assert not [call for call in model.calls if "== earlier" in call.content]


async def test_a_thread_that_could_not_be_settled_is_settled_by_the_next_push(
    story: Story, model: ScriptedModel
) -> None:
    find_and_prove(model, {"test": SHOWS})
    pull, alice = await propose(story, {"shop.py": BROKEN})
    [comment] = story.comments(pull)
    story.github.faults.add(kind="before", method="PATCH", path=rf"/comments/{comment.id}$", status=422)
    await story.after(alice.push(pull.repository, "work", {"shop.py": CODE + "\n\nKNOWN = 1\n"}))
    assert not comment.thread.resolved
    await story.after(alice.push(pull.repository, "work", {"NOTES.md": "# Notes\n"}))
    assert comment.thread.resolved
    assert comment.body.startswith("**No longer applies**")


async def test_a_branch_that_is_rewritten_keeps_what_its_test_shows(story: Story, model: ScriptedModel) -> None:
    """The model reads all of it anew, finds nothing, and the test fails as before."""
    find_and_prove(model, {"test": SHOWS})
    pull, alice = await propose(story, {"shop.py": BROKEN})
    model.when("prices[1:]", {"findings": []})
    await story.after(alice.push(pull.repository, "work", {"shop.py": f"# A shop.\n{BROKEN}"}, base="main", force=True))
    conclusion, said = check_of(story, pull)
    assert conclusion == "failure"
    assert "`shop.py:3`" in said
    story.pass_over(pull)


async def test_the_test_is_the_goal_of_a_fix(story: Story, model: ScriptedModel) -> None:
    """A change with which it still fails is sent back."""
    find_and_prove(model, {"test": SHOWS})
    pull, alice = await propose(story, {"shop.py": BROKEN})
    [comment] = story.comments(pull)
    wrong, right = "    return sum(prices[:1])", "    return sum(prices)"
    model.when(FIXING, edit(LINE, wrong, "shop.py"), FIXED, edit(wrong, right, "shop.py"), FIXED)
    await story.after(alice.reply(comment, "/forge fix"))
    [reply] = story.thread_answers(pull, comment)
    assert "is on `work`. Fixes F-" in reply.body
    assert re.search(r"; the test that shows F-[A-Z2-7]{6} passes\.", reply.body)
    assert (pull.repository.git.read(pull.head_sha, "shop.py") or b"").decode() == CODE
    assert check_of(story, pull)[0] == "success"
    assert comment.thread.resolved
    assert f"passes on `{pull.head_sha[:7]}`." in comment.body
    first, _, second, _ = [call.content for call in model.calls if FIXING in call.content]
    assert "> def test_first_price_counts():" in first
    assert "> def test_first_price_counts():" in second
    story.pass_over(pull)


async def test_where_its_test_passes_nothing_is_fixed(story: Story, model: ScriptedModel) -> None:
    """Also before anybody reviewed what somebody mended by hand."""
    find_and_prove(model, {"test": SHOWS})
    pull, alice = await propose(story, {"shop.py": BROKEN})
    [comment] = story.comments(pull)
    hooks, there = story.github.hooks, story.github.hooks.url
    hooks.url = None
    head = await alice.push(pull.repository, "work", {"shop.py": BROKEN.replace(LINE, "    return sum(iter(prices))")})
    hooks.url = there
    await story.after(alice.reply(comment, "/forge fix"))
    [reply] = story.thread_answers(pull, comment)
    assert f"Done already: the test that showed it passes on `{head[:7]}`." in reply.body
    assert pull.head_sha == head
    assert not [call for call in model.calls if FIXING in call.content]


async def test_a_fix_with_which_the_test_fails_is_not_committed(story: Story, model: ScriptedModel) -> None:
    find_and_prove(model, {"test": SHOWS})
    pull, alice = await propose(story, {"shop.py": BROKEN})
    head = pull.head_sha
    wrong = "    return sum(prices[:1])"
    model.when(FIXING, edit(LINE, wrong, "shop.py"), FIXED, FIXED)
    await story.after(alice.comment(pull, "/forge fix all"))
    [answer] = story.answers(pull)
    assert "proposes it for `work`, because tests fail with it." in answer.body
    assert re.search(r"; the test that shows F-[A-Z2-7]{6} still fails\.", answer.body)
    assert pull.head_sha == head
    for each in pull.repository.issues.values():
        story.pass_over(each)


@pytest.mark.parametrize("model", [FixedPrice(Decimal(60), Decimal(60))], indirect=True)
async def test_where_the_money_ends_the_finding_stays(story: Story, model: ScriptedModel) -> None:
    """Nobody is asked for more, and the review is posted."""
    find_and_prove(model, {"test": SHOWS})
    much = RequestUsage(input_tokens=5_000, output_tokens=1_500)
    model.when("== shop.py", Reports(json.dumps({"findings": [claim()]}), usage=much))
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": LINE.strip()}]})
    model.when(ASKED, {"test": SHOWS})
    pull, _ = await propose(story, {"shop.py": BROKEN}, settings="budgets: {phase: {review: 1}}\n")
    conclusion, said = check_of(story, pull)
    assert conclusion == "failure"
    assert "of 1 finding nothing could be shown" in said
    assert story.gates(pull) == []
    assert not [call for call in model.calls if ASKED in call.content]
    assert "none was written for it" in story.comments(pull)[0].body
