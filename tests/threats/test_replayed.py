"""A captured signed body is sent again under a new GUID, which GitHub does not sign (T-W14)."""

from simulator.webhooks import Delivery
from tests.stories.driver import Story
from tests.threats.knocking import send_webhook, webhook_url


async def _again(told: Story, delivery: Delivery) -> str:
    """Send what was captured once more; how it was answered."""
    answer = await send_webhook(webhook_url(told), delivery.raw, event=delivery.event)
    await told.settle()
    return answer.text


def _last(told: Story, event: str, action: str) -> Delivery:
    """The newest delivery of this kind that a person caused."""
    there = [each for each in told.github.deliveries if (each.event, each.action) == (event, action)]
    return [each for each in there if each.payload["sender"]["type"] == "User"][-1]


async def test_t_w14_a_comment(told: Story) -> None:
    """An old `/forge unpause` does not end a later pause, and nothing is answered twice."""
    repository, alice = told.repository({"app.py": "print()\n"})
    admin = told.github.user("ada")
    told.github.grant(repository, admin, "admin")
    issue = await alice.open_issue(repository, "Prices")
    captured: list[Delivery] = []
    for verb in ("pause", "unpause", "pause"):
        await admin.comment(issue, f"/forge {verb}")
        await told.settle()
        captured.append(_last(told, "issue_comment", "created"))
    assert await _again(told, captured[1]) == "seen before"
    assert len(told.answers(issue)) == 3
    await admin.comment(issue, "/forge pause")
    await told.settle()
    assert "is paused in this repository by `ada`" in told.answers(issue)[-1].body


async def test_t_w14_a_button_and_an_event(told: Story) -> None:
    """A pressed button and a pull request that was opened again begin one run each, whoever sends them once more."""
    repository, alice = told.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await told.settle()
    await alice.press(told.check(repository, pull.head_sha), "review")
    await told.settle()
    await alice.close(pull)
    await told.settle()
    await alice.reopen(pull)
    await told.settle()
    assert len(await told.runs()) == 3
    assert await _again(told, _last(told, "check_run", "requested_action")) == "seen before"
    assert await _again(told, _last(told, "pull_request", "reopened")) == "seen before"
    assert len(await told.runs()) == 3


async def test_t_w14_a_press_that_was_refused(told: Story) -> None:
    """Who was refused and has the role now may press the same button again: that is told in the same words."""
    repository, alice = told.repository({"app.py": "print()\n"})
    bob = told.github.user("bob")
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await told.settle()
    check = told.check(repository, pull.head_sha)
    await bob.press(check, "review")
    await bob.press(check, "review")
    await told.settle()
    [answer] = told.answers(pull)
    assert "Refused" in answer.body
    assert "needs the role triage" in answer.body
    assert len(await told.runs()) == 1
    told.github.grant(repository, bob, "triage")
    await bob.press(check, "review")
    await told.settle()
    assert len(await told.runs()) == 2
    assert len(told.answers(pull)) == 1


async def test_t_w14_a_press_that_failed(told: Story) -> None:
    """GitHub did not say who pressed: nothing came of it, and the next press counts."""
    repository, alice = told.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await told.settle()
    refused = "Resource not accessible by integration"
    told.github.faults.add(kind="before", method="GET", path=r"/permission$", status=403, message=refused)
    check = told.check(repository, pull.head_sha)
    await alice.press(check, "review")
    await told.settle()
    assert len(await told.runs()) == 1
    await alice.press(check, "review")
    await told.settle()
    assert len(await told.runs()) == 2
    assert await _again(told, _last(told, "check_run", "requested_action")) == "seen before"


async def test_t_w14_a_new_name(told: Story) -> None:
    """What is kept of a repository stays under the name it has now; GitHub is asked which that is."""
    repository, alice = told.repository({"app.py": "print()\n"})
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    await alice.open_pull_request(repository, head="feature")
    await told.settle()
    for name in ("second", "third"):
        told.github.rename(repository, name)
        await told.settle()
        assert [run.name for run in await told.runs()] == [name]
    first = next(each for each in told.github.deliveries if (each.event, each.action) == ("repository", "renamed"))
    assert await _again(told, first) != "seen before"
    assert [run.name for run in await told.runs()] == ["third"]


async def test_t_w14_an_old_comment(told: Story) -> None:
    """A comment that is older than what GitHub repeats is not obeyed, when nothing is known of it any more."""
    repository, alice = told.repository({"app.py": "print()\n"})
    admin = told.github.user("ada")
    told.github.grant(repository, admin, "admin")
    issue = await alice.open_issue(repository, "Prices")
    await told.settle()
    url, told.github.webhook_url = told.github.webhook_url, None
    await admin.comment(issue, "/forge pause")
    told.github.webhook_url = url
    told.clock.move(days=9)
    assert await _again(told, _last(told, "issue_comment", "created")) == "accepted"
    assert told.answers(issue) == []
