"""Somebody wants to hear of gates, budgets, levels and failures, and hears of each once, in order, signed."""

from collections.abc import AsyncGenerator

import pytest

from agents.llm.scripted import ScriptedModel
from domain.notices import show_secret
from tests.stories.driver import Story
from tests.stories.gate_scenes import open_scene
from tests.world.model_findings import PAY, SHOP, find_division
from tests.world.notice_receiver import NoticeReceiver, run_receiver, verify
from tests.world.notices import (
    configure,
    fail_runs,
    find_key,
    find_secret,
    list_notices,
    wait_for_failing,
    wait_for_states,
)

sqlite = pytest.mark.parametrize("story", ["sqlite"], indirect=True)


@pytest.fixture
async def receiver() -> AsyncGenerator[NoticeReceiver]:
    """Who wants to hear of it."""
    async with run_receiver() as running:
        yield running


async def test_who_is_told_of_a_gate_can_trust_it_and_find_it(story: Story, receiver: NoticeReceiver) -> None:
    scene = await open_scene(story, configuration=configure(receiver))
    [heard] = await receiver.wait(1)
    secret = await find_secret(story, scene, receiver)
    assert verify(secret, heard.headers, heard.body)
    assert not verify(secret, heard.headers, heard.body + b" ")
    assert not verify(show_secret(b"another secret of 32 bytes......"), heard.headers, heard.body)
    [gate] = await scene.list_gates()
    told = heard.json
    assert (told["type"], told["data"]["severity"], told["data"]["number"]) == ("gate.opened", "warning", 1)
    assert told["data"]["repository"]["name"] == "octo-org/shop"
    assert told["data"]["title"] == "protected_paths waits for a person in octo-org/shop#1"
    [question] = story.questions(scene.pull)
    assert told["data"]["url"] == f"{story.github.url}/octo-org/shop/pull/1#issuecomment-{question.id}"
    assert told["data"]["facts"]["gate"] == gate.short_id

    story.clock.move(hours=23, minutes=30)
    await receiver.wait(2)
    await scene.comment(scene.carol, "/forge approve protected_paths")
    await receiver.wait(3)
    assert receiver.types == ["gate.opened", "gate.expiring", "gate.closed"]
    assert "was approved by carol" in receiver.taken[-1].json["data"]["title"]
    assert len({each.id for each in receiver.taken}) == 3
    await wait_for_failing(story, 0)


@sqlite
async def test_nobody_answers_in_time(story: Story, receiver: NoticeReceiver) -> None:
    named = 'gates: {protected_paths: {timeout: 3h, escalate: ["@dora"]}}\n'
    scene = await open_scene(story, configuration=named + configure(receiver, ", severity: error"))
    story.clock.move(hours=4)
    await receiver.wait(2)
    await story.settle()
    assert sorted(receiver.types) == ["gate.closed", "gate.escalated"]
    story.pass_over(scene.pull)


async def test_who_is_down_for_a_while_gets_everything_in_order(story: Story, receiver: NoticeReceiver) -> None:
    receiver.status = 503
    scene = await open_scene(story, configuration=configure(receiver))
    await receiver.wait_for_attempts(1)
    await fail_runs(story, scene, 2)
    await wait_for_states(story, lambda states: states == ["sending", "waiting", "waiting"])
    [failing] = await wait_for_failing(story, 1)
    assert (failing.failures, failing.problem) == (1, "it answered 503")
    assert len(receiver.heard) == 1  # a target that fails is left alone
    assert scene.conclusion == "action_required"  # and nothing else waits for it

    receiver.status = 204
    story.clock.move(seconds=11)
    await receiver.wait(3)
    assert receiver.types == ["gate.opened", "run.failed", "run.failed"]
    assert receiver.heard[0].id == receiver.heard[1].id
    assert receiver.heard[0].body == receiver.heard[1].body
    secret = await find_secret(story, scene, receiver)
    assert all(verify(secret, each.headers, each.body) for each in receiver.heard)
    await wait_for_states(story, lambda states: set(states) == {"sent"})
    await wait_for_failing(story, 0)
    story.pass_over(scene.pull)


@sqlite
async def test_who_asks_for_a_pause_gets_it(story: Story, receiver: NoticeReceiver) -> None:
    receiver.status, receiver.headers = 429, {"Retry-After": "7200"}
    scene = await open_scene(story, configuration=configure(receiver))
    await wait_for_failing(story, 1)
    story.clock.move(hours=1, minutes=50)
    await fail_runs(story, scene, 1)
    await wait_for_states(story, lambda states: len(states) == 2)
    assert len(receiver.heard) == 1
    receiver.status = 200
    story.clock.move(minutes=11)
    await receiver.wait(2)
    story.pass_over(scene.pull)


@sqlite
async def test_who_stays_away_for_a_day_misses_it(story: Story, receiver: NoticeReceiver) -> None:
    receiver.status = 500
    configuration = configure(receiver, ", events: [run.failed]")
    scene = await open_scene(story, configuration=configuration)
    await fail_runs(story, scene, 1, "The first one.")
    await wait_for_failing(story, 1)
    story.clock.move(hours=25)
    [first, *_] = await wait_for_states(story, lambda states: states[0] == "failed")
    assert first.problem == "not delivered within 24 hours: it answered 500"
    receiver.status = 200
    await story.settle()
    story.clock.move(hours=2)
    await fail_runs(story, scene, 1, "A later one.")
    [heard] = await receiver.wait(1)
    assert heard.json["data"]["text"].startswith("A later one.")
    story.pass_over(scene.pull)


