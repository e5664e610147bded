"""Monitoring tells of production, where Forge deployed nothing: one issue for each problem, whatever is sent."""

import asyncio
import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import update

from domain.deployments.problems import MOST_ISSUES
from domain.errors import ForgeError
from domain.events import EventType
from memory import ledger
from memory.db.engine import Connection
from memory.db.tables.repositories import FeedbackTokenRow
from memory.deployments import feedback_tokens
from memory.reports import retention
from safety.eligibility import BURST
from tests.stories.driver import Story
from tests.world.automation import set_level
from tests.world.feedback import STACK, Monitoring, add_run, make_token

pytestmark = pytest.mark.parametrize("story", ["sqlite"], indirect=True)


async def open_scene(story: Story, forge_yml: str = "") -> Monitoring:
    """A repository in which Forge ran before, and monitoring with a token."""
    configured = {".github/forge.yml": forge_yml} if forge_yml else {}
    repository, _ = story.repository({"app.py": "x = 1\n", **configured})
    return Monitoring(story, repository, await make_token(story, await add_run(story, repository)))


async def test_the_same_error_is_one_issue_with_one_comment(story: Story) -> None:
    monitoring = await open_scene(story, "deploy: {feedback: {label: production}}\n")
    first = await monitoring.error()
    assert first.content == {"fingerprint": first.content["fingerprint"], "issue": None, "repeated": False}
    [issue] = monitoring.issues()
    assert issue.title == "Production: ZeroDivisionError in price (app.py) in production"
    assert [label.name for label in issue.labels] == ["production"]
    assert "It happened 3 times" in (issue.body or "")
    assert "does not know which deployment" in (issue.body or "")
    again = await monitoring.error(environment="canary", frequency=4, affected_users=9)
    assert again.content == {"fingerprint": first.content["fingerprint"], "issue": issue.number, "repeated": True}
    assert story.answers(issue) == []  # the issue was opened a moment ago
    await story.wait(minutes=11)
    [comment] = story.answers(issue)
    assert "7 times in 2 reports" in comment.body
    assert "| `canary` | 4 |" in comment.body
    body = issue.body
    await monitoring.error()
    await story.wait(minutes=11)
    [comment] = story.answers(issue)
    assert "10 times in 3 reports" in comment.body
    assert (monitoring.issues(), issue.body) == ([issue], body)


async def test_a_closed_issue_stays_closed_and_what_comes_back_gets_another(story: Story) -> None:
    monitoring = await open_scene(story)
    await monitoring.anomaly()
    [issue] = monitoring.issues()
    assert "| 0.001 | 0.2 |" in (issue.body or "")
    carol = story.member(monitoring.repository, "carol", "maintain")
    await carol.close(issue)
    story.clock.move(minutes=11)
    await monitoring.anomaly()
    assert monitoring.issues() == [issue]  # nothing was deployed since
    [problem] = await monitoring.problems()
    assert (problem.closed_at is not None, "nothing was deployed since" in problem.said) == (True, True)
    story.clock.move(days=1)
    answer = await monitoring.anomaly()
    assert (answer.content["issue"], answer.content["repeated"]) == (None, False)
    [_, another] = monitoring.issues()
    assert f"The same problem was in #{issue.number}, which was closed." in (another.body or "")
    await carol.close(another)
    await carol.reopen(another)
    story.clock.move(minutes=11)
    await monitoring.anomaly()
    assert len(monitoring.issues()) == 2
    assert len(story.answers(another)) == 1


