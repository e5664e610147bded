"""How `forge metrics --detectors` and `forge doctor` tell which detectors of giving up are wrong too often."""

import json
from datetime import timedelta

import pytest

from bot.cli import metrics as shown
from bot.clock import SystemClock
from bot.doctor import PartState
from bot.doctor.configured import check_detectors
from domain.commands import Sender
from domain.review.avoidance import AvoidanceKind
from domain.review.feedback import DismissalScope, FeedbackStatement
from domain.review.findings import Category, Finding, Layer, Severity
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.db.tables.repositories import FeedbackRow, FindingRow
from memory.learned import feedback
from tests.rows import dismissal_row, finding_row, run_row, settings

NOW = SystemClock().now()
RULES = (AvoidanceKind.failure_hidden.rule, AvoidanceKind.test_skipped.rule)
SHOP = RepositoryRef(installation_id=1, id=10, owner="octo-org", name="shop")


def _find(number: int, rule: str) -> Finding:
    return Finding(
        id=f"F-{number:06}",
        rule=rule,
        category=Category.avoidance,
        severity=Severity.warning,
        confidence=0.9,
        path="tests/test_a.py",
        message="The test is gone.",
        layer=Layer.static,
        fingerprint=f"{number:064}",
        trail="t",
    )


def _row(finding: Finding) -> FindingRow:
    number, content = int(finding.fingerprint), finding.model_dump(mode="json")
    more = {"content": content, "first_run": "R", "last_run": "R", "created_at": NOW - timedelta(days=1)}
    return finding_row(finding.id, finding.fingerprint, number=number, **more)


def _dismiss(finding: Finding) -> FeedbackRow:
    about = {"number": int(finding.fingerprint), "rule": finding.rule, "path": finding.path, "created_at": NOW}
    return dismissal_row(finding.id, finding.fingerprint, **about)


@pytest.fixture
async def url(url: str) -> str:
    """Of 20 pull requests with removed tests three had none, of 20 with skipped ones two."""
    database = Database(url)
    removed, skipped = (
        [_find(start + each, rule) for each in range(20)] for start, rule in zip((0, 50), RULES, strict=True)
    )
    async with database.transaction() as session:
        session.add(run_row("R"))
        session.add_all(map(_row, [*removed, *skipped]))
        session.add_all(map(_dismiss, [*removed[:3], *skipped[:2]]))
    said = FeedbackStatement(Sender(id=1, login="bob"), "it moved", NOW, scope=DismissalScope.file)
    await feedback.dismiss(database, SHOP, int(removed[0].fingerprint), removed[:1], said)
    await database.close()
    return url


async def test_it_is_printed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await shown.show_detectors(settings(url), "octo-org/shop", as_json=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[1:3] == ["avoidance/failure-hidden 20 3 0 too often", "avoidance/test-skipped 20 2 0"]
    until = f"{NOW + timedelta(days=90):%Y-%m-%d}"
    assert lines[-1] == f"avoidance/failure-hidden may pass in tests/test_a.py until {until}, by bob: it moved"
    await shown.show_detectors(settings(url), None, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert [each["unreliable"] for each in told["detectors"]] == [True, False]
    assert told["passing"] == []


async def test_the_operator_is_told(url: str) -> None:
    told = await check_detectors(settings(url))
    assert told is not None
    assert told.condition is PartState.note
    assert told.state == "wrong too often in 90 days: avoidance/failure-hidden (3 of 20 dismissed)"
