"""What monitoring systems send in their own words becomes issues, one for each problem, and closes the loop."""

import asyncio
import base64
import gzip
import hashlib
import hmac
import json
import shutil
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from memory.deployments import feedback_tokens
from simulator.state import Issue
from tests.stories.driver import Story
from tests.world.feedback import Monitoring, add_run
from tests.world.monitoring_payloads import alertmanager, grafana, otlp_logs, sentry_event, sentry_issue

pytestmark = pytest.mark.parametrize("story", ["sqlite"], indirect=True)

ALERTMANAGER = shutil.which("prometheus-alertmanager")
CLIENT_SECRET = "d0" * 32
CONFIGURATION = """\
route: {{receiver: forge, group_by: [alertname], group_wait: 1s, group_interval: 1s, repeat_interval: 1h}}
receivers:
  - name: forge
    webhook_configs:
      - url: {address}/feedback/alertmanager
        http_config: {{authorization: {{credentials: {token}}}}}
"""


async def open_scene(story: Story, environment: str | None = None, secret: str | None = None) -> tuple[Monitoring, str]:
    """A repository in which Forge ran before, monitoring with a token, and the id of the token."""
    repository, _ = story.repository({"app.py": "x = 1\n"})
    found = await add_run(story, repository)
    database, now = story.forge.services.database, story.clock.now()
    made, token = await feedback_tokens.create(database, found, "monitoring", "operator", now, environment, secret)
    return Monitoring(story, repository, token), made.id


def labels(issue: Issue) -> list[str]:
    return [label.name for label in issue.labels]


async def test_alerts_become_issues_and_are_marked_while_they_are_over(story: Story) -> None:
    monitoring, _ = await open_scene(story)
    told = await monitoring.report("alertmanager", alertmanager())
    assert (told.status, len(told.content["reports"]), told.content["refused"]) == (202, 2, [])
    cart, payment = sorted(monitoring.issues(), key=lambda issue: issue.title)  # told at the same time
    assert cart.title == "Production: HighErrorRate of cart in production"
    for shown in ("| not known | 0.2 |", "| `service` | `cart` |", "20 % of the answers of cart", "graph?g0.expr"):
        assert shown in (cart.body or "")
    story.clock.move(minutes=11)
    over = alertmanager(status="resolved")
    over["alerts"] = over["alerts"][:1]
    told = await monitoring.report("alertmanager", over)
    assert [each["issue"] for each in told.content["resolved"]] == [cart.number]
    [comment] = story.answers(cart)
    assert comment.body.startswith("**Over**, as monitoring said at ")
    assert (labels(cart), labels(payment), cart.state) == (["resolved"], [], "open")
    assert story.answers(payment) == []
    again = await monitoring.report("alertmanager", over)
    assert again.content["resolved"] == []  # it is known
    story.clock.move(minutes=11)
    await monitoring.report("alertmanager", alertmanager())
    [comment] = story.answers(cart)
    assert comment.body.startswith("**Seen again.**")
    assert labels(cart) == []
    story.pass_over(payment)


async def test_what_is_over_opens_no_issue_again(story: Story) -> None:
    monitoring, _ = await open_scene(story)
    await monitoring.report("alertmanager", alertmanager())
    issues = monitoring.issues()
    carol = story.member(monitoring.repository, "carol", "maintain")
    for issue in issues:
        await carol.close(issue)
    story.clock.move(days=2)
    await monitoring.report("alertmanager", alertmanager(status="resolved"))
    assert monitoring.issues() == issues
    assert [labels(issue) for issue in issues] == [[], []]


async def test_an_alert_that_was_over_before_anybody_was_told_says_so(story: Story) -> None:
    monitoring, _ = await open_scene(story)
    for status in ("firing", "resolved"):
        await monitoring.send("alertmanager", json.dumps(alertmanager(status=status)).encode())
    await story.settle()
    for issue in monitoring.issues():
        await story.wait(minutes=11)
        assert labels(issue) == ["resolved"]
        story.pass_over(issue)


async def test_a_problem_whose_issue_may_not_be_changed_again_yet_holds_up_no_other_problem(story: Story) -> None:
    monitoring, _ = await open_scene(story)
    await monitoring.report("alertmanager", alertmanager())
    await monitoring.report("alertmanager", alertmanager(status="resolved"))
    known = monitoring.issues()
    assert [labels(issue) for issue in known] == [[], []]  # for ten minutes they stay as they are
    await monitoring.error()
    [another] = [issue for issue in monitoring.issues() if issue not in known]
    await story.wait(minutes=11)
    assert [labels(issue) for issue in known] == [["resolved"], ["resolved"]]
    for issue in (*known, another):
        story.pass_over(issue)


