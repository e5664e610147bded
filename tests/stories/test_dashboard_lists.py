"""What the dashboard lists: costs, deployments, gates, and the audit; to whom, and how it was."""

import base64
import csv
import json
import re
from datetime import timedelta
from io import StringIO

from agents.llm.scripted import ScriptedModel
from domain.money import MICRO
from tests.rows import spend_row
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.dashboard import fill_repository, signed_in
from tests.world.deployments import open_deployments
from tests.world.instructions import ASKED, open_pull
from tests.world.issues import DONE, TASK, patches, plan
from tests.world.toy_service import ToyService

SHOP = "/dashboard/octo-org/shop"


async def test_readers_see_costs_budgets_and_trends(story: Story, model: ScriptedModel) -> None:
    """The sums are those of the calls; pictures have no scripts and lead nowhere."""
    busy = await fill_repository(story, model)
    run, now = (await story.runs())[0], story.clock.now()
    today, week_ago = (day.date().isoformat() for day in (now, now - timedelta(days=7)))
    async with story.forge.services.database.transaction() as session:
        session.add(spend_row("open", run.id, 4 * MICRO, repository_id=busy.repository.id, day=today, state="reserved"))
        session.add(spend_row("old", run.id, 5 * MICRO, repository_id=busy.repository.id, day=week_ago))
    async with signed_in(story, "rita") as rita:
        longer = await rita.open(f"{SHOP}/costs")
        costs = await rita.open(f"{SHOP}/costs?days=7")
        metrics = await rita.open(f"{SHOP}/metrics?weeks=4")
        odd = [await rita.open(f"{SHOP}/costs?days=%00"), await rita.open(f"{SHOP}/metrics?weeks=9999999")]
    async with signed_in(story, "stranger") as stranger:
        hidden = [await stranger.open(f"{SHOP}/{page}") for page in ("costs", "metrics")]
    assert "4.00 USD in 7 days." in costs.text
    assert week_ago not in costs.text
    assert "9.00 USD in 30 days." in longer.text
    assert f"{week_ago} 1 1,000 500 100 5.00 USD" in longer.text
    assert "this day (UTC) 0.00 USD 4.00 USD 196.00 USD 200.00 USD" in costs.text
    assert "Review of #1" in costs.text
    assert "No provider of a model gave so many errors" in costs.text
    assert "approved at the first review" in metrics.text
    assert "100% (" in metrics.text or "0% (" in metrics.text
    assert [each.status for each in odd] == [200, 200]
    assert [each.status for each in hidden] == [404, 404]
    pictures = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", costs.html + metrics.html)
    assert len(pictures) >= 4  # each for light and dark
    for each in pictures:
        drawn = base64.b64decode(each).decode()
        assert "<script" not in drawn
        assert "href" not in drawn


async def test_what_went_back_is_shown_with_its_steps(story: Story, service: ToyService) -> None:
    scene = await open_deployments(story, service)
    await scene.was_deployed()
    after = await scene.merge()
    await scene.comment(scene.alice, "/forge deploy staging")
    service.error_rates[after] = 0.9
    await scene.run_on()
    scene.end()
    name = scene.repository.full_name
    async with signed_in(story, "alice") as alice:
        shown = await alice.open(f"/dashboard/{name}/deployments")
    assert re.search(r"Deployed last and kept production \w{7} (healthy|unverified)|kept staging \w{7}", shown.text)
    assert "rolled_back" in shown.text
    assert "25 %: unhealthy" in shown.text
    assert after[:7] in shown.text


async def test_a_gate_that_waits_leads_to_where_it_is_decided(story: Story, model: ScriptedModel) -> None:
    busy = await fill_repository(story, model)
    [asked] = story.questions(busy.waiting)
    async with signed_in(story, "rita") as rita, signed_in(story, "stranger") as stranger:
        shown, everywhere = await rita.open(f"{SHOP}/gates"), await rita.open("/dashboard/gates")
        assert (await stranger.open(f"{SHOP}/gates")).status == 404
        assert "No gate waits in a repository that you may read." in (await stranger.open("/dashboard/gates")).text
        decided_at = f"{story.github.url}/octo-org/shop/pull/{busy.waiting.number}#issuecomment-{asked.id}"
        for page in (shown, everywhere):
            assert f'<a href="{decided_at}" rel="external">' in page.html
            assert "This changes protected files" in page.text
            assert (
                "Anyone with the role maintain or above, but the author of the change only if nobody else has it."
                in page.text
            )
        assert "octo-org/shop" in everywhere.text
        assert "No gate was decided here yet." in shown.text
        story.github.revoke(busy.repository, story.github.user("rita"))
        assert (await rita.open(f"{SHOP}/gates")).status == 404
        assert "This changes protected files" not in (await rita.open("/dashboard/gates")).text


