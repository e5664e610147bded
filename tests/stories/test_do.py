"""What people ask for on a pull request is carried out there: ``/forge do``, or a mention."""

import asyncio
import re

from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, ScriptedReply, Uses
from simulator import User
from simulator.state import Json, PullRequest, Repository
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.instructions import hear, listen
from tests.world.issues import DONE, SHOP, TASK, TEST, patches, plan
from tests.world.model_findings import find_own
from tests.world.replies import bodies, mask

ASKED, MEANT = "== instruction by", "== reply"
REQUEST: dict[str, JsonValue] = {"meaning": "request", "has_reason": False, "confidence": 0.9}

LATER: dict[str, JsonValue] = {"path": "shop/later.py", "content": "LATER = True\n"}


async def open_pull(
    story: Story, files: dict[str, str] | None = None, **more: str
) -> tuple[Repository, User, User, PullRequest]:
    """A pull request of alice's into a shop, and carol, who may write."""
    repository, alice = story.repository({**SHOP, **more})
    carol = story.member(repository, "carol", "write")
    pull, _ = await story.propose(
        repository, alice, files or {"NOTES.md": "Discounts come next.\n"}, title="Prepare discounts"
    )
    story.pass_over(pull)
    return repository, alice, carol, pull


def script(model: ScriptedModel) -> None:
    """Let the model plan and carry out a discount with its test."""
    model.when(ASKED, plan())
    model.when(TASK, patches(DIFF, TEST), DONE)


async def test_a_reviewer_who_asks_for_a_commit_is_told_that_they_decide_about_it_no_more(
    story: Story, model: ScriptedModel
) -> None:
    """In a team of two both are authors then, and decide together."""
    repository, alice, carol, pull = await open_pull(
        story, {"shop/rates.py": "def find() -> float:\n    return rate\n"}
    )
    [name] = story.finding_names(pull)
    script(model)
    await story.after(carol.comment(pull, "/forge do give the cart a discount, with a test"))
    story.pass_over(pull)
    assert "`carol` asked for it, and so counts as an author of the change" in story.answers(pull)[-1].body
    dismiss = f"/forge dismiss {name} it is a builtin here"
    await story.after(carol.comment(pull, dismiss))
    assert bodies(story.answers(pull))[-1] == snapshot(
        "Noted: `/forge dismiss` takes two people here, because everybody with the role write wrote part of the change, or had Forge commit to it. It takes effect once somebody else with the role write writes the same."
    )
    assert story.check(repository, pull.head_sha).conclusion == "failure"
    await story.after(alice.comment(pull, dismiss))
    assert story.check(repository, pull.head_sha).conclusion == "success"
    story.pass_over(pull)


async def test_a_writer_is_obeyed_with_a_commit(story: Story, model: ScriptedModel) -> None:
    repository, alice, carol, pull = await open_pull(story)
    head = pull.head_sha
    output: Json = {"title": "1 problem", "summary": "shop/cart.py has no type"}
    story.github.report_check(repository, head, "types", "failure", "types-app", output)
    script(model)
    await story.after(carol.comment(pull, "/forge do give the cart a discount, with a test"))
    [made] = repository.git.commits_between(head, pull.head_sha)
    assert made.author_email == story.github.app.bot.email
    assert repository.git.is_signed(made.sha)
    assert (
        f"Co-authored-by: carol <{carol.id}+carol@"
        in repository.git.run("log", "-1", "--format=%B", made.sha).stdout.decode()
    )
    assert b"discount" in (repository.git.read(pull.head_sha, "shop/cart.py") or b"")
    assert hear(story, pull) == snapshot("""\
SHA is on `feature`. `total` takes a discount. Tests: Passed: 2 tests.

<sub>`/forge rollback C-ID` takes it back. `carol` asked for it, and so counts as an author of the change: others decide at its gates and dismiss its findings, or two people together where all who may are its authors.</sub>\
""")
    [asked] = [call.content for call in model.calls if ASKED in call.content]
    assert "> give the cart a discount, with a test" in asked
    assert "- NOTES.md" in asked
    assert "> +Discounts come next." in asked
    assert "== red check types\n" in asked  # people speak of it without naming it
    assert "shop/cart.py has no type" in asked
    run = next(each for each in await story.runs() if each.trigger == "instruction")
    assert (run.state, run.reason) == ("completed", "committed")
    await story.after(carol.comment(pull, "/forge diff"))
    assert "Forge made 1 commit here" in hear(story, pull)

    undo = re.search("/forge rollback C-[0-9A-Z]{6}", story.answers(pull)[0].body)
    assert undo is not None
    await story.after(alice.comment(pull, undo[0]))
    assert hear(story, pull).startswith('SHA is on `feature`. Revert "Take a share off the total", which was SHA.')
    assert repository.git.read(pull.head_sha, "shop/cart.py") == SHOP["shop/cart.py"].encode()
    assert (repository.git.read(pull.head_sha, "NOTES.md") or b"").startswith(b"Discounts")
    await story.after(alice.comment(pull, undo[0]))
    assert "took it back already" in hear(story, pull)
    await story.after(alice.comment(pull, "/forge history"))
    assert hear(story, pull).count("there is a commit on the branch") == 2
    story.pass_over(pull)


