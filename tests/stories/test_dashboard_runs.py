"""What the dashboard shows of runs: why they wait, what they cost, what they found, what happened."""

from decimal import Decimal

import pytest

from agents.llm.scripted import ScriptedModel
from domain.money import FixedPrice, format_usd
from domain.runs.work_checkpoint import WorkKey
from memory.db.tables.runs import RunRow, WorkCheckpointRow
from memory.learned import catalogue
from memory.reports import pages
from tests.stories.driver import Story
from tests.world.checkpoints import add_chain
from tests.world.dashboard import HOSTILE, fill_repository, signed_in
from tests.world.memories import teach
from tests.world.model_findings import PAY, find_division

SHOP = "/dashboard/octo-org/shop"


@pytest.fixture
def model() -> ScriptedModel:
    """It costs something."""
    return ScriptedModel(FixedPrice(Decimal(5), Decimal(10)))


async def test_it_says_why_a_run_waits_and_where_that_is_decided(story: Story, model: ScriptedModel) -> None:
    busy = await fill_repository(story, model)
    run = next(each for each in await story.runs() if each.number == busy.waiting.number)
    async with story.forge.services.database.transaction() as session:
        row = await session.get_one(RunRow, run.id)
        row.finished_at = row.started_at  # as of a run that goes on after it ended
    async with signed_in(story, "rita") as rita:
        overview = await rita.open(SHOP)
        shown = await rita.open(f"{SHOP}/runs/{run.id}")
    [asked] = story.questions(busy.waiting)
    decided_at = f"{story.github.url}/octo-org/shop/pull/{busy.waiting.number}#issuecomment-{asked.id}"
    assert "protected_paths on #2" in overview.text
    for page in (overview, shown):
        assert "waiting (for a person)" in page.text
        assert "took" not in page.text  # it is not over
        assert "no time" not in page.text.partition("Timeline")[0]
    assert "This run waits for a person at protected_paths: This changes protected files" in shown.text
    who = "nyone with the role maintain or above, but the author of the change only if nobody else has it."
    assert f"Who decides: a{who} Without an answer until" in shown.text
    for page in (overview, shown):
        assert f" A{who}" in page.text
    assert f'<a class="button" href="{decided_at}" rel="external">Decide on GitHub</a>' in shown.html
    assert ".github/workflows/ci.yml" in shown.text


async def test_it_says_what_a_run_cost_and_found_and_did(story: Story, model: ScriptedModel) -> None:
    """In the words of others, which stay words."""
    busy = await fill_repository(story, model)
    run = next(each for each in await story.runs() if each.number == busy.found.number)
    async with signed_in(story, "alice") as alice:
        listed = await alice.open(f"{SHOP}/runs?number={busy.found.number}&state=completed")
        shown = await alice.open(f"{SHOP}/runs/{run.id}")
        nothing = await alice.open(f"{SHOP}/runs?number={HOSTILE[:1]}&state=failed")
        costs = await alice.open(f"{SHOP}/costs")
    found = await pages.find_run(story.forge.services.database, busy.repository.id, run.id)
    assert found is not None
    assert found.cost > 0
    assert f"Cost {format_usd(found.cost)} · 3 calls of models" in shown.text
    assert format_usd(found.cost) in listed.text
    assert f"Review of #{busy.found.number}" in listed.text
    for page in (listed, shown, costs):
        assert "Add totals <img src=x onerror=alert(1)>" in page.text
        assert "<img src=x" not in page.html
    assert "Changes requested: 1 finding to fix" in shown.text
    assert "Changes requested: 1 finding to fix" in listed.text
    assert "1 finding of severity error or above findings.blocking 1 of 1" in shown.text
    assert "error: model/logic-error in billing/pay.py:124" in shown.text
    assert "call of scripted" in shown.text
    assert "tool ruff" in shown.text
    assert "<img src=x onerror=alert(1)>" in shown.text
    assert "<img" not in shown.html
    assert "\u202e" not in shown.html
    assert "< is not the number of an issue or pull request." in nothing.text


