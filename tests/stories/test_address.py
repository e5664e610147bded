"""What the open review threads of people ask for is done: ``/forge address``."""

import json
import re
from typing import cast

from inline_snapshot import snapshot
from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel
from simulator.state import ReviewComment
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import DONE, SHOP, TASK, TEST, patches, plan
from tests.world.replies import bodies, mask

ASKED = "== instruction by"
QUESTION: dict[str, JsonValue] = {"plan": None, "questions": ["Who is meant: the shop, or its customers?"]}
PROTECTED = "shop/secret.env"


async def test_each_thread_of_people_is_answered(story: Story, model: ScriptedModel) -> None:
    """One is done, one refused, one names a protected file; a reader may not ask, and resolved threads stay."""
    repository, alice = story.repository({**SHOP, ".github/forge.yml": f"paths: {{protected: [{PROTECTED}]}}\n"})
    reader, carol = story.github.user("reader"), story.github.user("carol")
    story.github.grant(repository, carol, "write")
    pull, _ = await story.propose(
        repository, alice, {"NOTES.md": "Discounts come next.\nSoon.\n"}, title="Prepare discounts"
    )
    wishes = ("Why not now, with a test?", "We should say who.", "Put it into the secret file.", "Never mind.")
    threads = [await reader.comment_on_line(pull, "NOTES.md", 1, words) for words in wishes]
    await story.after(carol.resolve(threads[-1].thread))
    story.pass_over(pull)
    head = pull.head_sha

    def answer(shown: str) -> dict[str, JsonValue]:
        if wishes[0] in shown:
            return plan()
        if wishes[1] in shown:
            return QUESTION
        named = json.dumps(plan()).replace("tests/test_cart.py", PROTECTED)
        return cast(dict[str, JsonValue], json.loads(named))

    def hear(thread: ReviewComment) -> list[str]:
        return [mask(each.body) for each in thread.thread.comments if each.user is story.github.app.bot]

    model.when(ASKED, answer)
    model.when(TASK, patches(DIFF, TEST), DONE)
    await story.after(reader.comment(pull, "/forge address"))
    await story.after(alice.comment(pull, "/forge address"))
    assert [re.sub(r"_r\d+", "_rN", each) for each in bodies(story.answers(pull))] == snapshot(
        [
            "Refused: `/forge address` needs the role write; `reader` has read.",
            """\
3 threads are worked off in this order, and answered there with the commit or with why not:

1. `NOTES.md:1`
2. `NOTES.md:1`
3. `NOTES.md:1`

People resolve them. `/forge status` shows how far it is, `/forge cancel` stops it.\
""",
            """\
1 of 3 threads done:

- [`NOTES.md:1`](https://github.test/octo-org/shop/pull/1#discussion_rN): done in SHA
- [`NOTES.md:1`](https://github.test/octo-org/shop/pull/1#discussion_rN): **Forge asks something there**
- [`NOTES.md:1`](https://github.test/octo-org/shop/pull/1#discussion_rN): nothing was changed; the thread says why\
""",
        ]
    )
    assert [hear(each) for each in threads] == snapshot(
        [
            [
                """\
SHA is on `feature`. `total` takes a discount. Tests: Passed: 2 tests.

<sub>`/forge rollback C-ID` takes it back.</sub>\
"""
            ],
            [
                """\
Nothing was changed yet:

1. Who is meant: the shop, or its customers?

To answer, reply in this thread.\
"""
            ],
            [
                "Nothing was changed: this takes protected files (`shop/secret.env`). Whoever has the role write asks for them by `/forge do` in this thread."
            ],
            [],
        ]
    )
    assert [each.thread.resolved for each in threads] == [False, False, False, True]
    assert len(repository.git.commits_between(head, pull.head_sha)) == 1
    asked = [call.content for call in model.calls if ASKED in call.content]
    assert ["== instruction by alice (role write)\n> Do what is asked for" in each for each in asked] == [True] * 3
    assert [f"somebody (role none):\n> {wish}" in each for wish, each in zip(wishes, asked, strict=False)] == [True] * 3
    await story.after(alice.comment(pull, "/forge address"))
    assert bodies(story.answers(pull))[-1] == snapshot("""\
Nothing to do: people have no open thread here that waits for an answer.

3 threads are left out that Forge or another App answered last: reply there to ask again.\
""")
    story.pass_over(pull)


async def test_who_edited_what_others_wish_does_not_approve_what_was_made_of_it(
    story: Story, model: ScriptedModel
) -> None:
    """The reader's wish is done as carol has put it, so somebody else looks at it."""
    gate = "gates: {look: {phase: review, when: 'review.files_changed > 0', prompt: Is it right?}}\n"
    repository, alice = story.repository({**SHOP, ".github/forge.yml": gate})
    reader, carol, dan = (story.github.user(name) for name in ("reader", "carol", "dan"))
    for who in (carol, dan):
        story.github.grant(repository, who, "write")
    pull, _ = await story.propose(repository, alice, {"NOTES.md": "Discounts come next.\n"}, title="Prepare discounts")
    wish = await reader.comment_on_line(pull, "NOTES.md", 1, "Why not now?")
    story.clock.move(seconds=2)
    await carol.edit_comment(wish, "Why not now, and free for carol?")
    model.when(ASKED, plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    await story.after(alice.comment(pull, "/forge address"))
    for who in (carol, dan):
        story.clock.move(seconds=2)
        await story.after(who.comment(pull, "/forge approve look"))
    assert "cannot be decided by the author of the change" in story.answers(pull)[-1].body
    assert story.gate_outcomes(pull)[-1] == "look: Approved by dan"
    story.pass_over(pull)
