"""`forge feedback`: a token is shown once, and listed without what is secret of it."""

import hashlib
import hmac
from pathlib import Path

import pytest

from bot.cli import feedback
from domain.deployments.problems import AnomalyReport
from domain.errors import UnknownName
from memory.db.engine import Database
from memory.deployments import feedback_tokens, problems
from tests.rows import NOON, run_row, settings


async def _add_run(database: Database) -> None:
    async with database.transaction() as session:
        session.add(run_row("R1", 7))


async def test_a_token_is_made_listed_and_revoked(
    database: Database, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await _add_run(database)
    await feedback.create(settings(url), "octo-org/shop", "grafana")
    shown, token, _ = capsys.readouterr().out.split("\n")
    [made] = await feedback_tokens.list_tokens(database, 7)
    assert shown.startswith(f"Token {made.id} (grafana) for octo-org/shop.")
    assert feedback_tokens.is_token(token)
    await feedback.list_all(settings(url), "octo-org/shop")
    listed = capsys.readouterr().out
    assert f"{made.id}  octo-org/shop  grafana: made" in listed
    assert "never used" in listed
    assert token[-20:] not in listed
    await feedback.revoke(settings(url), made.id)
    assert capsys.readouterr().out == f"Token {made.id} is revoked.\n"
    await feedback.revoke(settings(url), made.id)
    await feedback.list_all(settings(url), None)
    again = capsys.readouterr().out
    assert "revoked before" in again
    assert ", revoked " in again


async def test_a_secret_of_sentry_is_kept_for_its_address(
    database: Database, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await _add_run(database)
    secret = tmp_path / "secret"
    secret.write_text("d0" * 32 + "\n")
    await feedback.create(settings(url), "octo-org/shop", "sentry", "production", secret)
    [made] = await feedback_tokens.list_tokens(database, 7)
    assert capsys.readouterr().out.endswith(f"Let Sentry send to /feedback/sentry/{made.id}\n")
    await feedback.list_all(settings(url), None)
    listed = capsys.readouterr().out
    assert ", for production" in listed
    assert "d0d0" not in listed
    body = b"{}"
    signature = hmac.new(b"d0" * 32, body, hashlib.sha256).hexdigest()
    for shown, is_known in ((signature, True), (signature[:-1], False), ("", False), ("é", False)):
        found = await database.run_in_transaction(
            lambda known, shown=shown: feedback_tokens.authenticate_signed(known, made.id, body, shown)
        )
        assert (found is not None) is is_known
    await feedback.revoke(settings(url), made.id)
    revoked = await database.run_in_transaction(
        lambda known: feedback_tokens.authenticate_signed(known, made.id, body, signature)
    )
    assert revoked is None


async def test_an_unknown_name_is_said(database: Database, url: str) -> None:
    with pytest.raises(UnknownName, match="never ran in octo-org/depot"):
        await feedback.create(settings(url), "octo-org/depot", "grafana")
    with pytest.raises(UnknownName, match="no token"):
        await feedback.revoke(settings(url), "aaaaaaaa")


async def test_problems_are_listed(database: Database, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await _add_run(database)
    await feedback.list_problems(settings(url), "octo-org/shop", 5)
    report = AnomalyReport(environment="production", metric="error_rate", baseline=0.0, current=1.0, at=NOON)
    await database.run_in_transaction(lambda connection: problems.record_report(connection, 7, report, NOON))
    [problem] = await problems.list_latest(database)
    await problems.note_unsaid(database, problem.id, "Only recorded.")
    await feedback.list_problems(settings(url), None, 5)
    none, line, _ = capsys.readouterr().out.split("\n")
    assert none == "Monitoring reported no problem."
    assert line == (
        f"{problem.fingerprint}  octo-org/shop  Production: error_rate in production  "
        "1 times since 2026-05-01 12:00 UTC, last 2026-05-01 12:00 UTC  no issue: Only recorded."
    )
