"""An agent that gives up in disguise is told, tries otherwise, and after three attempts a person is asked."""

from collections.abc import Sequence

import pytest
from pydantic import JsonValue
from sqlalchemy import select

from agents.llm.scripted import ScriptedModel, Uses
from domain.runs.next_step import SendBack
from domain.runs.patches import RequiredFix
from domain.runs.run import Phase, Run
from domain.runs.testing import TestRun
from memory import gates
from memory.db.tables.runs import RecoveryRow
from memory.reports.metrics import load_weekly
from memory.runs import checkpoints, runs
from pipeline.issue.head_examination import HeadTestResult
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.command_line_agent import CART, REPORT, TESTS, says
from tests.world.command_line_agent import FILES as OTHER_AGENT
from tests.world.issues import DONE, TASK, IssueScene, get_pull_request, open_issue, patches, plan
from tests.world.verification import ASKS, get_outcome

OTHER = "tests/test_cart.py"
SKIP = """\
--- a/tests/test_cart.py
+++ b/tests/test_cart.py
@@ -1,5 +1,8 @@
+import pytest
+
 from shop.cart import total


+@pytest.mark.skip
 def test_total():
     assert total([1, 2]) == 3
"""
SHOWN = "recovery: attempt {}, strategy {}"
CAUSE, RESTORE, CONTEXT = (
    SHOWN.format(number, name) for number, name in enumerate(("cause", "restore", "context"), start=1)
)
GUIDED = "strategy guided"


def answers(summary: str) -> dict[str, JsonValue]:
    return {**DONE, "summary": summary}


def edits(before: str, after: str) -> Uses:
    return Uses([("edit", {"path": OTHER, "old": before, "new": after})])


def hides_again(reason: str, before: str = "@pytest.mark.skip") -> Sequence[Uses | dict[str, JsonValue]]:
    """The agent gives another reason, and still skips the test."""
    return edits(f"{before}\n", f'@pytest.mark.skip(reason="{reason}")\n'), answers(f"It is skipped for {reason}.")


def mends(before: str = "@pytest.mark.skip") -> Sequence[Uses | dict[str, JsonValue]]:
    return edits(f"{before}\n", ""), edits("import pytest\n\n", ""), answers("It counts again.")


async def open_hiding(story: Story, model: ScriptedModel, then: str = "", **files: str) -> IssueScene:
    """An issue whose agent skips a test in its first attempt.

    :param then: the title of a second task, in which it does that.
    """
    asked = await open_issue(story, **files)
    model.when("Title: Discounts", plan(then=then))
    model.when("== your task: T2" if then else TASK, patches(SKIP if then else DIFF, *([] if then else [SKIP])), HIDDEN)
    if then:
        model.when(TASK, patches(DIFF), answers("The discount is there."))
    return asked


HIDDEN = answers("One test does not count.")


async def run_to_question(story: Story, model: ScriptedModel, then: str = "", **files: str) -> IssueScene:
    """Three attempts in vain, after which a person is asked."""
    asked = await open_hiding(story, model, then, **files)
    model.when(CAUSE, *hides_again("a"))
    model.when(RESTORE, *hides_again("b", skipped("a")))
    model.when(CONTEXT, *hides_again("c", skipped("b")))
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["recovery"]
    return asked


def skipped(reason: str) -> str:
    return f'@pytest.mark.skip(reason="{reason}")'


async def load_rows(story: Story) -> list[RecoveryRow]:
    async with story.forge.services.database.transaction() as session:
        return [*await session.scalars(select(RecoveryRow).order_by(RecoveryRow.id))]


def find_told(model: ScriptedModel, shown: str) -> tuple[str, str]:
    """The first instructions and the content with this text."""
    return next((call.instructions, call.content) for call in model.calls if shown in call.content)


def read_test(asked: IssueScene) -> str:
    pull = get_pull_request(asked)
    asked.told.pass_over(pull)
    return (asked.repository.git.read(pull.head_sha, OTHER) or b"").decode()


