"""Who asks for an answer that no money is left for is told so, and what to do; nothing else is lost."""

import re
from collections.abc import Iterable
from decimal import Decimal

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from domain.money import FixedPrice
from tests.stories.driver import Story
from tests.world.issues import SHOP
from tests.world.model_findings import PAY, find_division
from tests.world.replies import Said, bodies, mask

SPENT = "budgets: {phase: {planning: 0.01, implementation: 0.01, testing: 0.01}}\n"
BROKEN = "def total(prices):\n    return 0\n"


PRICE = re.compile(r"could cost \d+\.\d\d USD")


def priceless(said: Iterable[Said]) -> list[str]:
    """Whole texts without what depends on the length of a prompt."""
    return [PRICE.sub("could cost N USD", text) for text in bodies(said)]


@pytest.mark.parametrize("model", [FixedPrice(Decimal(80), Decimal(80))], indirect=True)
async def test_where_the_money_is_used_up_people_are_told(story: Story, model: ScriptedModel) -> None:
    """A question below and in an issue, one in the thread, and failed tests that somebody asked for."""
    find_division(model)
    repository, alice = story.repository({**SHOP, ".github/forge.yml": SPENT})
    head = await alice.push(repository, "feature", {"billing/pay.py": PAY, "shop/cart.py": BROKEN}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    issue = await story.after(alice.open_issue(repository, "Totals", "They are wrong."))
    [comment] = story.comments(pull)
    [run] = await story.runs()
    before = (len(model.calls), story.check(repository, head).conclusion, run.state)
    for words in ("/forge ask Who calls `total`?", "Who calls it?", "Thanks."):
        await story.after(alice.reply(comment, words))
    await alice.comment(pull, f"@{story.github.app.slug} who calls it?")
    await alice.comment(issue, "/forge ask Who calls it?")
    await story.after(alice.comment(pull, "/forge test"))
    assert priceless(story.thread_answers(pull, comment)) == snapshot(
        [
            "No answer: The model was not asked: the call could cost N USD, and of the budget of the planning phase, 0.01 USD, 0.00 USD is spent or reserved; from 80% of it on, Forge makes no such call. Raise `budgets.phase.planning` in `.github/forge.yml`, then ask again.",
            "No answer: The model was not asked: the call could cost N USD, and of the budget of the reflection phase, 0.25 USD, 0.00 USD is spent or reserved; from 80% of it on, Forge makes no such call. That is for replies and side tasks of a run; `/forge ask` has a budget of its own.",
        ]
    )
    assert [each for each in priceless(story.answers(pull)) if "Testing" not in each] == snapshot(
        [
            "No answer: The model was not asked: the call could cost N USD, and of the budget of the planning phase, 0.01 USD, 0.00 USD is spent or reserved; from 80% of it on, Forge makes no such call. Raise `budgets.phase.planning` in `.github/forge.yml`, then ask again."
        ]
    )
    assert priceless(story.answers(issue)) == snapshot(
        [
            """\
> Who calls it?

No answer: The model was not asked: the call could cost N USD, and of the budget of the planning phase, 0.01 USD, 0.00 USD is spent or reserved; from 80% of it on, Forge makes no such call. Raise `budgets.phase.planning` in `.github/forge.yml`, then ask again.\
"""
        ]
    )
    [tests] = story.github.check_runs(repository, head, "Forge / test")
    assert (tests.conclusion, tests.title) == ("failure", "1 test failed")
    means = (tests.summary or "").partition("### What it means")[2].partition("###")[0]
    assert PRICE.sub("could cost N USD", mask(means)) == snapshot("""\
Only a first look, without a model. The model was not asked: the call could cost N USD, and of the budget of the testing phase, 0.01 USD, 0.00 USD is spent or reserved; from 80% of it on, Forge makes no such call. Raise `budgets.phase.testing` in `.github/forge.yml`, then ask again.

- `tests/test_cart.py::test_total`: a bug in the code or in the test, confidence 50%. assert 0 == 3 + where 0 = total(\\[1, 2\\])\
""")
    [run] = [each for each in await story.runs() if each.trigger != "question"]
    assert (len(model.calls), story.check(repository, head).conclusion, run.state) == before
    story.pass_over(pull)