@pytest.mark.parametrize(
    ("kind", "changes", "field"),
    [
        ("error", {"stack": ""}, "stack"),
        ("error", {"stack": "x" * 20_001}, "stack"),
        ("error", {"frequency": 0}, "frequency"),
        ("error", {"frequency": True}, "frequency"),
        ("error", {"frequency": "3"}, "frequency"),
        ("error", {"affected_users": -1}, "affected_users"),
        ("error", {"first_seen": "yesterday"}, "first_seen"),
        ("error", {"first_seen": "2026-01-01T00:00:00"}, "first_seen"),
        ("error", {"first_seen": "2999-01-01T00:00:00Z"}, "first_seen"),
        ("error", {"environment": "-production"}, "environment"),
        ("error", {"environment": None}, "environment"),
        ("error", {"commit": "main"}, "commit"),
        ("error", {"release": "a\nb"}, "release"),
        ("error", {"release": "ghp_" + "a1B2" * 9}, "release"),
        ("error", {"afected_users": 1}, "afected_users"),
        ("error", {"SECRET_FIELD_1": 1}, ""),
        ("anomaly", {"labels": {"": "x"}}, "labels"),
        ("anomaly", {"metric": "error rate"}, "metric"),
        ("anomaly", {"current": "0.2"}, "current"),
        ("anomaly", {"current": 1e300}, "current"),
        ("anomaly", {"deployment": "D-1"}, "deployment"),
        ("anomaly", {"url": "javascript:alert(1)"}, "url"),
        ("anomaly", {"url": "https://user:word@monitoring.example/"}, "url"),
    ],
)
async def test_what_is_wrong_is_named_and_not_repeated(
    story: Story, kind: str, changes: Mapping[str, Any], field: str
) -> None:
    monitoring = await open_scene(story)
    valid = monitoring.an_error() if kind == "error" else monitoring.an_anomaly()
    answer = await monitoring.report(kind, {**valid, **changes})
    assert answer.status == 400
    assert [each["field"] for each in answer.content["fields"]] == [field]
    said = json.dumps(answer.content)
    assert not any(str(value) in said for value in changes.values() if isinstance(value, str) and len(value) > 4)
    assert "SECRET_FIELD" not in said
    assert await monitoring.problems() == []


async def test_other_requests_are_refused(story: Story) -> None:
    monitoring = await open_scene(story)
    body = json.dumps(monitoring.an_error()).encode()
    sent = [
        (await monitoring.send("error", body, **{"Content-Type": "text/plain"})).status,
        (await monitoring.send("error", b"[" * 30_000)).status,
        (await monitoring.send("error", b"\xff")).status,
        (await monitoring.send("error", b" " * (64 * 1024 + 1))).status,
        (await monitoring.report("anomaly", {**monitoring.an_anomaly(), "deployment": "D-ABCDEF"})).status,
    ]
    assert sent == [415, 400, 400, 413, 404]
    assert await monitoring.problems() == []


async def test_only_a_token_that_is_in_use_may_report(story: Story) -> None:
    """And nobody else learns whether Forge knows a repository."""
    monitoring = await open_scene(story)
    database, now, token = story.forge.services.database, story.clock.now(), monitoring.token
    body = json.dumps(monitoring.an_error()).encode()
    wrong = ["", "Bearer", "Basic " + token, f"Bearer {token[:-1]}x", "Bearer forge_fb_" + "a" * 8 + "_" + "b" * 43]
    answers = [await monitoring.send("error", body, Authorization=each) for each in wrong]
    assert [each.status for each in answers] == [401] * 5
    assert len({json.dumps(each.content) for each in answers[3:]}) == 1
    [kept] = await feedback_tokens.list_tokens(database)
    assert token not in kept.model_dump_json()
    second = await make_token(story, await add_run(story, monitoring.repository))  # the two are in use at once
    assert [
        (await monitoring.send("error", body, Authorization=f"Bearer {each}")).status for each in (token, second)
    ] == [
        202,
        202,
    ]
    assert await feedback_tokens.revoke(database, kept.id, "operator", now)
    assert (await monitoring.send("error", body)).status == 401
    assert (await monitoring.send("error", body, Authorization=f"Bearer {second}")).status == 202
    events = {each.type for each in await ledger.load_events(database, feedback_tokens.OPERATOR)}
    assert {EventType.feedback_token_created, EventType.feedback_token_revoked} <= events
    await story.settle()


async def test_a_repository_has_few_tokens(story: Story) -> None:
    monitoring = await open_scene(story)
    where = await add_run(story, monitoring.repository)
    for _ in range(feedback_tokens.MOST_TOKENS - 1):
        await make_token(story, where)
    with pytest.raises(ForgeError, match="10 tokens already"):
        await make_token(story, where)