async def test_each_system_authenticates_as_it_can(story: Story) -> None:
    monitoring, key = await open_scene(story, "staging", CLIENT_SECRET)
    basic = "Basic " + base64.b64encode(f"forge:{monitoring.token}".encode()).decode()
    told = await monitoring.send("grafana", json.dumps(grafana()).encode(), Authorization=basic)
    assert (told.status, len(told.content["reports"])) == (202, 1)
    packed = gzip.compress(json.dumps(otlp_logs()).encode())  # as the Collector sends
    told = await monitoring.send("opentelemetry/v1/logs", packed, **{"Content-Encoding": "gzip"})
    assert (told.status, len(told.content["reports"]), told.content["ignored"]) == (202, 1, 1)
    told = await send_signed(monitoring, key, sentry_event("event"))
    assert (told.status, len(told.content["reports"])) == (202, 1)
    await story.settle()
    story.clock.move(minutes=11)
    assert [
        each["issue"] for each in (await send_signed(monitoring, key, sentry_issue("resolved"))).content["resolved"]
    ]
    await story.settle()
    where = {title.rpartition(" in ")[2]: title for title in (each.title for each in monitoring.issues())}
    assert where.keys() == {"staging", "production"}
    for issue in monitoring.issues():
        story.pass_over(issue)

    refused = await send_signed(monitoring, key, sentry_event("event"), secret="another")
    assert (refused.status, "Sentry-Hook-Signature" in refused.content["error"]) == (401, True)
    wrong = "Basic " + base64.b64encode(b"forge:forge_fb_x").decode()
    for headers in ({"Authorization": wrong}, {"Authorization": "Digest x"}, {"Authorization": "Basic !"}):
        assert (await monitoring.send("grafana", b"{}", **headers)).status == 401
    assert (await send_signed(monitoring, "a" * 8, sentry_event("event"))).status == 401
    for packed, encoding, status in (
        (gzip.compress(b" " * 2_000_000), "gzip", 413),
        (b"{}", "gzip", 400),
        (b"{}", "br", 415),
    ):
        assert (await monitoring.send("grafana", packed, **{"Content-Encoding": encoding})).status == status
    assert (await monitoring.send("opentelemetry", b"\n\0", **{"Content-Type": "application/x-protobuf"})).status == 415


async def send_signed(monitoring: Monitoring, key: str, message: Any, secret: str = CLIENT_SECRET) -> Any:
    body = json.dumps(message).encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return await monitoring.send(f"sentry/{key}", body, Authorization="", **{"Sentry-Hook-Signature": signature})


async def test_a_token_without_a_secret_takes_no_signature(story: Story) -> None:
    monitoring, key = await open_scene(story)
    for secret in ("", "None", monitoring.token):
        assert (await send_signed(monitoring, key, sentry_event("event"), secret)).status == 401


async def test_a_message_of_which_nothing_can_be_taken_is_refused_by_the_names_of_its_fields(story: Story) -> None:
    monitoring, _ = await open_scene(story)
    told = await monitoring.report("alertmanager", alertmanager(environment=""))
    assert (told.status, [each["field"] for each in told.content["fields"]]) == (
        400,
        ["alerts.0.labels.environment", "alerts.1.labels.environment"],
    )
    mixed = alertmanager()
    mixed["alerts"][0]["labels"]["deployment"] = "D-ABCDEF"
    told = await monitoring.report("alertmanager", mixed)
    assert (told.status, [each["field"] for each in told.content["refused"]]) == (202, ["alerts.0.deployment"])
    assert len(monitoring.issues()) == 1


@pytest.mark.skipif(
    ALERTMANAGER is None, reason="there is no Alertmanager here: apt-get install prometheus-alertmanager"
)
async def test_an_alert_of_a_real_alertmanager_becomes_an_issue_and_ends(story: Story, tmp_path: Path) -> None:
    monitoring, _ = await open_scene(story)
    alert: dict[str, Any] = {
        "labels": {"alertname": "HighErrorRate", "service": "cart", "environment": "production"},
        "annotations": {"summary": "20 % of the answers are errors", "value": "0.2"},
        "generatorURL": "http://prometheus.example:9090/graph",
    }
    async with run_alertmanager(tmp_path, monitoring) as address, aiohttp.ClientSession() as session:
        await session.post(f"{address}/api/v2/alerts", json=[alert])
        [issue] = await wait_for_issues(story, monitoring)
        assert issue.title == "Production: HighErrorRate of cart in production"
        assert "| not known | 0.2 |" in (issue.body or "")
        story.clock.move(minutes=11)
        await session.post(f"{address}/api/v2/alerts", json=[{**alert, "endsAt": "2026-01-01T00:00:00Z"}])
        async with asyncio.timeout(60):
            while labels(issue) != ["resolved"]:
                await asyncio.sleep(0.5)
                await story.settle()
    [comment] = story.answers(issue)
    assert comment.body.startswith("**Over**")


async def wait_for_issues(story: Story, monitoring: Monitoring) -> list[Issue]:
    async with asyncio.timeout(60):
        while not (found := monitoring.issues()):
            await asyncio.sleep(0.5)
            await story.settle()
    return found


@asynccontextmanager
async def run_alertmanager(folder: Path, monitoring: Monitoring) -> AsyncGenerator[str]:
    """An Alertmanager that sends to Forge; its address."""
    assert ALERTMANAGER is not None
    configuration = folder / "alertmanager.yml"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    configuration.write_text(CONFIGURATION.format(address=monitoring.address, token=monitoring.token))
    address = f"http://127.0.0.1:{port}"
    with (folder / "alertmanager.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            ALERTMANAGER,
            f"--config.file={configuration}",
            f"--storage.path={folder / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
            stdout=log,
            stderr=log,
        )
    try:
        async with asyncio.timeout(60), aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(f"{address}/-/ready") as answer:
                        if answer.status == 200:
                            break
                except aiohttp.ClientError:
                    await asyncio.sleep(0.2)
        yield address
    finally:
        process.terminate()
        await process.wait()
