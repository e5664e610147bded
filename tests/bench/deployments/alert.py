"""An alert of a real Alertmanager becomes an issue, to the letter of docs/feedback.md.

The rule of that page is evaluated by Debian's Prometheus over a service of which half of the answers are 500, and sent
by Debian's Alertmanager with the configuration of that page. Only addresses and the token are filled in. When the issue
is there, the service is healed, and the end of the alert closes the loop. About fifteen minutes:
``python -m tests.bench.deployments.alert``.
"""

import asyncio
import os
import re
import socket
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from simulator.state import Issue, Repository
from tests.bench.deployments.cases import Case
from tests.bench.deployments.environment import ROOT, Pace, run_environments, run_prometheus
from tests.bench.deployments.run import start_users
from tests.databases import create_database
from tests.stories.driver import Story, open_story

OPENED, RESOLVED = 8 * 60, 20 * 60  # seconds that each may take
_BROKEN = Case("broken", "errors", (), {}, {"errors": 0.5})


def read_page() -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration of Alertmanager and the rule of Prometheus that docs/feedback.md shows."""
    section = (ROOT / "docs" / "feedback.md").read_text().partition("### Alertmanager")[2].partition("### ")[0]
    configuration, rules = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", section, re.DOTALL))
    return configuration, rules[0]


async def create_token(url: str, folder: Path, repository: str) -> str:
    """What the operator does: ``forge feedback token create``."""
    words = ("feedback", "token", "create", repository, "--name", "alertmanager")
    known = {"PATH": os.environ["PATH"], "FORGE_DATABASE_URL": url, "FORGE_DATA_DIR": str(folder / "data")}
    made = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *words, stdout=PIPE, stderr=PIPE, env=known, cwd=ROOT
    )
    said, wrong = await made.communicate()
    found = re.search(r"forge_fb_\w+", said.decode())
    assert found is not None, said.decode() + wrong.decode()
    return found[0]


@asynccontextmanager
async def run_alertmanager(folder: Path, door: str, token: str) -> AsyncGenerator[str]:
    """An Alertmanager as the page has it; its address without the scheme."""
    folder.mkdir()
    configuration, _ = read_page()
    [hook] = configuration["receivers"][0]["webhook_configs"]
    (folder / "token").write_text(token)
    hook["url"] = hook["url"].replace("https://forge.example.com", door)
    hook["http_config"]["authorization"]["credentials_file"] = str(folder / "token")
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(configuration))
    with socket.create_server(("127.0.0.1", 0)) as found:
        address = f"127.0.0.1:{found.getsockname()[1]}"
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "prometheus-alertmanager",
            f"--config.file={folder / 'alertmanager.yml'}",
            f"--storage.path={folder / 'data'}",
            f"--web.listen-address={address}",
            "--cluster.listen-address=",
            stdin=DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield address
    finally:
        process.terminate()
        await process.wait()


async def wait_for(story: Story, what: str, seconds: float, repository: Repository, *labels: str) -> Issue:
    """The issue of the alert, once it has these labels."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        await asyncio.sleep(1)
        for issue in repository.issues.values():
            if issue.title.startswith("Production: ") and set(labels) <= {each.name for each in issue.labels}:
                print(f"{what} after {time.monotonic() - began:.0f} s")
                return issue
    raise AssertionError(f"not {what} within {seconds:.0f} s")


async def main() -> None:
    """Run it, and print the issue and what was said below it."""
    folder = Path(tempfile.mkdtemp(prefix="alert-"))
    url = create_database("sqlite", folder)
    async with AsyncExitStack() as stack:
        environments = await stack.enter_async_context(run_environments([_BROKEN], folder))
        story = await stack.enter_async_context(open_story(url, folder))
        repository, alice = story.repository({"app.py": "x = 1\n"})
        await alice.push(repository, "change", {"app.py": "x = 2\n"}, base="main")
        pull = await alice.open_pull_request(repository, "change")
        await story.settle()
        story.pass_over(pull)
        token = await create_token(url, folder, repository.full_name)
        door = (story.github.webhook_url or "").removesuffix("/webhook")
        manager = await stack.enter_async_context(run_alertmanager(folder / "manager", door, token))
        await stack.enter_async_context(
            run_prometheus(environments, folder / "prometheus", Pace(1), alerts=([read_page()[1]], manager))
        )
        users = await start_users(folder / "record", environments)
        stack.callback(users.kill)
        issue = await wait_for(story, "opened", OPENED, repository)
        print(f"\n# {issue.title}\n\n{issue.body}\n")
        await environments[0].give("b", 100)
        issue = await wait_for(story, "resolved", RESOLVED, repository, "resolved")
        print("\n".join(each.body for each in story.answers(issue)))


if __name__ == "__main__":
    asyncio.run(main())
