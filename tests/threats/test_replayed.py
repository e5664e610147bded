"""A captured signed body is sent again under a new GUID, which GitHub does not sign (T-W14)."""

import json

from sqlalchemy import select

from handlers import EVENTS
from memory.db.tables.deliveries import DeliveryRow
from memory.reports import retention
from messages import deliveries as texts
from simulator.webhooks import Delivery
from tests.stories.driver import Story
from tests.threats.knocking import send_webhook, webhook_url


async def _again(story: Story, delivery: Delivery) -> str:
    """Send what was captured once more; how it was answered."""
    answer = await send_webhook(webhook_url(story), delivery.raw, event=delivery.event)
    await story.settle()
    return answer.text


def _last(story: Story, event: str, action: str) -> Delivery:
    """The newest delivery of this kind that a person caused."""
    there = [each for each in story.github.deliveries if (each.event, each.action) == (event, action)]
    return [each for each in there if each.payload["sender"]["type"] == "User"][-1]


async def test_t_w14_a_comment(story: Story) -> None:
    """An old `/forge unpause` does not end a later pause, and nothing is answered twice."""
    repository, alice = story.repository({"app.py": "print()\n"})
    admin = story.member(repository, "ada", "admin")
    issue = await alice.open_issue(repository, "Prices")
    captured: list[Delivery] = []
    for verb in ("pause", "unpause", "pause"):
        await admin.comment(issue, f"/forge {verb}")
        await story.settle()
        captured.append(_last(story, "issue_comment", "created"))
    assert await _again(story, captured[1]) == "seen before"
    assert len(story.answers(issue)) == 3
    await admin.comment(issue, "/forge pause")
    await story.settle()
    assert "is paused in this repository by `ada`" in story.answers(issue)[-1].body


async def test_t_w14_a_button_and_an_event(story: Story) -> None:
    """A pressed button and a pull request that was opened again begin one run each, whoever sends them once more."""
    repository, alice = story.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await story.settle()
    await alice.press(story.check(repository, pull.head_sha), "review")
    await story.settle()
    await alice.close(pull)
    await story.settle()
    await alice.reopen(pull)
    await story.settle()
    assert len(await story.runs()) == 3
    assert await _again(story, _last(story, "check_run", "requested_action")) == "seen before"
    assert await _again(story, _last(story, "pull_request", "reopened")) == "seen before"
    assert len(await story.runs()) == 3


async def test_t_w14_a_press_that_was_refused(story: Story) -> None:
    """Who was refused and has the role now may press the same button again: that is told in the same words."""
    repository, alice = story.repository({"app.py": "print()\n"})
    bob = story.github.user("bob")
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await story.settle()
    check = story.check(repository, pull.head_sha)
    await bob.press(check, "review")
    await bob.press(check, "review")
    await story.settle()
    [answer] = story.answers(pull)
    assert "Refused" in answer.body
    assert "needs the role triage" in answer.body
    assert len(await story.runs()) == 1
    story.github.grant(repository, bob, "triage")
    await bob.press(check, "review")
    await story.settle()
    assert len(await story.runs()) == 2
    assert len(story.answers(pull)) == 1


async def test_t_w14_a_press_that_failed(story: Story) -> None:
    """GitHub did not say who pressed: nothing came of it, and the next press counts."""
    repository, alice = story.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await story.settle()
    refused = "Resource not accessible by integration"
    story.github.faults.add(kind="before", method="GET", path=r"/permission$", status=403, message=refused)
    check = story.check(repository, pull.head_sha)
    await alice.press(check, "review")
    await story.settle()
    assert len(await story.runs()) == 1
    await alice.press(check, "review")
    await story.settle()
    assert len(await story.runs()) == 2
    assert await _again(story, _last(story, "check_run", "requested_action")) == "seen before"


async def test_t_w14_a_new_name(story: Story) -> None:
    """What is kept of a repository stays under the name it has now; GitHub is asked which that is."""
    repository, alice = story.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    await alice.open_pull_request(repository, head="feature")
    await story.settle()
    for name in ("second", "third"):
        story.github.rename(repository, name)
        await story.settle()
        assert [run.name for run in await story.runs()] == [name]
    first = next(each for each in story.github.deliveries if (each.event, each.action) == ("repository", "renamed"))
    assert await _again(story, first) != "seen before"
    assert [run.name for run in await story.runs()] == ["third"]


async def test_t_w14_an_old_comment(story: Story) -> None:
    """A comment that is older than what GitHub repeats is not obeyed, when nothing is known of it any more."""
    repository, alice = story.repository({"app.py": "print()\n"})
    admin = story.member(repository, "ada", "admin")
    issue = await alice.open_issue(repository, "Prices")
    await story.settle()
    url, story.github.webhook_url = story.github.webhook_url, None
    await admin.comment(issue, "/forge pause")
    story.github.webhook_url = url
    story.clock.move(days=9)
    assert await _again(story, _last(story, "issue_comment", "created")) == "accepted"
    assert story.answers(issue) == []


async def test_t_w14_a_body_under_the_name_of_another_event(story: Story) -> None:
    """The signature covers the body alone: a deleted comment does not uninstall the App, nor does an old goodbye."""
    repository, alice = story.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    comment = await alice.comment(pull, "Thanks!")
    await story.settle()
    await alice.delete_comment(comment)
    await story.settle()
    captured = _last(story, "issue_comment", "deleted")
    for event in EVENTS.keys() - {"issue_comment"}:
        answer = await send_webhook(webhook_url(story), captured.raw, event=event)
        assert answer.text.startswith("ignored"), (event, answer.text)
    await story.settle()
    services = story.forge.services
    assert await retention.list_lost_runs(services.database, [repository.id])
    assert services.mirrors.path(repository.id).exists()


async def test_t_w14_a_goodbye_of_before(story: Story) -> None:
    """What told that the App was uninstalled or suspended ends nothing while GitHub says otherwise."""
    repository, alice = story.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    await alice.open_pull_request(repository, head="feature")
    await story.settle()
    installation = story.github.world.installation_of(repository)
    assert installation is not None
    for action in ("deleted", "suspend"):
        shown = {"id": installation.id, "app_id": story.github.world.app.id}
        sender = {"id": alice.account.id, "login": alice.login, "type": "User"}
        body = json.dumps({"action": action, "installation": shown, "sender": sender}).encode()
        assert (await send_webhook(webhook_url(story), body, event="installation")).text == "accepted"
        await story.settle()
    services = story.forge.services
    assert await retention.list_lost_runs(services.database, [repository.id])
    assert services.mirrors.path(repository.id).exists()
    async with services.database.transaction() as session:
        told = await session.scalars(select(DeliveryRow.reason).where(DeliveryRow.event == "installation"))
    assert [*told][-2:] == [texts.INSTALLED] * 2


async def test_t_w14_a_goodbye_while_github_is_down(story: Story) -> None:
    """Nothing is purged before GitHub says that the App is gone."""
    repository, alice = story.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    await alice.open_pull_request(repository, head="feature")
    await story.settle()
    installation = story.github.world.installation_of(repository)
    assert installation is not None
    story.github.faults.add(kind="before", method="GET", path=r"^/app/installations/\d+$", status=502, times=5)
    story.github.uninstall(installation)
    await story.settle()
    assert not story.forge.services.mirrors.path(repository.id).exists()
