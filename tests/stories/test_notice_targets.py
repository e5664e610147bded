"""The operator defines whom to tell: chats whose address is a secret, and what it wants to hear itself of everything."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.cli import notices
from bot.doctor.configured import check_notices
from domain.errors import ForgeError, UnknownName
from memory.process import halts
from tests.databases import create_database
from tests.stories.driver import open_story
from tests.stories.gate_scenes import open_scene
from tests.world.deployments import open_deployments
from tests.world.notice_receiver import NoticeReceiver, run_receiver, verify
from tests.world.notices import define, fail_runs, wait_for_ends, wait_for_failing
from tests.world.toy_service import ToyService

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
        theirs=f'url = "{receiver.url}/theirs"\nrepositories = ["octo-org/*"]',
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
        assert (slack["parse"], slack["link_names"]) == ("none", False)
        [card] = by_path["/workflows/cards"].json["attachments"]
        assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
        assert {block["type"] for block in card["content"]["body"]} == {"RichTextBlock"}
        await halts.resume(database, "root", story.clock.now())
        await receiver.wait(3)
        assert receiver.taken[-1].json["text"].startswith("Forge goes on\n")


async def test_an_operator_says_who_is_told_of_which_repositories(
    tmp_path: Path, receiver: NoticeReceiver, capsys: pytest.CaptureFixture[str]
) -> None:
    file = define(
        tmp_path,
        ops=f'url = "{receiver.url}/ops-SECRETPATH"\nrepositories = ["octo-org/*"]\nevents = ["gate.*"]',
        others=f'url = "{receiver.url}/others"\nrepositories = ["acme/*"]',
    )
    async with open_story(create_database("sqlite", tmp_path), tmp_path, notify_targets=file) as story:
        scene = await open_scene(story)
        [heard] = await receiver.wait(1)
        assert heard.path == "/ops-SECRETPATH"
        await notices.print_secret(story.forge.settings, "ops", None)
        assert verify(capsys.readouterr().out.strip(), heard.headers, heard.body)
        assert heard.json["data"]["url"].startswith(f"{story.github.url}/octo-org/shop/pull/1")

        receiver.status = 503
        with pytest.raises(ForgeError, match=r"ops did not take the test: it answered 503\."):
            await notices.try_target(story.forge.settings, "ops", None)
        with pytest.raises(UnknownName, match="defines no target oops"):
            await notices.try_target(story.forge.settings, "oops", None)
        receiver.status = 200
        await notices.try_target(story.forge.settings, "ops", None)
        assert "ops took the test" in capsys.readouterr().out
        story.pass_over(scene.pull)


async def test_an_operator_sees_what_fails_and_mends_it(
    tmp_path: Path, receiver: NoticeReceiver, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.status, receiver.says = 410, "no_service"
    file = define(tmp_path, ops=f'url = "{receiver.url}/SECRETPATH"\nformat = "slack"')
    async with open_story(create_database("sqlite", tmp_path), tmp_path, notify_targets=file) as story:
        assert await check_notices(story.forge.settings) is not None
        scene = await open_scene(story)
        await wait_for_failing(story, 1)
        found = await check_notices(story.forge.settings)
        assert found is not None
        assert found.state.startswith("ops fails and is left alone until ")
        assert found.state.endswith(": it answered 410 (no_service)")
        capsys.readouterr()
        await notices.show_all(story.forge.settings)
        assert capsys.readouterr().out == f"{found.state}\n"
        assert await wait_for_ends(1) == ["given up: it answered 410 (no_service)"]
        receiver.status = 200
        await notices.try_target(story.forge.settings, "ops", None)
        await wait_for_failing(story, 0)
        await fail_runs(story, scene, 1)
        await receiver.wait(2)
        story.pass_over(scene.pull)


async def test_a_deployment_that_goes_back(tmp_path: Path, receiver: NoticeReceiver, service: ToyService) -> None:
    file = define(tmp_path, ops=f'url = "{receiver.url}/ops"\nevents = ["deployment.*"]')
    async with open_story(create_database("sqlite", tmp_path), tmp_path, notify_targets=file) as story:
        scene = await open_deployments(story, service)
        await scene.was_deployed()
        after = await scene.merge()
        service.error_rates[after] = 0.5
        await scene.carry_out(scene.alice, "/forge deploy staging")
        [heard] = await receiver.wait(1)
        assert heard.json["type"] == "deployment.rolled_back"
        assert heard.json["data"]["facts"]["environment"] == "staging"
        assert heard.json["data"]["url"].endswith(f"/commit/{after}")
        story.pass_over(scene.pull)
