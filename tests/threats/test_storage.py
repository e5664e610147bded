"""Faults of the database, the disk and the host while Forge works (T-D in docs/threats.md)."""

import asyncio
import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest
from psycopg import sql
from sqlalchemy import make_url

from memory.db.engine import sync_engine
from memory.deliveries import deliveries
from memory.deliveries.deliveries import ReceivedDelivery
from memory.process import executors
from memory.process.executors import Holder
from messages import review as review_texts
from pipeline.deliveries.intake import Intake
from pipeline.worker.queues import build_client
from simulator import Simulator
from simulator.state import Repository
from tests.databases import Backend, create_database, drop_database
from tests.invariants import find_violations
from tests.stories.driver import Story, open_story
from tests.threats.conftest import HURRIED
from tests.threats.knocking import open_unannounced, send_webhook, webhook_url
from tests.threats.outages import administer, disconnect, outage
from tests.threats.serving import start_process


async def test_t_d4_a_command_that_another_version_stored_comes_to_an_end(story: Story) -> None:
    """A delivery that was accepted before an upgrade or a downgrade is not left open for ever."""
    engine = sync_engine(story.forge.settings.database_url)
    intake = Intake(engine, build_client(engine))
    intake.start()
    moment = story.clock.now()
    assert await intake.accept(
        ReceivedDelivery("stored", "pull_request", "opened", moment, {"kind": "of_the_future"}, "")
    )
    await intake.stop()
    engine.dispose()
    await story.settle()
    row = await deliveries.find(story.forge.services.database, "stored")
    assert row is not None
    assert row.finished_at is not None
    assert "stored by another version" in row.reason


async def test_t_d3_a_process_whose_work_was_taken_over_ends(tmp_path: Path) -> None:
    """It was frozen for longer than its lease, say, and another works under its id by now."""
    async with start_process("sqlite", tmp_path) as forge:
        other = Holder("served", "another process", "another host", 1)
        await executors.take(forge.database, other, datetime.now(UTC), force=True)
        assert await forge.wait_for_exit() == os.EX_TEMPFAIL
        await executors.release(forge.database, other, datetime.now(UTC))
        await forge.start()
        repository = forge.github.create_repository("octo-org/shop", files={"app.py": "print()\n"})
        forge.github.install(repository)
        alice = forge.github.user("alice")
        forge.github.grant(repository, alice, "write")
        head = await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
        await alice.open_pull_request(repository, "feature")
        await forge.settle()
        [check] = forge.github.check_runs(repository, head, review_texts.CHECK_NAME)
        assert check.conclusion == "neutral"


async def test_t_d5_the_door_while_the_database_is_away(impatient_story: Story) -> None:
    """As long as the database is away the door says so within its patience, and serves again right after."""
    pull, body = await open_unannounced(impatient_story)
    async with outage(impatient_story.forge.settings.database_url):
        answers = await asyncio.gather(*(send_webhook(webhook_url(impatient_story), body) for _ in range(20)))
        assert {answer.status for answer in answers} == {503}
    assert (await send_webhook(webhook_url(impatient_story), body)).status == 202
    await impatient_story.settle()
    assert impatient_story.check(pull.repository, pull.head_sha).conclusion == "neutral"


@pytest.mark.deep
async def test_t_d5_a_review_outlives_long_outages(impatient_story: Story) -> None:
    """A database that is away many times longer than a worker waits for it costs a running review nothing but time."""
    heads = [await _push(impatient_story, number) for number in range(3)]
    for _ in range(3):
        await asyncio.sleep(0.3)
        async with outage(impatient_story.forge.settings.database_url):
            await asyncio.sleep(HURRIED.worker * 5)
    await _redeliver(impatient_story)  # what the door could not take
    await impatient_story.settle()
    for repository, head in heads:
        assert impatient_story.check(repository, head).conclusion == "neutral"
    assert [run.state for run in await impatient_story.runs()] == ["completed"] * 3


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore:connection <psycopg:ResourceWarning")  # the server ended it while it was opened
async def test_t_d5_connections_end_again_and_again(tmp_path: Path) -> None:
    """PostgreSQL ends every connection dozens of times while reviews run, and each ends as if nothing had happened."""
    url = create_database("postgresql", tmp_path)
    async with open_story(url, tmp_path, HURRIED) as story:
        heads = [await _push(story, number) for number in range(4)]
        for _ in range(40):
            await asyncio.sleep(0.1)
            await disconnect(url)
        await _redeliver(story)
        await story.settle()
        for repository, head in heads:
            assert story.check(repository, head).conclusion == "neutral"
        assert not await find_violations(story.github, story.forge.services.database)
    drop_database(url)


