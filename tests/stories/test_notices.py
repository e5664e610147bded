"""Somebody wants to hear of gates, budgets, levels and failures, and hears of each once, in order, signed."""

from collections.abc import AsyncGenerator

import pytest

from domain.notices import make_key, show_secret
from memory.notices import targets
from tests.stories.driver import Story
from tests.stories.gate_scenes import GateScene, open_scene
from tests.world.notice_receiver import NoticeReceiver, run_receiver, verify


@pytest.fixture
async def receiver() -> AsyncGenerator[NoticeReceiver]:
    """Who wants to hear of it."""
    async with run_receiver() as running:
        yield running


def configure(receiver: NoticeReceiver, more: str = "") -> str:
    """A configuration that names a receiver by its address."""
    return f"notify: {{targets: [{{url: '{receiver.url}/forge'{more}}}]}}\n"


async def find_secret(story: Story, scene: GateScene, receiver: NoticeReceiver) -> str:
    """What `forge notices --secret` prints for the receiver."""
    run = (await scene.run()).as_run()
    key = make_key(run.repository, f"{receiver.url}/forge")
    return show_secret(story.forge.services.notices.make_secret(key))


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
    assert await targets.list_failing(story.forge.services.database) == []