@pytest.mark.parametrize("attempts", [1, 2, 3])
async def test_it_is_mended_without_a_person(story: Story, model: ScriptedModel, attempts: int) -> None:
    asked = await open_hiding(story, model)
    before = "@pytest.mark.skip"
    for number, shown in enumerate((CAUSE, RESTORE, CONTEXT), start=1):
        model.when(shown, *(mends(before) if number == attempts else hides_again(str(number), before)))
        before = skipped(str(number))
    await asked.comment(asked.alice, "/forge run")
    assert await get_outcome(story) == ("completed", "proposed")
    assert "skip" not in read_test(asked)
    rows = await load_rows(story)
    assert [row.strategy for row in rows] == ["cause", "restore", "context"][:attempts]
    assert [row.outcome for row in rows] == [*["hidden"] * (attempts - 1), "mended"]
    database, now = story.forge.services.database, story.clock.now()
    weekly = {each.metric.name: each.now for each in await load_weekly(database, now, 1)}
    assert [weekly[name] for name in ("recovery_attempts", "recovered", "escalated")] == [attempts, 1, 0]


async def test_each_attempt_is_told_otherwise(story: Story, model: ScriptedModel) -> None:
    """What it did, what would let it pass, what to do instead; then a smaller step; then what was taken away."""
    await run_to_question(story, model)
    instructions, content = find_told(model, CAUSE)
    assert "The strategy `cause`" in instructions
    assert "tests/test_cart.py:7 avoidance/test-skipped\n> The test `test_total` does not count any more" in content
    assert "Legitimate: It is fine where the test cannot run at all" in content
    assert "Instead: fix what makes the test fail, or let the other tests run, too." in content
    assert "> One test does not count." in content
    instructions, content = find_told(model, RESTORE)
    assert "The strategy `restore`, a smaller step" in instructions
    assert "Attempt 1, strategy cause, was about:" in content
    assert "> It is skipped for a." in content
    assert "what was taken away" not in content
    instructions, content = find_told(model, CONTEXT)
    assert "The strategy `context`" in instructions
    assert "Attempt 2, strategy restore, was about:" in content
    shown = content.partition("== what was taken away: tests/test_cart.py")[2]
    assert "> +@pytest.mark.skip" in shown
    assert "> def test_total():" in shown.replace("> +", "> ").replace(">  ", "> ")


async def test_after_three_attempts_a_person_is_asked(story: Story, model: ScriptedModel) -> None:
    asked = await run_to_question(story, model)
    [question] = story.questions(asked.issue)
    for said in (
        "its attempts, or what a phase may send back, are used up",
        "tests/test_cart.py:7: The test `test_total` does not count any more",
        "**Task:** T1 Take a discount off the total",
        "**Tests:** of the base 1 passed, 0 failed",
        "| the first one | tests are skipped in `tests/test_cart.py` | One test does not count. |",
        "| a smaller step: first bring back what was taken away | tests are skipped in `tests/test_cart.py` |",
        "anyone with the role write or above",
    ):
        assert said in question.body
    assert "| `/forge approve recovery` |" not in question.body
    assert "delegate recovery agent" not in question.body
    assert await get_outcome(story) == ("waiting", "gate")
    assert not asked.repository.git.refs("refs/heads/forge/")


async def test_guidance_lets_it_try_once_more(story: Story, model: ScriptedModel) -> None:
    """A bare approval decides nothing; an attempt in vain asks again at once."""
    asked = await run_to_question(story, model)
    calls = len(model.calls)
    said = await asked.comment(asked.alice, "/forge approve recovery")
    assert "was not decided: without a word of yours" in said
    assert len(model.calls) == calls
    model.when(GUIDED, *hides_again("d", skipped("c")))
    await asked.comment(asked.alice, "/forge approve recovery with: total takes a list")
    assert story.gates(asked.issue) == ["recovery"]
    instructions, _ = find_told(model, GUIDED)
    assert "The strategy `guided`" in instructions
    assert "total takes a list" in next(c.content + c.instructions for c in model.calls if GUIDED in c.content)
    model.when("> It is skipped for d.", *mends(skipped("d")))
    await asked.comment(asked.alice, "/forge approve recovery with: let it count")
    assert await get_outcome(story) == ("completed", "proposed")
    assert "skip" not in read_test(asked)
    assert (await load_rows(story))[-1].outcome == "escalated"


