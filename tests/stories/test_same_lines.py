"""What tools and a model say of the same lines is one comment, in which each finding keeps its own fate."""

from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from simulator import User
from simulator.state import PullRequest, Repository, ReviewComment
from tests.stories.driver import Story
from tests.world.model_findings import ASKED, FIXED, SAYS_NO, SHOP, claim, edit

MARKED = '    return [subprocess.run(f"pay {price} {rate}", shell=True) for price in prices]'
PAY = f"import subprocess\n\n\ndef pay(prices: list[float]) -> list[object]:\n{MARKED}\n"
SLOW: dict[str, JsonValue] = {
    **claim(5, MARKED.strip(), "warning"),
    "rule": "model/performance",
    "message": "Each price starts a shell of its own. Hand all of them to one.",
}


async def _open(story: Story, model: ScriptedModel) -> tuple[Repository, User, User, PullRequest, ReviewComment]:
    model.when("shell=True", {"findings": [SLOW]})
    model.when("== candidates", {"verdicts": [{"number": 1, "verdict": "proven", "quote": MARKED.strip()}]})
    repository, alice = story.repository(SHOP)
    carol = story.member(repository, "carol", "maintain")
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": PAY})
    [comment] = story.comments(pull)
    return repository, alice, carol, pull, comment


async def test_all_that_is_said_of_a_line_is_one_comment(story: Story, model: ScriptedModel) -> None:
    *_, comment = await _open(story, model)
    assert comment.body == snapshot("""\
🔴 **Error** · correctness

Undefined name `rate`. Running this line raises a NameError; define or import the name, or correct its spelling.

<sub>F-PNE7NY · [`ruff/F821`](https://docs.astral.sh/ruff/rules/undefined-name)</sub>

---

🟡 **Warning** · security

The command goes through a shell, so any part that comes from outside can run other commands. Pass a list and drop shell=True.

<sub>F-4EXGJD · [`ruff/S602`](https://docs.astral.sh/ruff/rules/subprocess-popen-with-shell-equals-true)</sub>

---

🟡 **Warning** · performance

Each price starts a shell of its own. Hand all of them to one.

<sub>F-SXPWGH · `model/performance` · Not a problem? Someone else with the role write (you, if nobody else has it) replies `/forge dismiss` and why (with an F-ID: only that one)</sub>\
""")


async def test_a_push_that_mends_one_leaves_the_others(story: Story, model: ScriptedModel) -> None:
    repository, alice, carol, pull, comment = await _open(story, model)
    [name, shell, slow] = story.finding_names(pull)
    mended = PAY.replace("import subprocess\n", "import subprocess\n\nrate = 2\n")
    head = await story.after(alice.push(repository, "feature", {"billing/pay.py": mended}))
    assert story.comments(pull) == [comment]
    assert comment.body.count("*(no longer here)*") == 1
    assert f"correct its spelling. *(no longer here)*\n\n<sub>{name}" in comment.body
    assert story.check(repository, head).title == "Approved, with 2 findings"
    assert not comment.thread.resolved

    await story.after(carol.reply(comment, f"/forge dismiss {shell} prices are numbers"))
    assert story.check(repository, head).title == "Approved, with 1 finding"
    assert not comment.thread.resolved

    await story.after(carol.reply(comment, f"/forge dismiss {slow} there are never many"))
    assert story.check(repository, head).title == "Approved: no findings"
    assert comment.thread.resolved
    assert len(story.thread_answers(pull, comment)) == 2


async def test_one_finding_of_several_is_fixed_in_their_thread(story: Story, model: ScriptedModel) -> None:
    *_, carol, pull, _ = await _open(story, model)
    [_, _, slow] = story.finding_names(pull)
    faster = '    return [subprocess.run(["pay", *map(str, prices)])]'
    model.when(ASKED, edit(MARKED, faster), FIXED)
    await story.after(carol.comment(pull, f"/forge fix {slow}"))
    assert (pull.repository.git.read(pull.head_sha, "billing/pay.py") or b"").decode() == PAY.replace(MARKED, faster)
    assert f"is on `feature`. Fixes {slow}. An empty list gives 0." in story.answers(pull)[-1].body
    [asked, *_] = [call.content for call in model.calls if ASKED in call.content]
    assert "model/performance" in asked
    assert "ruff/S602" not in asked
    story.pass_over(pull)


async def test_a_reply_in_words_is_about_the_finding_it_names(story: Story, model: ScriptedModel) -> None:
    *_, carol, pull, comment = await _open(story, model)
    [_, _, slow] = story.finding_names(pull)
    model.when("never many", SAYS_NO)
    await story.after(carol.reply(comment, f"{slow.lower()} is fine, there are never many prices."))
    [reply] = story.thread_answers(pull, comment)
    assert f"**{slow}** is dismissed" in reply.body
    assert not comment.thread.resolved