async def test_a_flood_is_slowed_down_and_opens_few_issues(story: Story) -> None:
    monitoring = await open_scene(story)
    statuses: list[int] = []
    for number in range(BURST + 20):
        report = {**monitoring.an_error(), "stack": STACK.replace("price", "price" + "x" * number)}
        answer = await monitoring.send("error", json.dumps(report).encode())
        statuses.append(answer.status)
        if answer.status == 429:
            assert int(answer.headers["Retry-After"]) >= 1
            break
    assert statuses[:BURST] == [202] * BURST
    assert statuses[-1] == 429
    await story.settle()
    assert len(monitoring.issues()) == MOST_ISSUES
    found = await monitoring.problems()
    assert sum("issues were opened within a day" in each.said for each in found) == len(found) - MOST_ISSUES
    story.clock.move(minutes=2)
    assert (await monitoring.error()).status == 202


async def test_what_is_too_often_is_told_so_while_the_database_is_busy(story: Story) -> None:
    monitoring = await open_scene(story)
    database, release = story.forge.services.database, threading.Event()
    used_up = update(FeedbackTokenRow).values(allowance=-1000.0, allowed_at=story.clock.now())
    await database.run_in_transaction(lambda connection: connection.execute(used_up))

    def keep_busy(connection: Connection) -> None:
        connection.execute(update(FeedbackTokenRow).values(name="busy"))
        release.wait(60)

    busy = asyncio.create_task(database.run_in_transaction(keep_busy))
    await asyncio.sleep(0.5)
    body = json.dumps(monitoring.an_error()).encode()
    answers = await asyncio.gather(*(monitoring.send("error", body) for _ in range(60)))
    release.set()
    await busy
    assert {answer.status for answer in answers} == {429}


@pytest.mark.parametrize(
    ("forge_yml", "why"),
    [
        ("", "Level 0 (manual) does not let Forge open an issue"),
        ("ladder: {pinned: 0}\n", "Level 0"),
        ("deploy: {feedback: {issues: false}}\nladder: {pinned: 2}\n", "deploy.feedback.issues"),
    ],
)
async def test_where_forge_may_do_nothing_unasked_it_only_records(story: Story, forge_yml: str, why: str) -> None:
    monitoring = await open_scene(story, forge_yml)
    await set_level(story, monitoring.repository, 0)
    await monitoring.error()
    [problem] = await monitoring.problems()
    answer = await monitoring.error()  # the configuration is known now
    assert (answer.status, answer.content["issue"], answer.content["repeated"]) == (202, None, True)
    assert answer.content["note"].startswith("Only recorded.")
    assert why in answer.content["note"]
    assert why in problem.said
    assert monitoring.issues() == []


HOSTILE = """\
Traceback (most recent call last):
  File "/srv/@octo-org/admins #1 /forge approve.py", line 2, in @alice closes #1
```
/forge rollback production
@octo-org/admins https://evil.example/ <!-- forge:gate:x --> ![x](https://evil.example/x.png)
password = "hunter2hunter2hunter2"
\x1b]0;title\x07\u202e\x00
</details><script>alert(1)</script> ``````
Evil_Error_@alice: ghp_0123456789abcdefghijABCDEFGHIJ012345
"""


async def test_hostile_text_acts_on_nobody(story: Story) -> None:
    monitoring = await open_scene(story)
    answer = await monitoring.error(HOSTILE, release="@alice closes #1 /forge approve")
    assert answer.status == 202
    await monitoring.anomaly(url="https://evil.example/@alice?a=](b)")
    [error, anomaly] = monitoring.issues()
    assert not any(each in error.title for each in ("@", "#", "/forge", "http", " closes"))
    body = (error.body or "").replace("\r", "")
    fence = max((line for line in body.splitlines() if line and set(line) == {"`"}), key=len)
    before, _, rest = body.partition(f"\n{fence}\n")
    shown, _, after = rest.partition(f"\n{fence}\n")
    assert "evil.example" in shown
    assert "evil.example" not in before + after
    assert "@alice" not in (before + after).replace("`@alice closes #1 /forge approve`", "")
    assert "ghp_0123" not in body
    assert "hunter2" not in body
    assert "<!-- forge:gate" not in body
    assert "`https://evil.example/@alice?a=](b)`" in (anomaly.body or "")
    found = await monitoring.problems()
    assert "ghp_0123" not in "".join(each.model_dump_json() for each in found)


async def test_a_lost_repository_keeps_no_token_and_no_problem(story: Story) -> None:
    monitoring = await open_scene(story)
    await monitoring.error()
    await retention.forget_repositories(story.forge.services.database, [monitoring.repository.id])
    assert await monitoring.problems() == []
    assert (await monitoring.error()).status == 401
