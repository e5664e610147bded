"""A process that only works says that it lives, as its container's health check asks."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import aiohttp

from simulator import Simulator
from tests.databases import create_database, drop_database


async def test_a_worker_answers_the_health_check_and_takes_no_webhooks(tmp_path: Path) -> None:
    url = create_database("postgresql", tmp_path)
    async with Simulator(tmp_path / "github") as github:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("FORGE_")},
            "FORGE_GITHUB_API_URL": github.api_url,
            "FORGE_GITHUB_WEB_URL": github.url,
            "FORGE_APP_ID": str(github.app.id),
            "FORGE_PRIVATE_KEY": github.app.private_key_pem,
            "FORGE_WEBHOOK_SECRET": "a-webhook-secret",
            "FORGE_DATABASE_URL": url,
            "FORGE_DATA_DIR": str(tmp_path / "data"),
            "FORGE_PORT": "0",
            "FORGE_LOG_FORMAT": "json",
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "worker"), env=environment, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        async for line in process.stderr:
            if b'"event": "working"' in line:
                address = f"http://127.0.0.1:{json.loads(line)['port']}"
                break
        else:
            raise AssertionError("the worker ended")
        async with aiohttp.ClientSession() as session:
            for path in ("healthz", "readyz", "metrics"):
                async with session.get(f"{address}/{path}") as answer:
                    assert answer.status == 200, path
            async with session.post(f"{address}/webhook", json={}) as answer:
                assert answer.status == 404
        process.send_signal(signal.SIGTERM)
        await process.communicate()
        assert process.returncode == 0
    drop_database(url)
