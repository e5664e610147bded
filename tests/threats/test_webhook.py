"""Attacks on the webhook door: forged, replayed, malformed, oversized, out of order (T-W in docs/threats.md)."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from bot.app import Patience, forge
from bot.server import serve
from memory.db.tables.deliveries import DeliveryLogRow
from memory.deliveries import deliveries
from messages import review as review_texts
from simulator import Simulator
from simulator.webhooks import Delivery
from tests.clock import MovableClock
from tests.databases import Backend, create_database, drop_database
from tests.invariants import find_violations
from tests.resting import find_unfinished
from tests.stories.driver import DELIVERY, PATIENCE, SECRET, Story, open_story, run_forge, settings
from tests.threats.conftest import SWIFT
from tests.threats.knocking import (
    Answer,
    new_guid,
    open_unannounced,
    replace_fields,
    send_raw,
    send_webhook,
    sign,
    webhook_url,
)
from tests.threats.outages import outage
from tests.threats.serving import start_process

MEGABYTE = 1024 * 1024


async def test_t_w1_no_wrong_or_sha1_signature(story: Story) -> None:
    """Without a valid SHA-256 signature a webhook is answered 401 and nothing of it is kept."""
    _, body = await open_unannounced(story)
    for signature in (None, "", "sha256=", sign(body, "another secret"), sign(body).upper(), "sha1=" + "0" * 40):
        guid = new_guid()
        answer = await send_webhook(webhook_url(story), body, guid=guid, headers={"X-Hub-Signature-256": signature})
        assert answer.status == 401
        assert await deliveries.find(story.forge.services.database, guid) is None
    with_sha1 = {"X-Hub-Signature-256": None, "X-Hub-Signature": "sha1=" + "0" * 40}
    assert (await send_webhook(webhook_url(story), body, headers=with_sha1)).status == 401
    assert not await story.runs()


async def test_t_w2_changed_or_encoded_anew(story: Story) -> None:
    """A signature holds for the bytes GitHub sent: one other byte, or the same JSON written otherwise, is refused."""
    _, body = await open_unannounced(story)
    one_byte = body.replace(b'"opened"', b'"openeD"')
    written_anew = json.dumps(json.loads(body), indent=1).encode()
    for forged in (one_byte, written_anew, body + b" "):
        answer = await send_webhook(webhook_url(story), forged, headers={"X-Hub-Signature-256": sign(body)})
        assert answer.status == 401
    assert not await story.runs()


async def test_t_w3_old_secret_only_while_it_is_replaced(tmp_path: Path) -> None:
    """While a secret is replaced both are accepted; after that only the new one is."""
    both = (SecretStr("the-new-one"), SecretStr(SECRET))
    body = b'{"zen": "Keep it logically awesome."}'
    by_old, by_new = ({"X-Hub-Signature-256": sign(body, each)} for each in (SECRET, "the-new-one"))
    url = create_database("sqlite", tmp_path)
    async with open_story(url, tmp_path, SWIFT, webhook_secret=both) as during:
        assert (await send_webhook(webhook_url(during), body, headers=by_old)).status == 202
        assert (await send_webhook(webhook_url(during), body, headers=by_new)).status == 202
    async with open_story(url, tmp_path, SWIFT, webhook_secret=both[:1]) as after:
        assert (await send_webhook(webhook_url(after), body, headers=by_old)).status == 401
        assert (await send_webhook(webhook_url(after), body, headers=by_new)).status == 202


async def test_t_w4_same_guid_fifty_times_in_parallel(story: Story) -> None:
    """One delivery sent fifty times at once is accepted once and runs once, and every sender hears 2xx."""
    pull, body = await open_unannounced(story)
    guid = new_guid()
    answers = await asyncio.gather(*(send_webhook(webhook_url(story), body, guid=guid) for _ in range(50)))
    assert sorted(answer.text for answer in answers) == ["accepted"] + ["seen before"] * 49
    assert {answer.status for answer in answers} == {202}
    await story.settle()
    assert len(await story.runs()) == 1
    assert len(story.github.check_runs(pull.repository, pull.head_sha, review_texts.CHECK_NAME)) == 1


async def test_t_w5_new_guid_same_head(story: Story) -> None:
    """The same event under many GUIDs, at once and later, is one run by its natural key."""
    pull, body = await open_unannounced(story)
    answers = await asyncio.gather(*(send_webhook(webhook_url(story), body) for _ in range(10)))
    await story.settle()
    answers.append(await send_webhook(webhook_url(story), body))
    await story.settle()
    assert {answer.text for answer in answers} == {"accepted"}
    assert len(await story.runs()) == 1
    assert len(story.github.check_runs(pull.repository, pull.head_sha, review_texts.CHECK_NAME)) == 1


async def test_t_w6_too_large(story: Story) -> None:
    """A body over 25 MB is answered 413, whether its length is announced or it comes in chunks."""
    assert (await send_webhook(webhook_url(story), BytesIO(b" " * (26 * MEGABYTE)))).status == 413
    assert (await send_webhook(webhook_url(story), _chunks(26))).status == 413


@pytest.mark.deep
async def test_t_w6_memory_stays_flat(tmp_path: Path) -> None:
    """Forty bodies of 24 MB at once, not signed, take the memory of a few of them."""
    async with start_process("sqlite", tmp_path) as forge:
        before = forge.peak_memory
        answers = await asyncio.gather(
            *(send_webhook(forge.url, _chunks(24)) for _ in range(40)), return_exceptions=True
        )
        # 408 where the machine was too busy for a body to arrive in time
        assert {answer.status for answer in answers if isinstance(answer, Answer)} <= {401, 408, 503}
        assert forge.peak_memory - before < 400 * MEGABYTE
        assert (await send_webhook(forge.url, b"{}", event="ping")).status == 202


async def test_t_w6_slow_body(story: Story) -> None:
    """Who sends a body byte by byte is answered 408 and let go; meanwhile others are served."""
    port = urlsplit(webhook_url(story)).port or 0
    head = (
        "POST /webhook HTTP/1.1\r\nHost: forge\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"
        f"X-GitHub-Event: ping\r\nX-GitHub-Delivery: {new_guid()}\r\nX-Hub-Signature-256: sha256={'0' * 64}\r\n\r\n"
    )
    slow = [asyncio.create_task(send_raw(port, head.encode(), drip=b"{" + b" " * 998)) for _ in range(50)]
    assert (await send_webhook(webhook_url(story), b"{}", event="ping")).status == 202
    for answer in await asyncio.gather(*slow):
        assert answer.startswith(b"HTTP/1.1 408 ")


HEAD = b"POST /webhook HTTP/1.1\r\nHost: forge\r\n"


async def test_t_w16_silent_or_dribbling_headers_are_not_waited_for(story: Story) -> None:
    """Who sends no headers, or one byte of them after the other, is let go; so is who dribbles a second request."""
    asked = b"GET /healthz HTTP/1.1\r\nHost: forge\r\n\r\n"
    async with serve(story.forge, header_seconds=1.0) as port:
        lingering = [
            *(_send_slowly(port, b"") for _ in range(20)),
            *(_send_slowly(port, HEAD + b"X-Slow: ", drip=b"a" * 1000) for _ in range(20)),
            *(_send_slowly(port, asked, drip=HEAD + b"X-Slow: " + b"a" * 1000) for _ in range(20)),
        ]
        said = asyncio.gather(*lingering)
        assert (await send_webhook(f"http://127.0.0.1:{port}/webhook", b"{}", event="ping")).status == 202
        async with asyncio.timeout(PATIENCE):
            answers = await said
    assert {answer.split(b"\r\n")[0] for answer in answers} == {b"", b"HTTP/1.1 200 OK"}


async def test_t_w16_headers_that_are_none_get_one_line(story: Story, caplog: pytest.LogCaptureFixture) -> None:
    port = urlsplit(webhook_url(story)).port or 0
    with capture_logs() as logs:
        for malformed in (HEAD + b"A b: c\r\n\r\n", HEAD + b"Content-Length: x\r\n\r\n"):
            assert (await send_raw(port, malformed)).startswith(b"HTTP/1.0 400 ")
    assert [each["event"] for each in logs if "malformed" in each["event"]] == ["http.malformed"] * 2
    assert [each.message for each in caplog.records if each.exc_info] == []


async def _send_slowly(port: int, first: bytes, drip: bytes = b"") -> bytes:
    """Send something and then byte by byte; what came until the server closed the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first)
    heard = bytearray()

    async def listen() -> None:
        with contextlib.suppress(ConnectionError):
            while part := await reader.read(1000):
                heard.extend(part)

    listening = asyncio.create_task(listen())
    for number in range(len(drip)):
        if listening.done():
            break
        writer.write(drip[number : number + 1])
        await asyncio.sleep(0.05)
    await listening
    writer.close()
    return bytes(heard)


