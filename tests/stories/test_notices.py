"""Somebody wants to hear of gates, limits, levels and failures, and hears of each once, in order, signed."""

from collections.abc import AsyncGenerator
from datetime import timedelta

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
    find_secret,
    wait_for_ends,
    wait_for_failing,
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
    assert (told["type"], told["data"]["number"]) == ("gate.opened", 1)
    assert told["data"]["repository"]["name"] == "octo-org/shop"
    assert told["data"]["title"] == "protected_paths waits for a person in octo-org/shop#1"
    [question] = story.questions(scene.pull)
    assert told["data"]["url"] == f"{story.github.url}/octo-org/shop/pull/1#issuecomment-{question.id}"
    assert told["data"]["facts"]["gate"] == gate.short_id

    await scene.comment(scene.carol, "/forge approve protected_paths")
    await receiver.wait(2)
    assert receiver.types == ["gate.opened", "gate.closed"]
    assert "was approved by carol" in receiver.taken[-1].json["data"]["title"]
    assert len({each.id for each in receiver.taken}) == 2
    assert await wait_for_ends(2) == ["sent", "sent"]
    await wait_for_failing(story, 0)


@sqlite
async def test_nobody_answers_in_time(story: Story, receiver: NoticeReceiver) -> None:
    named = 'gates: {protected_paths: {timeout: 3h, escalate: ["@dora"]}}\n'
    scene = await open_scene(story, configuration=named + configure(receiver, ", events: [gate.closed]"))
    story.clock.move(hours=4)
    [heard] = await receiver.wait(1)
    assert heard.json["data"]["title"] == "protected_paths expired in octo-org/shop#1"
    await story.settle()
    assert len(receiver.taken) == 1
    story.pass_over(scene.pull)


async def test_who_is_down_for_a_while_gets_everything_in_order(story: Story, receiver: NoticeReceiver) -> None:
    receiver.status = 503
    scene = await open_scene(story, configuration=configure(receiver))
    await receiver.wait_for_attempts(1)
    await fail_runs(story, scene, 2)
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
    assert set(await wait_for_ends(3)) == {"sent"}
    await wait_for_failing(story, 0)
    story.pass_over(scene.pull)


@sqlite
async def test_who_asks_for_a_pause_gets_it(story: Story, receiver: NoticeReceiver) -> None:
    receiver.status, receiver.headers = 429, {"Retry-After": "7200"}
    scene = await open_scene(story, configuration=configure(receiver))
    await wait_for_failing(story, 1)
    story.clock.move(hours=1, minutes=50)
    await fail_runs(story, scene, 1)
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
    assert await wait_for_ends(1) == ["given up: it answered 500"]
    receiver.status = 200
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
    await wait_for_ends(1)
    await fail_runs(story, scene, 1)
    story.clock.move(hours=30)
    assert await wait_for_ends(2) == ["given up: it answered 410"] * 2
    [gone] = await wait_for_failing(story, 1)
    assert gone.rest_until > story.clock.now() + timedelta(days=28)
    assert len(receiver.heard) == 1
    story.pass_over(scene.pull)


@sqlite
async def test_one_that_is_refused_does_not_hold_up_the_next(story: Story, receiver: NoticeReceiver) -> None:
    receiver.status, receiver.says = 400, "no such field \x1b[31m"
    scene = await open_scene(story, configuration=configure(receiver))
    assert await wait_for_ends(1) == ["it answered 400 (no such field)"]
    receiver.status = 200
    await fail_runs(story, scene, 1)
    await receiver.wait(1)
    story.pass_over(scene.pull)


async def test_a_storm_ends_with_a_word_that_there_is_more(story: Story, receiver: NoticeReceiver) -> None:
    scene = await open_scene(story, configuration=configure(receiver))
    await receiver.wait(1)
    await fail_runs(story, scene, 70)
    ends = await wait_for_ends(71)
    assert (ends.count("sent"), len(receiver.heard)) == (60, 60)
    *others, last = [each.json["data"]["text"] for each in receiver.taken]
    assert "nothing more is told here" in last
    assert not any("nothing more is told here" in each for each in others)
    story.clock.move(minutes=61)
    await fail_runs(story, scene, 1)
    await receiver.wait(61)
    story.pass_over(scene.pull)


@sqlite
async def test_levels_and_deliveries_that_fail(story: Story, receiver: NoticeReceiver) -> None:
    scene = await open_scene(story, {"README.md": "# Shop\n\nOpen.\n"}, configure(receiver))
    dora = scene.add_user("dora", "admin")
    await scene.comment(dora, "/forge level 2")
    await scene.comment(dora, "/forge level 1")
    await receiver.wait(2)
    story.github.faults.add(kind="before", method="GET", path=r"pulls/\d+$", status=422, times=1)
    await scene.push({"README.md": "# Shop\n\nClosed.\n"})
    await receiver.wait(3)
    assert receiver.types == ["level.changed", "level.changed", "delivery.failed"]
    titles = [each.json["data"]["title"] for each in receiver.taken]
    assert titles[0].startswith("The automation level rose from ")
    assert "forge replay" in receiver.taken[-1].json["data"]["text"]
    assert receiver.taken[-1].json["data"]["repository"]["name"] == "octo-org/shop"
    story.pass_over(scene.pull)


@pytest.mark.parametrize("story", ["sqlite"], indirect=True)
async def test_a_limit_that_is_reached_is_told_once(
    story: Story, model: ScriptedModel, receiver: NoticeReceiver
) -> None:
    find_division(model)
    configuration = "breakers: {iteration: {review: 1}}\n" + configure(receiver, ", events: [budget.reached]")
    tests = {"tests/test_shop.py": SHOP["tests/test_shop.py"]}
    scene = await open_scene(story, {"billing/pay.py": PAY}, configuration, tests)
    [heard] = await receiver.wait(1)
    assert (heard.json["type"], heard.json["data"]["facts"]) == ("budget.reached", {"limit": "iteration.review"})
    await scene.comment(scene.alice, "/forge continue 1it")
    assert len(receiver.taken) == 1
    story.pass_over(scene.pull)


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
    assert set(await wait_for_ends(1)) == {"nobody wants it any more"}
    assert receiver.taken == []
    story.pass_over(scene.pull)
