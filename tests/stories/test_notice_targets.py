"""The operator defines whom to tell: chats whose address is a secret, and what it wants to hear itself of everything."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.cli import notices
from bot.doctor.configured import check_notices
from domain.errors import ForgeError, UnknownName
from domain.notices import NoticeType
from memory.process import halts
from messages.notices import build_test
from pipeline.maintenance.notices import AddressBook, NoticeAddress
from tests.databases import create_database
from tests.stories.driver import open_story
from tests.stories.gate_scenes import open_scene
from tests.world.deployments import open_deployments
from tests.world.notice_receiver import NoticeReceiver, run_receiver, verify
from tests.world.notices import define, wait_for_failing, wait_for_states
from tests.world.toy_service import ToyService

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
HOSTILE = (
    f"<!channel> @everyone <https://evil.example/|here> [x](https://evil.example) *b* \u202e www.evil.example {TOKEN}"
)


@pytest.fixture
async def receiver() -> AsyncGenerator[NoticeReceiver]:
    """Where all targets lead."""
    async with run_receiver() as running:
        yield running


async def test_chats_are_told_of_a_halt_in_words_that_do_nothing(tmp_path: Path, receiver: NoticeReceiver) -> None:
    file = define(
        tmp_path,
        chat=f'url = "{receiver.url}/services/T0/B0/chat"\nformat = "slack"\nevents = ["forge.*"]',
        cards=f'url = "{receiver.url}/workflows/cards"\nformat = "teams"\nevents = ["forge.halted"]',
        other=f'url = "{receiver.url}/other"\nevents = ["gate.*"]',
    )
    async with open_story(create_database("sqlite", tmp_path), tmp_path, notify_targets=file) as story:
        database = story.forge.services.database
        await halts.halt(database, HOSTILE, "root", story.clock.now())
        by_path = {each.path: each for each in await receiver.wait(2)}
        assert set(by_path) == {"/services/T0/B0/chat", "/workflows/cards"}
        for heard in by_path.values():
            text = heard.body.decode()
            assert TOKEN not in text
            assert "evil.example" in text  # it can be read, and leads nowhere
            for acts in ("@everyone", "<!channel>", "<https", "://evil", "www.evil", "\u202e"):
                assert acts not in text, acts
            assert "webhook-signature" not in heard.headers
        slack = by_path["/services/T0/B0/chat"].json
        assert (slack["mrkdwn"], slack["parse"], slack["link_names"]) == (False, "none", False)
        assert {block["text"]["type"] for block in slack["blocks"]} == {"plain_text"}
        [card] = by_path["/workflows/cards"].json["attachments"]
        assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
        assert {block["type"] for block in card["content"]["body"]} == {"RichTextBlock"}
        await halts.resume(database, "root", story.clock.now())
        await receiver.wait(3)
        assert receiver.taken[-1].json["blocks"][0]["text"]["text"] == "Forge goes on"
        sum_of_many = build_test(story.clock.now(), "chat").model_copy(update={"type": NoticeType.more})
        reached = await AddressBook(story.forge.services).find_address("chat", sum_of_many)
        assert isinstance(reached, NoticeAddress)  # which no pattern of events chooses


async def test_a_repository_names_what_it_may(
    tmp_path: Path, receiver: NoticeReceiver, capsys: pytest.CaptureFixture[str]
) -> None:
    file = define(
        tmp_path,
        ops=f'url = "{receiver.url}/ops-SECRETPATH"\nsecret = "{SECRET}"\nrepositories = ["octo-org/*"]',
        others=f'url = "{receiver.url}/others"\nrepositories = ["acme/*"]',
    )
    named = "notify:\n  targets:\n    - target: ops\n      events: ['gate.*']\n    - target: others\n"
    async with open_story(create_database("sqlite", tmp_path), tmp_path, notify_targets=file) as story:
        scene = await open_scene(story, configuration=named)
        [heard] = await receiver.wait(1)
        assert heard.path == "/ops-SECRETPATH"
        assert verify(SECRET, heard.headers, heard.body)
        assert heard.json["data"]["url"].startswith(f"{story.github.url}/octo-org/shop/pull/1")

        await scene.push({".github/forge.yml": named.replace("others", "opps").replace("gate.*", "gates.*")})
        [check] = story.github.check_runs(scene.repository, scene.head, "Forge / config")
        assert check.conclusion == "failure"
        [mistake] = check.annotations
        assert (mistake["start_line"], "gates.*" in mistake["message"]) == (4, True)
        await scene.push({".github/forge.yml": named.replace("others", "opps")})
        [check] = story.github.check_runs(scene.repository, scene.head, "Forge / config")
        [idle] = check.annotations
        assert (check.conclusion, idle["start_line"]) == ("success", 5)
        assert "the operator has no target of this name for this repository" in idle["message"]

        receiver.status = 503
        capsys.readouterr()
        with pytest.raises(ForgeError, match=r"ops did not take the test: it answered 503\."):
            await notices.try_target(story.forge.settings, "ops", None)
        with pytest.raises(UnknownName, match="defines no target oops"):
            await notices.try_target(story.forge.settings, "oops", None)
        receiver.status = 200
        await notices.try_target(story.forge.settings, "ops", None)
        assert "ops took the test" in capsys.readouterr().out
        await notices.print_secret(story.forge.settings, "ops", None)
        assert capsys.readouterr().out == f"{SECRET}\n"
        story.pass_over(scene.pull)


async def test_an_operator_sees_what_fails(
    tmp_path: Path, receiver: NoticeReceiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.status, receiver.says = 404, "no_service"
    file = define(tmp_path, ops=f'url = "{receiver.url}/SECRETPATH"\nformat = "slack"\nevents = ["*"]')
    async with open_story(create_database("sqlite", tmp_path), tmp_path, notify_targets=file) as story:
        assert await check_notices(story.forge.settings) is not None
        scene = await open_scene(story)
        await wait_for_failing(story, 1)
        found = await check_notices(story.forge.settings)
        assert found is not None
        assert found.state == "ops fails: it answered 404 (no_service)"
        story.clock.move(hours=26)
        await wait_for_states(story, lambda states: states[0] == "failed")
        capsys.readouterr()
        await notices.show_all(story.forge.settings, None, 20, failed=True, as_json=False)
        printed = capsys.readouterr().out
        assert "gate.opened  failed" in printed
        assert "not delivered within 24 hours: it answered 404 (no_service)" in printed
        assert "! ops fails since" in printed
        await notices.show_all(story.forge.settings, "octo-org/shop", 20, failed=False, as_json=True)
        told = json.loads(capsys.readouterr().out)
        assert (told["failing"][0]["target"], told["notices"][-1]["notice"]["type"]) == ("ops", "gate.opened")
        assert "SECRETPATH" not in printed + json.dumps(told)
        await story.settle()
        story.pass_over(scene.pull)


async def test_a_deployment_that_goes_back(tmp_path: Path, receiver: NoticeReceiver, service: ToyService) -> None:
    file = define(tmp_path, ops=f'url = "{receiver.url}/ops"\nevents = ["deployment.*"]')
    async with open_story(create_database("sqlite", tmp_path), tmp_path, notify_targets=file) as story:
        scene = await open_deployments(story, service)
        await scene.was_deployed()
        after = await scene.merge()
        service.error_rates[after] = 0.5
        await scene.comment(scene.alice, "/forge deploy staging")
        await scene.run_on()
        [heard] = await receiver.wait(1)
        assert heard.json["type"] == "deployment.rolled_back"
        assert heard.json["data"]["facts"]["environment"] == "staging"
        assert heard.json["data"]["url"].endswith(f"/commit/{after}")
        story.pass_over(scene.pull)