async def test_t_w7_odd_payloads_are_ignored(story: Story) -> None:
    """A JSON object that lacks what Forge needs, or holds what it cannot be, is ignored with its reason."""
    pull, body = await open_unannounced(story)
    payload = json.loads(body)
    repository, request = payload["repository"], payload["pull_request"]
    without = {f"without {key}": _without(payload, key) for key in ("pull_request", "repository", "installation")}
    odd = {
        **without,
        "an empty object": {},
        "a null pull request": {**payload, "pull_request": None},
        "a huge number": {**payload, "pull_request": {**request, "number": 10**30}},
        "a number of the wrong size": {**payload, "pull_request": {**request, "number": 2**63}},
        "a negative number": {**payload, "pull_request": {**request, "number": -1}},
        "a number that is a float": {**payload, "repository": {**repository, "id": 1e300}},
        "a number that is a string": {**payload, "pull_request": {**request, "number": "7"}},
        "a name with NUL": {**payload, "repository": {**repository, "name": "a\x00b"}},
        "a name that is a path": {**payload, "repository": {**repository, "name": "../.."}},
        "a head that is no commit": {**payload, "pull_request": {**request, "head": {"sha": "--upload-pack=x"}}},
        "an action that is a list": {**payload, "action": ["opened"]},
        "an action that is an object": {**payload, "action": {"opened": True}},
        "an action that is a number": {**payload, "action": 7},
    }
    for name, each in odd.items():
        assert await _outcome(story, json.dumps(each).encode()) == "incomplete_payload", name
    assert await _outcome(story, replace_fields(body, action="frobnicated")) == "action_not_used"
    assert await _outcome(story, replace_fields(body, action="\x00" * 200)) == "action_not_used"
    assert await _outcome(story, body, event="frobnication") == "unknown_event"
    assert await _outcome(story, b'{"a":' * 5000 + b"1" + b"}" * 5000) == "nested_too_deep"
    await story.settle()
    assert not await story.runs()
    assert not story.github.check_runs(pull.repository, pull.head_sha)