async def test_what_fails_without_the_change_too_is_no_failure_of_it(story: Story, model: ScriptedModel) -> None:
    """The suite is red before anybody changes anything, and only its exit status and its sum are known."""
    suite = "n=2; [ -e shop/later.py ] && n=3\necho $$; echo \"9 runs, $n failures\"; echo 'warning: old' >&2; exit 1\n"
    more = {"suite.sh": suite, ".github/forge.yml": "commands: {test: sh suite.sh}\n"}
    repository, _, carol, pull = await open_pull(story, None, **more)
    model.when(ASKED, plan())
    model.when(TASK, patches(DIFF, TEST), DONE, Uses([("write_file", LATER)]), DONE)
    await story.after(carol.comment(pull, "/forge do give the cart a discount, with a test"))
    assert b"discount" in (repository.git.read(pull.head_sha, "shop/cart.py") or b"")
    assert hear(story, pull) == snapshot("""\
SHA is on `feature`. `total` takes a discount. Tests: `sh suite.sh` fails without the change, too: exit status 1, `9 runs, 2 failures`.

<sub>`/forge rollback C-ID` takes it back. `carol` asked for it, and so counts as an author of the change: others decide at its gates and dismiss its findings, or two people together where all who may are its authors.</sub>\
""")
    await story.after(carol.comment(pull, "/forge do note it"))
    made = find_own(story, pull)
    assert f"#{made.number} proposes it for `feature`, because tests fail with it." in hear(story, pull)
    assert "Tests: 1 command failed." in hear(story, pull)
    story.pass_over(made)
    story.pass_over(pull)


async def test_a_mention_asks_for_the_same_where_it_stands(story: Story, model: ScriptedModel) -> None:
    """In a thread it is about the lines of the thread; strangers get one line, and no model is asked for them."""
    _, alice, carol, pull = await open_pull(story)
    name, reader = story.github.app.slug, story.github.user("reader")
    before = len(model.calls)
    for words in (f"@{name} please delete everything", f"@{name} I said: delete it", "/forge do delete everything"):
        await story.after(reader.comment(pull, words))
    assert bodies(story.answers(pull)) == snapshot(
        [
            "`reader`, only people with the role write may ask Forge for something here.",
            "Refused: `/forge do` needs the role write; `reader` has read.",
        ]
    )
    assert len(model.calls) == before

    script(model)
    model.when(MEANT, REQUEST)
    thread = await alice.comment_on_line(pull, "NOTES.md", 1, "Next? Why not now?")
    await story.after(carol.reply(thread, f"@{name}, right: please do it now"))
    [told] = [mask(each.body) for each in thread.thread.comments if each.user is story.github.app.bot]
    assert told.startswith("SHA is on `feature`. `total` takes a discount.")
    [asked] = [call.content for call in model.calls if ASKED in call.content]
    assert "> right: please do it now" in asked
    assert "== given at\nNOTES.md:1" in asked
    assert "> Next? Why not now?" in asked

    model.when(ASKED, {"plan": None, "questions": ["Merging takes a command of its own. Which one?"]})
    await story.after(carol.review(pull, "COMMENT", f"@{name} please merge this"))
    assert bodies(story.answers(pull))[-1] == snapshot("""\
> please merge this

Nothing was changed yet:

1. Merging takes a command of its own. Which one?

To answer, mention Forge in a comment, or quote this.\
""")
    assert pull.merged_at is None

    model.when(ASKED, plan("high"))
    await story.after(carol.reply(thread, f"@{name} now do all of it"))
    [*_, waits] = [each.body for each in thread.thread.comments if each.user is story.github.app.bot]
    assert story.gates(pull) == ["architecture_approval"]
    assert waits.startswith("This waits at `architecture_approval`, until ")
    story.pass_over(pull)


async def test_an_instruction_goes_on_below_its_line(story: Story, model: ScriptedModel) -> None:
    """A question about it is shown to its end."""
    _, _, carol, pull = await open_pull(story)
    question = f"Which of both {'holds ' * 150}(b)?"
    model.when(ASKED, {"plan": None, "questions": [question]})
    said = "/forge do two things:\n\n- rename `total`\n- > not this\n\n> nor this\n\nBoth with tests.\n\n/forge cost"
    await story.after(carol.comment(pull, said))
    [asked] = [call.content for call in model.calls if ASKED in call.content]
    assert "> two things:\n> \n> - rename `total`\n" in asked
    assert "> Both with tests." in asked
    assert "nor this" not in asked
    assert "/forge cost" not in asked
    heard = listen(story, pull)
    assert question in heard[-1]
    assert "approved, merged or spent" not in heard[-1]
    story.pass_over(pull)


