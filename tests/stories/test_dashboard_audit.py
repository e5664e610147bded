"""The audit on the dashboard: who may see it, what filters find, what an export holds."""

import csv
import json
from io import StringIO

from agents.llm.scripted import ScriptedModel
from tests.stories.driver import Story
from tests.world.dashboard import fill_repository, signed_in

AUDIT = "/dashboard/octo-org/shop/audit"


async def test_the_audit_is_found_by_account_kind_time_and_run(story_with_model: Story, model: ScriptedModel) -> None:
    story = story_with_model
    busy = await fill_repository(story, model)
    await story.github.user("dora").comment(busy.waiting, "/forge approve with: =only now <img src=x>")
    await story.settle()
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