async def test_t_w7_fork_that_is_gone(story: Story) -> None:
    """A pull request whose fork was deleted has no head repository and is reviewed all the same."""
    pull, body = await open_unannounced(story)
    payload = json.loads(body)
    payload["pull_request"]["head"]["repo"] = None
    answer = await send_webhook(webhook_url(story), json.dumps(payload).encode())
    await story.settle()
    assert answer.text == "accepted"
    assert story.check(pull.repository, pull.head_sha).status == "completed"


@pytest.mark.parametrize("body", [b"", b"[]", b'"text"', b"7", b"null", b"{", b'{"a": NaN}', b"\xff\xfe{}", b"{}{}"])
async def test_t_w7_not_an_object(story: Story, body: bytes) -> None:
    """A body that is no JSON object is answered 400."""
    assert (await send_webhook(webhook_url(story), body)).status == 400


async def test_t_w7_one_bad_delivery_among_good_ones(story: Story) -> None:
    """What cannot be stored is refused alone; deliveries of the same moment do not suffer for it."""
    _, body = await open_unannounced(story)
    bad = replace_fields(body, action="\ud83d\ude00" * 50)
    answers = await asyncio.gather(*(send_webhook(webhook_url(story), bad if n % 10 == 0 else body) for n in range(50)))
    assert {answer.status for answer in answers} == {202}