async def test_it_names_the_memory_that_muted_a_finding(story: Story, model: ScriptedModel) -> None:
    repository, alice = story.repository({"README.md": "# Shop\n", "tests/test_shop.py": ""})
    carol = story.member(repository, "carol", "write")
    find_division(model)
    pull, _ = await story.propose(repository, alice, {"billing/pay.py": PAY}, title="Add totals")
    [name] = story.finding_names(pull)
    await story.after(carol.comment(pull, f"/forge dismiss {name} an empty cart has no price here"))
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


async def test_it_compares_what_an_agent_kept(story: Story, model: ScriptedModel) -> None:
    busy = await fill_repository(story, model)
    run = next(each for each in await story.runs() if each.number == busy.found.number)
    key = WorkKey(run_id=run.id, work="T1", base="b" * 40)
    database, now = story.forge.services.database, story.clock.now()
    first, second, last = await add_chain(database, key, now, said=f"I am stuck. {HOSTILE}")
    kept = f"{SHOP}/runs/{run.id}/checkpoints"
    async with signed_in(story, "alice") as alice:
        listed = await alice.open(kept)
        one = await alice.open(f"{kept}/{second.short_id}")
        two = await alice.open(f"{kept}/{last.short_id}?since={first.short_id}")
        absent = await alice.open(f"{kept}/C-000000")
        same = await alice.open(f"{kept}/{last.short_id}?since={last.short_id}")
        async with database.transaction() as session:
            row = await session.get(WorkCheckpointRow, second.id)
            assert row is not None
            row.content = b"x"
        broken = await alice.open(f"{kept}/{last.short_id}")
    async with signed_in(story, "rita") as rita:
        assert (await rita.open(kept)).status == 404
        assert (await rita.open(f"{kept}/{second.short_id}")).status == 404
    assert all(each.short_id in listed.text for each in (first, second, last))
    assert "<img" not in listed.html
    assert "+def test(): ..." in one.text
    assert f"Checkpoint {last.short_id} compared with {first.short_id}" in two.text
    assert "-A = 1 +oops" in two.text
    assert f"Nothing differs from {last.short_id}" in same.text
    assert "is not as it was written" in broken.text
    assert "oops" not in broken.text
    assert absent.status == 404


async def test_what_belongs_to_a_repository_is_shown_there_only(story: Story, model: ScriptedModel) -> None:
    """Also to who administers another one: on no page, in no export, under no id."""
    busy = await fill_repository(story, model)
    runs = {each.number: each for each in await story.runs()}
    run, waits = runs[busy.found.number], runs[busy.waiting.number]
    memory = await teach(story, busy.repository)
    [name] = story.finding_names(busy.found)
    other = story.github.create_repository("octo-org/open", files={"README.md": "# Open\n"})
    story.github.install(other)
    story.github.grant(other, story.github.user("stranger"), "admin")
    open_to_all = "/dashboard/octo-org/open"
    async with signed_in(story, "stranger") as stranger:
        for path in (f"runs/{run.id}", f"runs/{run.id}/timeline", f"runs/{run.id}/checkpoints"):
            assert (await stranger.open(f"{open_to_all}/{path}")).status == 404
        assert (await stranger.open(f"{open_to_all}/memories/{memory.short_id}")).status == 404
        assert (await stranger.send(f"{open_to_all}/memories/{memory.short_id}/archive")).status == 404
        assert f"There is no run {run.id} here." in (await stranger.open(f"{open_to_all}/audit?run={run.id}")).text
        for path in _LISTS:
            shown = await stranger.open(f"{open_to_all}{path}")
            assert shown.status == 200, path
            for word in (run.id, waits.id, name, memory.id, memory.short_id, "billing/pay.py", "Totals of nothing"):
                assert word not in shown.html, path


_LISTS = (
    *("", "/runs", "/memories", "/memories?archived=yes", "/memories?q=totals"),
    *("/gates", "/costs", "/metrics", "/deployments", "/audit", "/audit/export/jsonl", "/audit/export/csv"),
)