async def test_who_rejects_stops_the_agent(story: Story, model: ScriptedModel) -> None:
    """What was committed before stays."""
    asked = await run_to_question(story, model, then="Print it")
    calls = len(model.calls)
    await asked.comment(asked.alice, "/forge reject recovery I do it by hand")
    assert await get_outcome(story) == ("failed", "stuck")
    assert "`alice` stopped its agent, which hid a failure instead of mending it: I do it by hand" in asked.status
    assert "a person has to mend it" in asked.status
    pull = get_pull_request(asked)
    assert pull.draft
    assert (asked.repository.git.read(pull.head_sha, "shop/cart.py") or b"").decode() == CART
    assert "skip" not in read_test(asked)
    assert len([call for call in model.calls if "== your task" in call.content]) <= calls


async def test_retry_gives_three_attempts_more(story: Story, model: ScriptedModel) -> None:
    asked = await run_to_question(story, model)
    number = {name: f"attempt {4 + at}, strategy {name}" for at, name in enumerate(("cause", "restore", "context"))}
    model.when(number["cause"], *hides_again("d", skipped("c")))
    model.when(number["restore"], *hides_again("e", skipped("d")))
    model.when(number["context"], *hides_again("f", skipped("e")))
    said = await asked.comment(asked.alice, "/forge retry")
    assert "The agent tries up to 3 times more." in said
    assert story.gates(asked.issue) == ["recovery"]
    assert len(await load_rows(story)) == 7
    assert len(await story.runs()) == 1
    model.when("attempt 7, strategy cause", *mends(skipped("f")))
    await asked.comment(asked.alice, "/forge retry recovery")
    assert await get_outcome(story) == ("completed", "proposed")
    assert "skip" not in read_test(asked)
    decided = await gates.list_latest(story.forge.services.database, 9)
    assert {gate.decision.choice for gate in decided if gate.name == "recovery" and gate.decision} == {"retry"}


async def test_where_nothing_waits_there_is_nothing_to_retry(story: Story, model: ScriptedModel) -> None:
    asked = await open_hiding(story, model)
    assert "`recovery` does not wait here" in await asked.comment(asked.alice, "/forge retry recovery")
    assert "Nothing was delegated" in await asked.comment(asked.alice, "/forge delegate recovery agent")
    assert not await story.runs()


async def test_the_attempts_are_shown_to_whoever_may_be_asked(story: Story, model: ScriptedModel) -> None:
    """Somebody else, but no other agent where the repository has none."""
    asked = await run_to_question(story, model)
    said = await asked.comment(asked.alice, "/forge view recovery")
    assert "### Attempts to recover" in said
    assert "**3.** `implement T1`, Forge's own agent: **hidden**" in said
    assert "- Then it was to go on like this: with what was taken away and the code around" in said
    assert "**4.** `implement T1`, Forge's own agent: **escalated**" in said
    assert await get_outcome(story) == ("waiting", "gate")
    said = await asked.comment(asked.alice, "/forge delegate recovery @carol")
    assert "@carol, you are asked to decide `recovery`" in said
    said = await asked.comment(asked.alice, "/forge delegate recovery agent")
    assert "was not decided: there is no other agent, because `agents.implementer.command` names none" in said
    assert set(story.gates(asked.issue)) == {"recovery"}


async def test_who_aborts_leaves_nothing_behind(story: Story, model: ScriptedModel) -> None:
    asked = await run_to_question(story, model)
    await asked.comment(asked.alice, "/forge abort")
    assert await get_outcome(story) == ("cancelled", "aborted")
    assert story.gates(asked.issue) == []
    [gate] = await gates.list_latest(story.forge.services.database, 9)
    assert gate.state == "void"
    assert not asked.repository.git.refs("refs/heads/forge/")