async def test_t_w8_ping_and_form(story: Story) -> None:
    """A ping is answered, and a payload in a form field works like one that is the body."""
    assert await _outcome(story, b'{"zen": "Design for failure."}', event="ping") == "ping"
    pull, body = await open_unannounced(story)
    form = urlencode({"payload": body.decode()}).encode()
    answer = await send_webhook(webhook_url(story), form, content_type="application/x-www-form-urlencoded")
    await story.settle()
    assert answer.text == "accepted"
    assert story.check(pull.repository, pull.head_sha).status == "completed"


async def test_t_w8_wrong_content_type_or_headers(story: Story) -> None:
    """Another content type is answered 415; a header that is missing or malformed, or a form without payload, 400."""
    url, body, form = webhook_url(story), b"{}", "application/x-www-form-urlencoded"
    for content_type in ("text/plain", "multipart/form-data", "application/xml", "application/octet-stream"):
        assert (await send_webhook(url, body, content_type=content_type)).status == 415
    assert (await send_webhook(url, body, headers={"Content-Type": None})).status == 415
    for header in ("X-GitHub-Event", "X-GitHub-Delivery"):
        for value in (None, "", "x" * 300, "a\tb"):
            assert (await send_webhook(url, body, headers={header: value})).status == 400
    for malformed in (b"", b"a=b", b"payload", b"payload=%7B", b"payload=[]", b"&" * 1000, b"payload=\xff"):
        assert (await send_webhook(url, malformed, content_type=form)).status == 400
    compressed = await send_webhook(url, b"\x1f\x8b\x08\x00", headers={"Content-Encoding": "gzip"})
    assert compressed.status == 400


async def test_t_w9_closed_before_opened(story: Story) -> None:
    """If the news of the closing comes first, the opening starts nothing: the live state wins."""
    repository, alice = story.repository({"app.py": "print()\n"})
    story.github.hold_deliveries()
    head = await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature", base="main")
    await alice.close(pull)
    story.github.release_deliveries(reverse=True)
    await story.settle()
    assert not await story.runs()
    assert not story.github.check_runs(repository, head, review_texts.CHECK_NAME)


async def test_t_w9_old_synchronize_late(story: Story) -> None:
    """If an older push is heard of last, its head is not run: the live head wins."""
    repository, alice = story.repository({"app.py": "print()\n"})
    story.github.hold_deliveries()
    first = await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    await alice.open_pull_request(repository, head="feature", base="main")
    second = await alice.push(repository, "feature", {"app.py": "print(2)\n"})
    third = await alice.push(repository, "feature", {"app.py": "print(3)\n"})
    story.github.release_deliveries(reverse=True)
    await story.settle()
    assert [run.head_sha for run in await story.runs()] == [third]
    assert story.check(repository, third).conclusion == "neutral"
    for old in (first, second):
        assert not story.github.check_runs(repository, old, review_texts.CHECK_NAME)


