"""Contracts are changed by one run at a time, and only where the plan names them."""

import asyncio
from datetime import timedelta

from pydantic import JsonValue

from agents.llm.scripted import ScriptedModel, Stalls
from memory.runs import contract_leases
from simulator.state import Issue, PullRequest
from tests.stories.driver import Story
from tests.world.issues import DONE, IssueScene, last_instructions, open_issue, patches, plan

API, EVENTS = "api/openapi.yaml", "api/asyncapi.yaml"
FILES = {API: "paths: {}\n", EVENTS: "channels: {}\n"}
# Its review waits for a person, and so does its run
HELD = {".github/forge.yml": "gates:\n  design: {phase: review, when: review.lines_changed > 0, prompt: Fine}\n"}


def edit(path: str) -> str:
    """A diff of a contract's file."""
    before = FILES[path]
    return f"--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,1 @@\n-{before}+# newer\n"


def build_plan(
    *contracts: str, summary: str = "Carts get a discount.", file: str = "shop/cart.py"
) -> dict[str, JsonValue]:
    """A plan that changes contracts, of which only the last is told from its file."""
    made = plan(summary=summary)
    inner = made["plan"]
    assert isinstance(inner, dict)
    assert isinstance(inner["tasks"], list)
    [task] = inner["tasks"]
    assert isinstance(task, dict)
    inner["tasks"] = [{**task, "title": f"Do it: {summary}", "files": [file]}]
    inner["contracts"] = [*contracts]
    inner["allowed_areas"] = ["shop/**", "api/**"]
    return made


def view_pull_requests(story: Story, asked: IssueScene) -> list[PullRequest]:
    """Every pull request, the oldest first, with all that is said anywhere."""
    for each in asked.repository.issues.values():
        story.pass_over(each)
    return sorted(asked.repository.pulls(), key=lambda pull: pull.number)


async def second(story: Story, asked: IssueScene) -> IssueScene:
    """Another issue in the same repository."""
    issue: Issue = await asked.alice.open_issue(asked.repository, "Vouchers", "Customers want vouchers.")
    await story.settle()
    return IssueScene(story, asked.repository, asked.alice, issue)


async def test_different_contracts_are_changed_at_once(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **FILES, **HELD)
    model.when("Title: Discounts", build_plan(file=API))
    model.when("Vouchers", build_plan(summary="Vouchers exist.", file=EVENTS))
    model.when("== your task: T1 Do it: Carts", patches(edit(API)), DONE)
    model.when("== your task: T1 Do it: Vouchers", patches(edit(EVENTS)), DONE)
    await asked.comment(asked.alice, "/forge run")
    other = await second(story, asked)
    await other.comment(asked.alice, "/forge run")
    first, later = view_pull_requests(story, asked)
    assert [each.path for each in asked.repository.git.diff(first.base_sha, first.head_sha)] == [API]
    assert [each.path for each in asked.repository.git.diff(later.base_sha, later.head_sha)] == [EVENTS]


async def vouchers_wait(story: Story, model: ScriptedModel) -> tuple[IssueScene, IssueScene]:
    """Two issues whose plans change the same contract: the first is in review, so the second waits for it."""
    asked = await open_issue(story, **FILES, **HELD)
    model.when("Title: Discounts", build_plan(file=API))
    model.when("want vouchers", build_plan(summary="Vouchers exist.", file=API))
    model.when("== your task: T1 Do it: Carts", patches(edit(API)), DONE)
    model.when("== your task: T1 Do it: Vouchers", patches(edit(API)), DONE)
    await asked.comment(asked.alice, "/forge run")
    other = await second(story, asked)
    await other.comment(asked.alice, "/forge run")
    [pull] = view_pull_requests(story, asked)
    assert f"`openapi` is locked by the run of #1, which opened #{pull.number}" in other.status
    assert await state(story, other) == "waiting"
    return asked, other


async def state(story: Story, asked: IssueScene) -> str:
    """The state of the newest run of an issue."""
    return next(each.state for each in await story.runs() if each.number == asked.issue.number)


async def until(story: Story, asked: IssueScene, words: str) -> None:
    """Wait until the status of an issue says something."""
    for _ in range(400):
        await story.settle()
        if words in asked.status:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{asked.status}\n{[(run.number, run.state, run.reason) for run in await story.runs()]}")


