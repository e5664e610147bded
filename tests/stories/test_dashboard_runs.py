"""What the dashboard shows of runs: why they wait, what they cost, what became of findings, what happened."""

from decimal import Decimal

import pytest

from agents.llm.scripted import ScriptedModel
from domain.money import FixedPrice, format_usd
from domain.runs.work_checkpoint import WorkKey
from memory.learned import catalogue
from memory.reports import run_pages
from tests.stories.driver import Story
from tests.world.checkpoints import add_chain
from tests.world.dashboard import HOSTILE, fill_repository, signed_in
from tests.world.model_findings import PAY, find_division

SHOP = "/dashboard/octo-org/shop"


@pytest.fixture
def model() -> ScriptedModel:
    """A model that costs something."""
    return ScriptedModel(FixedPrice(Decimal(5), Decimal(10)))


async def test_it_says_why_a_run_waits_and_where_that_is_decided(story_with_model: Story, model: ScriptedModel) -> None:
    busy = await fill_repository(story_with_model, model)
    run = next(each for each in await story_with_model.runs() if each.number == busy.waiting.number)
    async with signed_in(story_with_model, "rita") as rita:
        overview = await rita.open(SHOP)
        shown = await rita.open(f"{SHOP}/runs/{run.id}")
    [asked] = story_with_model.questions(busy.waiting)
    decided_at = f"{story_with_model.github.url}/octo-org/shop/pull/{busy.waiting.number}#issuecomment-{asked.id}"
    assert "protected_paths on #2" in overview.text
    assert "This run waits for a person at protected_paths: This changes protected files" in shown.text
    assert "Somebody with the role maintain or above decides, but not the author, until" in shown.text
    assert f'<a class="button" href="{decided_at}" rel="external">Decide on GitHub</a>' in shown.html
    assert ".github/workflows/ci.yml" in shown.text


async def test_it_says_what_a_run_cost_and_found_and_did(story_with_model: Story, model: ScriptedModel) -> None:
    """In the words of others, which stay words."""
    busy = await fill_repository(story_with_model, model)
    run = next(each for each in await story_with_model.runs() if each.number == busy.found.number)
    async with signed_in(story_with_model, "alice") as alice:
        listed = await alice.open(f"{SHOP}/runs?number={busy.found.number}&state=completed")
        shown = await alice.open(f"{SHOP}/runs/{run.id}")
        nothing = await alice.open(f"{SHOP}/runs?number={HOSTILE[:1]}&state=failed")
        costs = await alice.open(f"{SHOP}/costs")
    found = await run_pages.find_run(story_with_model.forge.services.database, busy.repository.id, run.id)
    assert found is not None
    assert found.cost > 0
    assert f"Cost {format_usd(found.cost)} · 3 calls of models" in shown.text
    assert format_usd(found.cost) in listed.text
    assert f"Review of #{busy.found.number}" in listed.text
    for page in (listed, shown, costs):
        assert "Add totals <img src=x onerror=alert(1)>" in page.text
        assert "<img src=x" not in page.html
    assert "Verdict: Changes requested" in shown.text
    assert "1 finding of severity error or above findings.blocking 1 of 1" in shown.text
    assert "error: model/logic-error in billing/pay.py:124" in shown.text
    assert "call of scripted" in shown.text
    assert "tool ruff" in shown.text
    assert "<img src=x onerror=alert(1)>" in shown.text
    assert "<img" not in shown.html
    assert "\u202e" not in shown.html
    assert "< is not the number of an issue or pull request." in nothing.text


async def test_it_names_the_memory_that_muted_a_finding(story_with_model: Story, model: ScriptedModel) -> None:
    story = story_with_model
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    carol = story.github.user("carol")
    story.github.grant(repository, carol, "write")
    find_division(model)
    await alice.push(repository, "feature", {"billing/pay.py": PAY}, base="main")
    pull = await alice.open_pull_request(repository, "feature", title="Add totals")
    await story.settle()
    [name] = story.finding_names(pull)
    await carol.comment(pull, f"/forge dismiss {name} an empty cart has no price here")
    await story.settle()
    story.pass_over(pull)
    [run] = await story.runs()
    [taught] = await catalogue.list_memories(story.forge.services.database, [repository.id])
    async with signed_in(story, "alice") as reader:
        shown = await reader.open(f"{SHOP}/runs/{run.id}")
    assert "Muted findings" in shown.text
    assert f"dismissed by carol: an empty cart has no price here · memory {taught.memory.short_id}" in shown.text
    assert "after 1 dismissal since the run ended" in shown.text
    was, became = "verdict: changes requested, 1 finding", "the verdict is now: approved, 0 findings"
    assert shown.text.index(was) < shown.text.index(f"finding {name} dismissed") < shown.text.index(became)


async def test_it_compares_what_an_agent_kept(story_with_model: Story, model: ScriptedModel) -> None:
    busy = await fill_repository(story_with_model, model)
    run = next(each for each in await story_with_model.runs() if each.number == busy.found.number)
    key = WorkKey(run_id=run.id, work="T1", base="b" * 40)
    database, now = story_with_model.forge.services.database, story_with_model.clock.now()
    first, second, last = await add_chain(database, key, now, said=f"I am stuck. {HOSTILE}")
    kept = f"{SHOP}/runs/{run.id}/checkpoints"
    async with signed_in(story_with_model, "alice") as alice:
        listed = await alice.open(kept)
        one = await alice.open(f"{kept}/{second.short_id}")
        two = await alice.open(f"{kept}/{last.short_id}?since={first.short_id}")
        absent = await alice.open(f"{kept}/C-000000")
    async with signed_in(story_with_model, "rita") as rita:
        assert (await rita.open(kept)).status == 404
        assert (await rita.open(f"{kept}/{second.short_id}")).status == 404
    assert all(each.short_id in listed.text for each in (first, second, last))
    assert "<img" not in listed.html
    assert "+def test(): ..." in one.text
    assert f"Checkpoint {last.short_id} compared with {first.short_id}" in two.text
    assert "-A = 1 +oops" in two.text
    assert absent.status == 404


async def test_a_run_is_shown_in_its_own_repository_only(story_with_model: Story, model: ScriptedModel) -> None:
    busy = await fill_repository(story_with_model, model)
    run = next(each for each in await story_with_model.runs() if each.number == busy.found.number)
    other = story_with_model.github.create_repository("octo-org/open", files={"README.md": "# Open\n"})
    story_with_model.github.install(other)
    async with signed_in(story_with_model, "stranger") as stranger:
        for path in ("", "/timeline", "/checkpoints"):
            assert (await stranger.open(f"/dashboard/octo-org/open/runs/{run.id}{path}")).status == 404
        assert run.id not in (await stranger.open("/dashboard/octo-org/open/runs")).text