async def test_a_decided_gate_says_who_and_why(story: Story, model: ScriptedModel) -> None:
    busy = await fill_repository(story, model)
    await story.after(
        story.github.user("dora").comment(
            busy.waiting, "/forge approve with: only for now <img src=x onerror=alert(1)>"
        )
    )
    story.pass_over(busy.waiting)
    async with signed_in(story, "rita") as rita:
        shown, overview = await rita.open(f"{SHOP}/gates"), await rita.open(SHOP)
    assert "Gates that wait 0 Your role" in overview.text
    assert "No gate waits here." in shown.text
    assert "Approved by dora" in shown.text
    assert "only for now <img src=x" in shown.text
    assert "<img" not in shown.html


AUDIT = f"{SHOP}/audit"


async def test_the_audit_is_found_by_account_kind_time_and_run(story: Story, model: ScriptedModel) -> None:
    busy = await fill_repository(story, model)
    await story.after(story.github.user("dora").comment(busy.waiting, "/forge approve with: =only now <img src=x>"))
    story.pass_over(busy.waiting)
    run = next(each for each in await story.runs() if each.number == busy.waiting.number)
    async with signed_in(story, "alice") as alice, signed_in(story, "rita") as rita:
        shown = await alice.open(AUDIT)
        by_dora = await alice.open(f"{AUDIT}?account=DORA&kind=gate&since=1d")
        of_run = await alice.open(f"{AUDIT}?run={run.id[-8:]}")
        earlier = await alice.open(f"{AUDIT}?until=2020-01-01")
        wrong = await alice.open(f"{AUDIT}?since=soon&account=dora")
        absent = await alice.open(f"{AUDIT}?run=00000000")
        lines = await alice.open(f"{AUDIT}/export/jsonl")
        table = await alice.open(f"{AUDIT}/export/csv?account=dora")
        assert (await alice.open(f"{AUDIT}/export/xml")).status == 404
        assert (await rita.open(AUDIT)).status == 404
        assert (await rita.open(f"{AUDIT}/export/csv")).status == 404
    assert "gate protected_paths" in shown.text
    assert "only now <img src=x>" in by_dora.text
    assert "<img" not in by_dora.html
    assert "gate.requested" not in by_dora.text
    assert "run.completed" in of_run.text
    assert "No event is like this." in earlier.text
    assert "Since soon is not a time." in wrong.text
    assert 'value="dora"' in wrong.html
    assert "There is no run 00000000 here." in absent.text
    kinds = [json.loads(line)["type"] for line in lines.html.splitlines()]
    assert "gate.requested" in kinds
    assert "gate.approved" in kinds
    assert 'filename="forge-audit-octo-org-shop.jsonl"' in lines.headers["content-disposition"]
    for each in (lines, table):
        assert (each.headers["cache-control"], each.headers["x-content-type-options"]) == ("no-store", "nosniff")
    [row] = csv.DictReader(StringIO(table.html))
    assert row["who"] == "dora"
    assert row["words"].startswith("'=only now")


async def test_what_was_asked_for_in_words_is_named_so_everywhere(story: Story, model: ScriptedModel) -> None:
    _, alice, pull = await open_pull(story)
    model.when(ASKED, plan())
    model.when(TASK, patches(DIFF), DONE)
    await story.after(alice.comment(pull, "/forge do give the cart a discount"))
    [run] = [each for each in await story.runs() if each.trigger == "instruction"]
    async with signed_in(story, "alice") as alice_sees:
        for page in ("runs", f"runs/{run.id}", "costs"):
            shown = await alice_sees.open(f"{SHOP}/{page}")
            assert "/forge do give the cart a discount" in shown.text
            assert "Instruction" not in shown.text
    story.pass_over(pull)