async def test_who_waits_goes_on_after_the_other_is_merged(story: Story, model: ScriptedModel) -> None:
    """A lease does not lapse while its run waits for a review, however long that takes."""
    asked, other = await vouchers_wait(story, model)
    story.clock.move(minutes=6)
    await asyncio.sleep(3)
    await story.settle()
    assert await state(story, other) == "waiting"
    [pull] = view_pull_requests(story, asked)
    await story.after(asked.alice.mark_ready(pull))
    await asked.alice.merge(pull)
    story.clock.move(minutes=6)
    await until(story, other, "Pull request: done")
    first, later = view_pull_requests(story, asked)
    assert first is pull
    assert asked.repository.git.read(later.head_sha, API) == b"# newer\n"
    assert "Waiting for other runs" not in other.status


async def test_who_waits_for_github_keeps_its_contract(story: Story, model: ScriptedModel) -> None:
    """Nothing renews its lease meanwhile, and nobody else takes it."""
    asked = await open_issue(story, **FILES, **HELD)
    model.when("Title: Discounts", build_plan(file=API))
    model.when("== your task: T1 Do it: Carts", patches(edit(API)), DONE)
    wait = {"retry-after": "3600"}
    story.github.faults.add(kind="before", method="POST", path=r"/pulls$", status=403, headers=wait)
    await asked.comment(asked.alice, "/forge run")
    assert await state(story, asked) == "waiting"
    story.clock.move(minutes=30)
    database, where, now = story.forge.services.database, asked.repository.id, story.clock.now()
    assert not (await contract_leases.acquire(database, where, ["openapi"], "another", now)).is_ours
    story.clock.move(minutes=31)
    await until(story, asked, "Pull request: done")
    view_pull_requests(story, asked)


async def test_who_waits_goes_on_after_the_other_is_cancelled(story: Story, model: ScriptedModel) -> None:
    asked, other = await vouchers_wait(story, model)
    await asked.comment(asked.alice, "/forge cancel")
    story.clock.move(minutes=6)
    await until(story, other, "Pull request: done")
    assert len(view_pull_requests(story, asked)) == 2


async def test_nobody_waits_for_longer_than_a_day(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **FILES)
    model.when("Title: Discounts", build_plan(file=API))
    database, tomorrow = story.forge.services.database, story.clock.now() + timedelta(hours=25)
    await contract_leases.acquire(database, asked.repository.id, ["openapi"], "another", tomorrow)
    await asked.comment(asked.alice, "/forge run")
    assert "`openapi` is locked by another run" in asked.status
    run = await asked.run()
    assert run.state == "waiting"
    story.clock.move(hours=24, minutes=1)
    await until(story, asked, "Not started after a day of waiting")
    assert await state(story, asked) == "failed"
    assert len(model.calls) == 1


# --- attacks -----------------------------------------------------------------------------------------------


async def test_a_contract_that_the_plan_did_not_name_is_not_changed(story: Story, model: ScriptedModel) -> None:
    asked = await open_issue(story, **FILES)
    model.when("Title: Discounts", build_plan(file=API))
    model.when("== your task: T1 Do it: Carts", patches(edit(EVENTS)), patches(edit(API)), DONE)
    await asked.comment(asked.alice, "/forge run")
    assert "It belongs to the contract “events”, whose lock this run does not hold." in last_instructions(model)
    [pull] = view_pull_requests(story, asked)
    assert [each.path for each in asked.repository.git.diff(pull.base_sha, pull.head_sha)] == [API]


async def test_a_lease_that_is_lost_while_it_works_stops_the_push(story: Story, model: ScriptedModel) -> None:
    """The process was frozen for so long that the lease lapsed, and another run took the contract."""
    asked = await open_issue(story, **FILES)
    working = asyncio.Event()

    def stalls(_content: str) -> Stalls:
        working.set()
        return Stalls(1.5)

    model.when("Title: Discounts", build_plan(file=API))
    model.when("== your task: T1 Do it: Carts", stalls, patches(edit(API)), DONE)
    await asked.alice.comment(asked.issue, "/forge run")
    await working.wait()
    database, later = story.forge.services.database, story.clock.now() + timedelta(minutes=6)
    assert (await contract_leases.acquire(database, asked.repository.id, ["openapi"], "another", later)).tokens == {
        "openapi": 2
    }
    await story.settle()
    assert not asked.repository.pulls()
    assert not [name for name in asked.repository.git.refs() if "forge/" in name]
    assert "whose lock went to another run (token 1 is void)" in asked.status
    run = await asked.run()
    assert run.state == "failed"