async def test_who_may_not_write_decides_nothing(story: Story, model: ScriptedModel) -> None:
    asked = await run_to_question(story, model)
    mallory = story.member(asked.repository, "mallory", "read")
    said = await asked.comment(mallory, "/forge approve recovery with: remove test_total")
    assert "Refused: `recovery`" in said
    assert "needs the role write" in said
    for line in ("reject recovery no", "retry", "delegate recovery @mallory", "delegate recovery agent", "abort"):
        await asked.comment(mallory, f"/forge {line}")
    helper = story.member(asked.repository, "helper[bot]", "write")
    helper.account.type = "Bot"
    for line in ("approve recovery with: remove test_total", "retry"):
        await asked.comment(helper, f"/forge {line}")
    assert story.gates(asked.issue) == ["recovery"]
    assert (await load_rows(story))[-1].strategy is None


async def test_silence_passes_nothing_and_counts_go_on(story: Story, model: ScriptedModel) -> None:
    """A resumed run asks again at once, and so does a new one that hides the same."""
    asked = await run_to_question(story, model)
    await story.wait(hours=25)
    assert await get_outcome(story) == ("failed", "gate_timeout")
    assert "nobody said in time how to go on" in asked.status
    calls = len(model.calls)
    await asked.comment(asked.alice, "/forge resume")
    assert story.gates(asked.issue) == ["recovery"]
    assert len(model.calls) == calls
    assert len(await load_rows(story)) == 4
    await asked.comment(asked.alice, "/forge abort")
    model.when(TASK, patches(DIFF, SKIP), HIDDEN)
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["recovery"]
    rows = await load_rows(story)
    assert len({row.run_id for row in rows}) == 2
    assert (len(rows), rows[-1].outcome, rows[-1].details["triggers"][0]) == (5, "escalated", "attempts")


async def test_five_at_once_ask_at_once(story: Story, model: ScriptedModel) -> None:
    names = ["none", "one", "two", "three", "four"]
    tests = "".join(f"\n\ndef test_{name}():\n    assert total([{at}]) == {at}\n" for at, name in enumerate(names))
    before = f"import pytest\n\nfrom shop.cart import total\n{tests}"
    asked = await open_issue(story, **{OTHER: before})
    model.when("Title: Discounts", plan())
    after = before.replace("def test_", "@pytest.mark.skip\ndef test_")
    old, new = before.splitlines(), after.splitlines()
    skips = f"--- a/{OTHER}\n+++ b/{OTHER}\n@@ -1,{len(old)} +1,{len(new)} @@\n"
    skips += "".join(f"-{line}\n" for line in old) + "".join(f"+{line}\n" for line in new)
    model.when(TASK, patches(DIFF, skips), HIDDEN)
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["recovery"]
    [question] = story.questions(asked.issue)
    assert "five failures or more are hidden at once" in question.body
    assert not [call for call in model.calls if "== recovery" in call.content]


async def test_who_only_repeats_itself_is_not_let_try_again(story: Story, model: ScriptedModel) -> None:
    asked = await open_hiding(story, model)
    model.when(CAUSE, answers("It is right as it is."))
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["recovery"]
    [question] = story.questions(asked.issue)
    assert "its last answer left the same change" in question.body
    assert "It is right as it is." in question.body


async def test_an_agent_of_another_make_recovers_too(story: Story, model: ScriptedModel) -> None:
    """It goes on from what it changed, and Forge's own agent takes over if somebody says so."""
    asked = await open_issue(story, **OTHER_AGENT)
    model.when("Title: Discounts", plan())
    files: dict[str, JsonValue] = {"shop/cart.py": CART, OTHER: _skip_in_file("x")}
    model.when(TASK, says(files=files, report={**REPORT, "summary": "One test does not count."}))
    model.when(CAUSE, says(files={OTHER: _skip_in_file("a")}, report={**REPORT, "summary": "Skipped for a."}))
    model.when(RESTORE, says(report={**REPORT, "summary": "It is right."}))
    await asked.comment(asked.alice, "/forge run")
    assert story.gates(asked.issue) == ["recovery"]
    [question] = story.questions(asked.issue)
    assert "**Agent:** the agent of another make" in question.body
    assert "| `/forge delegate recovery agent` |" in question.body
    told = find_told(model, RESTORE)[1]
    assert "The strategy `restore`, a smaller step" in told
    assert "> Skipped for a." in told
    model.when("attempt 3, strategy cause", *mends(skipped("a")))
    said = await asked.comment(asked.alice, "/forge delegate recovery agent")
    assert "Another agent tries it." in said
    assert await get_outcome(story) == ("completed", "proposed")
    assert "skip" not in read_test(asked)