@pytest.mark.deep
async def test_t_d6_disk_full(tmp_path: Path) -> None:
    """On a full disk the door answers 503 and Forge is not ready; with space again it goes on where it was."""
    async with start_process("sqlite", tmp_path) as forge:
        repository = _repository(forge.github)
        heads = [await _open(forge.github, repository, number) for number in range(3)]
        await asyncio.sleep(0.5)
        forge.limit_files(0)
        heads.append(await _open(forge.github, repository, 3))
        await forge.github.settle()
        assert {each.status_code for each in forge.github.deliveries[-2:]} == {503}
        assert await forge.ready() == (503, "database")
        await asyncio.sleep(6)
        forge.limit_files(-1)
        await asyncio.sleep(1.1)
        assert await forge.ready() == (200, "ready")
        await forge.redeliver()
        assert not forge.find_unanswered()
        await forge.settle()
        for head in heads:
            [check] = forge.github.check_runs(repository, head, review_texts.CHECK_NAME)
            assert check.conclusion == "neutral"


@pytest.mark.deep
async def test_t_d6_read_only(tmp_path: Path) -> None:
    """While the database is read-only the door answers 503, and reviews go on once it can be written again."""
    url = create_database("postgresql", tmp_path)
    name = sql.Identifier(make_url(url).database or "")
    async with open_story(url, tmp_path, HURRIED) as story:
        pull, body = await open_unannounced(story)
        heads = [await _push(story, number) for number in range(4)]
        for pause in (0.1, 0.2, 0.4, 0.8):
            await asyncio.sleep(pause)
            await administer(url, sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))
            await disconnect(url)
            assert (await send_webhook(webhook_url(story), body)).status == 503
            await administer(url, sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name))
            await disconnect(url)
        assert (await send_webhook(webhook_url(story), body)).status == 202
        await _redeliver(story)
        await story.settle()
        for repository, head in [*heads, (pull.repository, pull.head_sha)]:
            assert story.check(repository, head).conclusion == "neutral"
        assert not await find_violations(story.github, story.forge.services.database)
    drop_database(url)


@pytest.mark.deep
async def test_t_d9_sigterm_under_load(backend: Backend, tmp_path: Path) -> None:
    """Stopped in the middle of its work, Forge exits cleanly, goes on at its start, and repeats nothing.

    Once GitHub answers soon enough for the work to be brought to its end first, once it does not.
    """
    async with start_process(backend, tmp_path) as forge:
        repository = _repository(forge.github)
        heads: list[str] = []
        for turn, delay in enumerate((1, 20)):
            forge.github.faults.add(kind="slow", method="GET", path=r"pulls/\d+$", delay=delay, times=3)
            heads += [await _open(forge.github, repository, turn * 4 + number) for number in range(4)]
            await asyncio.sleep(0.5)
            assert await forge.is_working()
            assert await forge.stop(signal.SIGTERM) == 0
            assert (await forge.count_workflows() > 0) == (delay > 10)
            forge.github.faults.clear()
            await forge.start()
        await forge.redeliver()
        await forge.settle()
        for head in heads:
            [check] = forge.github.check_runs(repository, head, review_texts.CHECK_NAME)
            assert check.conclusion == "neutral"


def _repository(github: Simulator) -> Repository:
    repository = github.create_repository("octo-org/shop", files={"app.py": "print()\n"})
    github.install(repository)
    github.grant(repository, github.user("alice"), "write")
    return repository


async def _open(github: Simulator, repository: Repository, number: int) -> str:
    alice = github.user("alice")
    head = await alice.push(repository, f"feature-{number}", {"app.py": f"print({number})\n"}, base="main")
    await alice.open_pull_request(repository, head=f"feature-{number}", base="main")
    return head


async def _push(story: Story, number: int) -> tuple[Repository, str]:
    repository, _ = story.repository({"app.py": "print()\n"}, f"octo-org/shop-{number}")
    return repository, await _open(story.github, repository, number)


async def _redeliver(story: Story) -> None:
    """Have GitHub send again what was not answered with 2xx."""
    await story.github.settle()
    accepted = {each.guid for each in story.github.deliveries if each.status_code == 202}
    for lost in [each for each in story.github.deliveries if each.guid not in accepted]:
        await story.github.redeliver(lost)
