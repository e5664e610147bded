"""A report whose sender was answered is never lost: not if every process dies before anything follows from it."""

import json
from pathlib import Path

from domain.deployments.problems import ErrorReport, parse_report
from memory.db.engine import Database, sync_engine
from pipeline.deployment.production_intake import FeedbackIntake
from pipeline.worker.queues import build_client
from simulator import Simulator
from tests.clock import MovableClock
from tests.databases import create_database
from tests.stories.driver import SECRET, run_forge
from tests.world.feedback import STACK, Monitoring, add_run, make_token


async def test_what_was_stored_before_a_kill_is_told_after_it(tmp_path: Path) -> None:
    clock, url = MovableClock(), create_database("sqlite", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        async with run_forge(github, clock, url, tmp_path) as story:
            repository, _ = story.repository({"app.py": "x = 1\n"})
            token = await make_token(story, await add_run(story, repository))

        # A process that accepts reports, and dies right after its answer: it has no engine that could work.
        database, engine = Database(url), sync_engine(url)
        intake = FeedbackIntake(database, build_client(engine), clock)
        known = await intake.authenticate(token)
        assert known is not None
        error = {"environment": "production", "frequency": 1, "affected_users": 1, "stack": STACK}
        body = json.dumps({**error, "first_seen": clock.now().isoformat()}).encode()
        report = parse_report(ErrorReport, body, clock.now())
        assert isinstance(report, ErrorReport)
        first, second = await intake.accept(known, report), await intake.accept(known, report)
        assert [each.is_due for each in (first, second)] == [True, False]
        await database.close()
        engine.dispose()

        async with run_forge(github, clock, url, tmp_path) as story:
            await story.settle()
            monitoring = Monitoring(story, repository, token)
            [issue] = monitoring.issues()
            assert "It happened 2 times" in (issue.body or "")