async def test_who_answers_its_question_goes_on_with_the_work(story: Story, model: ScriptedModel) -> None:
    """By a mention, by a quote and in the thread; a comment like any other answers nothing."""
    _, alice, carol, pull = await open_pull(story)
    name, reader = story.github.app.slug, story.github.user("reader")
    question = "Which discount is meant, of a half or of a third?"
    model.when(MEANT, {"meaning": "answer", "has_reason": False, "confidence": 0.6})
    model.when(ASKED, {"plan": None, "questions": [question]})
    await story.after(carol.comment(pull, "/forge do give the cart a discount"))
    assert "To answer, mention Forge in a comment, or quote this." in hear(story, pull)
    asked = len(model.calls)
    await carol.comment(pull, "A half.")
    await story.after(reader.comment(pull, f"> {question}\n\nA third."))
    assert len(model.calls) == asked

    await story.after(carol.comment(pull, f"@{name} a half. But not on Mondays."))
    await story.after(alice.comment(pull, f"> {question}\n\nNow of a third"))
    *_, second, third = [call.content for call in model.calls if ASKED in call.content]
    for part in ("> give the cart a discount", f"> {question}", "> a half. But not on Mondays."):
        assert part in second
    assert "> Now of a third" in third
    assert [f"> {question}" in call.content for call in model.calls if MEANT in call.content] == [True, True]

    thread = await alice.comment_on_line(pull, "NOTES.md", 1, "Why not now?")
    await story.after(carol.reply(thread, "/forge do make it so"))
    model.when(ASKED, plan())
    script(model)
    await story.after(carol.reply(thread, "Of a half, as said."))
    *_, told = [mask(each.body) for each in thread.thread.comments if each.user is story.github.app.bot]
    assert told.startswith("SHA is on `feature`. `total` takes a discount.")
    last = [call.content for call in model.calls if ASKED in call.content][-1]
    assert "> make it so" in last
    assert "> Of a half, as said." in last
    story.pass_over(pull)


async def test_instructions_wait_for_each_other_and_take_a_push_in(story: Story, model: ScriptedModel) -> None:
    repository, alice, carol, pull = await open_pull(story)
    pushed: list[asyncio.Task[str]] = []

    def push_meanwhile(_content: str) -> ScriptedReply:
        pushed.append(asyncio.ensure_future(alice.push(repository, "feature", {"MORE.md": "More.\n"})))
        return DONE

    model.when(ASKED, plan())
    model.when(TASK, patches(DIFF, TEST), push_meanwhile, Uses([("write_file", LATER)]), DONE)
    await carol.comment(pull, "/forge do give the cart a discount")
    await story.wait_for_runs(2)  # of two that are given at once, either may be heard first
    await story.after(alice.comment(pull, "/forge do note it"))
    first, second = listen(story, pull)
    assert "Somebody pushed SHA meanwhile; it stands on top of that." in first
    assert second.startswith("SHA is on `feature`.")
    files = [repository.git.read(pull.head_sha, path) for path in ("MORE.md", "shop/cart.py", "shop/later.py")]
    assert None not in files
    asked = [call.content for call in model.calls if ASKED in call.content]
    assert ["> note it" in each for each in asked] == [False, True]
    assert "- MORE.md" in asked[1]  # it begins on what the first one and the push left
    [*_, made, _] = repository.git.commits_between(repository.git.branch("main") or "", pull.head_sha)
    assert made.author_email == story.github.app.bot.email
    story.pass_over(pull)


async def test_what_is_large_is_planned_first_and_ends_with_its_pull_request(
    story: Story, model: ScriptedModel
) -> None:
    _, alice, carol, pull = await open_pull(story)
    script(model)
    model.when(ASKED, plan("high"))
    for words in ("give the cart a discount", "note it"):
        await story.after(carol.comment(pull, f"/forge do {words}"))
    assert story.gates(pull) == ["architecture_approval"]
    assert "**Plan for this instruction · risk high**" in story.questions(pull)[0].body
    assert "Closing the pull request voids it." in story.questions(pull)[0].body
    assert [call.content.count("> note it") for call in model.calls if ASKED in call.content] == [0]
    story.clock.move(seconds=2)
    await story.after(alice.comment(pull, "/forge status"))
    told = re.sub(r"\d+ s\b", "N s", hear(story, pull))
    first = "- `/forge do give the cart a discount` of `carol`: waiting (for a person), since N s; last step N s ago: report."
    assert told.startswith(f"{first}\n- `/forge do note it` of `carol`: waiting")
    await story.after(alice.comment(pull, "/forge history"))
    assert "| `/forge do note it` |" in hear(story, pull)
    model.when(ASKED, plan("high"))
    await story.after(alice.comment(pull, "/forge approve with: keep prices whole"))
    assert any("keep prices whole" in call.instructions + call.content for call in model.calls if TASK in call.content)
    assert [each for each in listen(story, pull) if each.startswith("SHA is on `feature`.")]
    assert story.gates(pull) == ["architecture_approval"]  # of the second one, whose turn it is
    await story.after(alice.close(pull))
    assert hear(story, pull) == "Nothing was done: the pull request was closed."
    states = [(each.state, each.reason) for each in await story.runs() if each.trigger == "instruction"]
    assert states == [("cancelled", "closed"), ("completed", "committed")]
    story.pass_over(pull)