@sqlite
async def test_who_wants_nothing_any_more_gets_nothing(story: Story, receiver: NoticeReceiver) -> None:
    receiver.status = 410
    scene = await open_scene(story, configuration=configure(receiver))
    await receiver.wait_for_attempts(1)
    await wait_for_states(story, lambda states: states == ["failed"])
    await fail_runs(story, scene, 1)
    story.clock.move(hours=30)
    await story.settle()
    [gone] = await wait_for_failing(story, 1)
    assert gone.gone_at is not None
    assert len(receiver.heard) == 1
    assert len(await list_notices(story)) == 1
    story.pass_over(scene.pull)


@sqlite
async def test_one_that_is_refused_does_not_hold_up_the_next(story: Story, receiver: NoticeReceiver) -> None:
    receiver.status, receiver.says = 400, "no such field \x1b[31m"
    scene = await open_scene(story, configuration=configure(receiver))
    [refused] = await wait_for_states(story, lambda states: states == ["failed"])
    assert refused.problem == "it answered 400 (no such field)"
    receiver.status = 200
    await fail_runs(story, scene, 1)
    await receiver.wait(1)
    story.pass_over(scene.pull)


async def test_a_storm_is_summed_up(story: Story, receiver: NoticeReceiver) -> None:
    scene = await open_scene(story, configuration=configure(receiver))
    await fail_runs(story, scene, 69)
    await receiver.wait(30)
    *_, rest = await wait_for_states(story, lambda states: states == ["sent"] * 30 + ["waiting"])
    assert rest.more == {"run.failed": 40}
    story.clock.move(minutes=11)
    await receiver.wait(31)
    assert receiver.taken[-1].json["type"] == "notices.more"
    assert receiver.taken[-1].json["data"]["title"] == "And 40 more in octo-org/shop"
    assert receiver.taken[-1].json["data"]["facts"] == {"run.failed": 40, "count": 40}
    await fail_runs(story, scene, 1)
    await receiver.wait(32)
    story.pass_over(scene.pull)


@sqlite
async def test_levels_pauses_and_deliveries_that_fail(story: Story, receiver: NoticeReceiver) -> None:
    scene = await open_scene(story, {"README.md": "# Shop\n\nOpen.\n"}, configure(receiver))
    dora = scene.add_user("dora", "admin")
    await scene.comment(dora, "/forge level 2")
    await scene.comment(dora, "/forge level 1")
    await scene.comment(dora, "/forge pause")
    await scene.comment(dora, "/forge unpause")
    await receiver.wait(4)
    story.github.faults.add(kind="before", method="GET", path=r"pulls/\d+$", status=422, times=1)
    await scene.push({"README.md": "# Shop\n\nClosed.\n"})
    await receiver.wait(5)
    kinds = ["level.raised", "level.lowered", "repository.paused", "repository.unpaused", "delivery.failed"]
    assert receiver.types == kinds
    titles = [each.json["data"]["title"] for each in receiver.taken]
    assert titles[0].startswith("The automation level rose from ")
    assert "forge replay" in receiver.taken[-1].json["data"]["text"]
    assert receiver.taken[-1].json["data"]["repository"]["name"] == "octo-org/shop"
    story.pass_over(scene.pull)


@pytest.mark.parametrize("story_with_model", ["sqlite"], indirect=True)
async def test_a_limit_that_is_reached_is_told_once(
    story_with_model: Story, model: ScriptedModel, receiver: NoticeReceiver
) -> None:
    find_division(model)
    configuration = "breakers: {iteration: {review: 1}}\n" + configure(receiver, ", events: ['budget.*']")
    tests = {"tests/test_shop.py": SHOP["tests/test_shop.py"]}
    scene = await open_scene(story_with_model, {"billing/pay.py": PAY}, configuration, tests)
    await receiver.wait(2)
    assert receiver.types == ["budget.warning", "budget.reached"]
    assert {each.json["data"]["facts"]["limit"] for each in receiver.taken} == {"iteration.review"}
    await scene.comment(scene.alice, "/forge continue 1it")
    assert len(receiver.taken) == 2
    story_with_model.pass_over(scene.pull)


@sqlite
async def test_who_is_named_no_more_is_told_nothing_more(story: Story, receiver: NoticeReceiver) -> None:
    receiver.status = 503
    scene = await open_scene(story, configuration=configure(receiver))
    await wait_for_failing(story, 1)
    carol = scene.carol
    await carol.push(scene.repository, "main", {".github/forge.yml": "preset: standard\n"})
    await scene.push({"README.md": "# Shop\n\nMore.\n"})
    receiver.status = 200
    story.clock.move(minutes=5)
    found = await wait_for_states(story, lambda states: "sending" not in states and "waiting" not in states)
    assert {each.state for each in found} == {"failed"}
    assert "names it no more" in found[0].problem
    assert receiver.taken == []
    await wait_for_failing(story, 0)
    assert await find_key(scene, receiver)
    story.pass_over(scene.pull)