async def test_another_agent_takes_over_from_forges_own(story: Story, model: ScriptedModel) -> None:
    asked = await open_hiding(story, model, **OTHER_AGENT)
    model.when(CAUSE, answers("It is right as it is."))
    await asked.comment(asked.alice, "/forge run deterministic")
    assert story.gates(asked.issue) == ["recovery"]
    model.when("attempt 2, strategy cause", says(files={"shop/cart.py": CART, OTHER: TESTS}, report=REPORT))
    await asked.comment(asked.alice, "/forge delegate recovery agent")
    assert await get_outcome(story) == ("completed", "proposed")
    assert "test_discount" in read_test(asked)


async def test_what_the_tests_send_back_counts_with_it(story: Story, model: ScriptedModel) -> None:
    """It was mended at the first attempt; the same trouble, found later, goes on with the second."""
    asked = await open_hiding(story, model, **ASKS)
    model.when(CAUSE, *mends())
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    story.pass_over(pull)
    assert story.gates(pull) == ["design"]
    run, database = await load_run(story), story.forge.services.database
    problem = RequiredFix(path=OTHER, line=4, rule="avoidance/test-skipped", message="The test does not count.")
    sent_back = SendBack(phase=Phase.testing, head=pull.head_sha, to_fix=(problem,))
    await checkpoints.save_send_back(database, run, sent_back, 0, story.clock.now())
    model.when(RESTORE, answers("Nothing is skipped."))
    carol = story.member(asked.repository, "carol", "write")
    await story.after(carol.comment(pull, "/forge approve design"))
    story.pass_over(pull)
    assert await get_outcome(story) == ("completed", "proposed")
    rows = await load_rows(story)
    assert [(row.work, row.strategy, row.outcome) for row in rows] == [
        ("implement T1", "cause", "hidden"),
        ("mend 1", "restore", "mended"),
    ]


async def test_where_nothing_may_be_sent_back_any_more_it_asks_too(story: Story, model: ScriptedModel) -> None:
    """What the tests found is left as it is, so that another fix would repeat the last one."""
    asked = await open_hiding(story, model, **ASKS)
    model.when(TASK, patches(DIFF), answers("The discount is there."))
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    problem = RequiredFix(path=OTHER, line=4, rule="avoidance/test-skipped", message="The test does not count.")
    tested = HeadTestResult(head=pull.head_sha, run=TestRun(is_unconcerned=True), weakened=(problem,))
    run, database = await load_run(story), story.forge.services.database
    await checkpoints.save_tests(database, run, tested.model_dump(mode="json"), story.clock.now())
    model.when("== your task: mend", answers("Nothing is skipped."))
    await story.after(asked.alice.comment(pull, "/forge approve design"))
    story.pass_over(pull)
    assert "recovery" in story.gates(asked.issue)
    assert "help_needed" not in story.gates(asked.issue)
    assert "its attempts, or what a phase may send back, are used up" in story.questions(asked.issue)[-1].body
    assert len([call for call in model.calls if "== your task: mend" in call.content]) == 1
    await asked.comment(asked.alice, "/forge reject recovery it is no skip")
    assert await get_outcome(story) == ("failed", "stuck")
    assert pull.draft
    story.pass_over(pull)


async def load_run(story: Story) -> Run:
    """The issue's run."""
    row = next(each for each in await story.runs() if each.trigger == "issue")
    run = await runs.get(story.forge.services.database, row.id)
    assert run is not None
    return run


def _skip_in_file(reason: str) -> str:
    return f"import pytest\n\nfrom shop.cart import total\n\n\n{skipped(reason)}\ndef test_total():\n    assert total([1, 2]) == 3\n"