@pytest.mark.deep
async def test_t_w10_a_thousand_deliveries(backend: Backend, tmp_path: Path) -> None:
    """A thousand deliveries at once, every tenth with work in it, are all accepted and each comes to its end once."""
    url = create_database(backend, tmp_path)
    at_a_time = asyncio.Semaphore(100)
    async with open_story(url, tmp_path, Patience(door=DELIVERY)) as story:
        pulls = [await open_unannounced(story, f"octo-org/shop-{number}") for number in range(5)]
        sent = {new_guid(): number for number in range(1000)}

        async def send(guid: str, number: int) -> Answer:
            async with at_a_time:
                if number % 10:
                    return await send_webhook(webhook_url(story), b"{}", event="star", guid=guid)
                return await send_webhook(webhook_url(story), pulls[number // 10 % 5][1], guid=guid)

        answers = await asyncio.gather(*(send(guid, number) for guid, number in sent.items()))
        assert {answer.status for answer in answers} == {202}
        assert sum(answer.text == "accepted" for answer in answers) == 100
        await story.settle()
        for guid in sent:
            row = await deliveries.find(story.forge.services.database, guid)
            assert row is not None
            assert row.finished_at is not None
        ran = {(run.repository_id, run.head_sha): run.state for run in await story.runs()}
        assert ran == {(pull.repository.id, pull.head_sha): "completed" for pull, _ in pulls}
        assert not await find_violations(story.github, story.forge.services.database)
    drop_database(url)


async def test_t_w11_down_for_an_hour(backend: Backend, tmp_path: Path) -> None:
    """What nobody heard while Forge was down is asked for when it is back: each delivery once, and acted on once."""
    url, clock = create_database(backend, tmp_path), MovableClock()
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        async with run_forge(github, clock, url, tmp_path, SWIFT) as before:
            repository, alice = before.repository({"app.py": "print()\n"})
            await alice.push(repository, "heard", {"app.py": "print(1)\n"}, base="main")
            heard = await alice.open_pull_request(repository, head="heard", base="main")
            await before.settle()
            assert before.check(repository, heard.head_sha).conclusion == "neutral"
        accepted = {each.guid for each in github.deliveries}

        newer = await alice.push(repository, "heard", {"app.py": "print(2)\n"})
        await alice.push(repository, "missed", {"app.py": "print(3)\n"}, base="main")
        missed = await alice.open_pull_request(repository, head="missed", base="main")
        await alice.comment(missed, "/forge help")
        await github.settle()
        await github.redeliver(github.deliveries[-1])  # somebody tried that by hand, in vain
        lost = {each.guid for each in github.deliveries} - accepted
        assert len(github.deliveries) - len(accepted) == len(lost) + 1
        clock.move(hours=1)
        back = clock.now()

        async with run_forge(github, clock, url, tmp_path, SWIFT) as after:
            await _wait_for_sweep(after, back)
            await after.settle()
            assert sorted(_list_redeliveries(github)) == sorted(lost)
            answered = [each.guid for each in github.deliveries if each.status == "OK"]
            assert len(answered) == len(set(answered))
            assert lost <= set(answered)
            assert after.check(repository, newer).conclusion == "neutral"
            assert after.check(repository, missed.head_sha).conclusion == "neutral"
            assert len(after.answers(missed)) == 1
            assert len(await after.runs()) == 3
            clock.move(minutes=10)
            await _wait_for_sweep(after, clock.now())
            assert len(_list_redeliveries(github)) == len(lost)
            assert not await find_violations(github, after.forge.services.database)
    drop_database(url)


async def test_t_w11_nobody_asks_where_nobody_listens(tmp_path: Path) -> None:
    """A process that only works has no door that a delivery could come to, so it asks for none."""
    url, clock = create_database("sqlite", tmp_path), MovableClock()
    async with Simulator(tmp_path / "github", "http://127.0.0.1:1/webhook", SECRET, clock.now) as github:
        github.ping()
        await github.settle()
        clock.move(hours=1)
        worker = forge(settings(url, tmp_path, github), door=False, clock=clock, patience=SWIFT)
        async with worker as running, serve(running):
            await asyncio.sleep(2 * SWIFT.heartbeat)
        assert not github.requests
        async with run_forge(github, clock, url, tmp_path, SWIFT) as after:
            await _wait_for_sweep(after, clock.now() - timedelta(minutes=1))
        assert len(_list_redeliveries(github)) == 1


async def test_t_w12_database_down_when_a_delivery_comes(impatient_story: Story, tmp_path: Path) -> None:
    """While the database is away deliveries are answered 503; sent again they are all accepted, each once."""
    repository, alice = impatient_story.repository({"app.py": "print()\n"})
    await impatient_story.settle()
    async with outage(impatient_story.forge.settings.database_url):
        head = await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
        await alice.open_pull_request(repository, head="feature", base="main")
        await impatient_story.github.settle()
        assert {each.status_code for each in _find_unanswered(impatient_story)} == {503}
    for each in _find_unanswered(impatient_story):
        assert (await impatient_story.github.redeliver(each)).status_code == 202
    await impatient_story.settle()
    assert impatient_story.check(repository, head).conclusion == "neutral"
    assert len(await impatient_story.runs()) == 1


async def test_t_w13_unknown_or_suspended_installation(story: Story) -> None:
    """Work for an installation that GitHub does not know (any more) or has suspended starts nothing, and is logged."""
    pull, body = await open_unannounced(story)
    installation = story.github.world.installation_of(pull.repository)
    assert installation is not None
    with capture_logs() as logs:
        unknown = await send_webhook(webhook_url(story), replace_fields(body, installation={"id": 987654321}))
        await story.settle()
        story.github.suspend(installation)
        await story.settle()
        suspended = await send_webhook(webhook_url(story), body)
        await story.settle()
    assert (unknown.status, suspended.status) == (202, 202)
    assert sum(entry["event"] == "delivery.ignored" for entry in logs) == 2
    outcomes = await deliveries.count_outcomes(story.forge.services.database)
    assert outcomes["pull_request", "accepted", "ignored"] == 2
    assert not await story.runs()
    assert not story.github.check_runs(pull.repository, pull.head_sha, review_texts.CHECK_NAME)
    assert not await find_unfinished(story.forge.services.database, story.clock.now())


async def _chunks(megabytes: int) -> AsyncIterator[bytes]:
    for _ in range(megabytes):
        yield b" " * MEGABYTE


def _without(payload: dict[str, object], key: str) -> dict[str, object]:
    return {name: value for name, value in payload.items() if name != key}


async def _outcome(story: Story, body: bytes, event: str = "pull_request") -> str:
    """Why the delivery of this body was ignored: as it was answered, and as it was kept."""
    guid = new_guid()
    answer = await send_webhook(webhook_url(story), body, event=event, guid=guid)
    row = await deliveries.find(story.forge.services.database, guid)
    assert answer.status == 202
    assert row is not None
    assert answer.text == f"{row.outcome}: {row.reason}"
    assert row.outcome == "ignored"
    return row.reason


async def _wait_for_sweep(story: Story, since: datetime) -> None:
    """Wait until Forge has swept through GitHub's log of deliveries after that moment."""
    end = time.monotonic() + PATIENCE
    while True:
        async with story.forge.services.database.transaction() as session:
            log = await session.get(DeliveryLogRow, story.forge.settings.app_id)
        if log is not None and log.read_at is not None and log.read_at > since:
            return
        assert time.monotonic() < end, "Forge does not look for missed deliveries"
        await asyncio.sleep(0.02)


def _list_redeliveries(github: Simulator) -> list[str]:
    """The GUIDs of the deliveries that Forge asked GitHub for, in order."""
    guids = {str(each.id): each.guid for each in github.deliveries}
    asked = [each.path for each in github.requests if each.method == "POST" and each.path.endswith("/attempts")]
    return [guids[path.split("/")[-2]] for path in asked]


def _find_unanswered(story: Story) -> list[Delivery]:
    """Deliveries that GitHub got no 2xx for, as its delivery log shows them."""
    accepted = {each.guid for each in story.github.deliveries if each.status_code == 202}
    return [each for each in story.github.deliveries if each.guid not in accepted and each.url]
