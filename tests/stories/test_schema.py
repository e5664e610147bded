"""Editors check a configuration by the schema that the server shows; where somebody writes one, its address is told."""

import json
from pathlib import Path
from urllib.parse import urljoin

import aiohttp
from aiohttp.test_utils import make_mocked_request

from bot.reference import json_schema
from bot.server import ConfigurationSchema
from messages import config as config_texts
from tests.databases import create_database, drop_database
from tests.stories.driver import open_story

HOST = "https://forge.example.com"
ADDRESS = f"{HOST}/schema/forge.yml.json"


async def test_it_takes_no_name_from_a_request() -> None:
    shown = await ConfigurationSchema("").show(make_mocked_request("GET", ADDRESS, headers={"Host": "evil:99999999"}))
    assert json.loads(shown.text or "")["$id"] == "/schema/forge.yml.json"


async def test_the_schema_is_shown_and_named(tmp_path: Path) -> None:
    url = create_database("sqlite", tmp_path)
    async with open_story(url, tmp_path, public_url=f"{HOST}/") as story:
        address = urljoin(story.github.webhook_url or "", "/schema/forge.yml.json")
        async with aiohttp.ClientSession() as client, client.get(address) as response:
            shown = json.loads(await response.text())
            assert (response.status, response.content_type) == (200, "application/schema+json")
        assert shown == {"$id": ADDRESS} | json.loads(json_schema())

        repository, alice = story.repository({"a.txt": "1\n"})
        line = f"# yaml-language-server: $schema={ADDRESS}"
        for branch, content, is_told in (
            ("valid", "labels: {run: bot}\n", True),
            ("broken", "labels: {runs: bot}\n", True),
            ("named", f"{line}\nlabels: {{run: bot}}\n", False),
        ):
            pull, sha = await story.propose(repository, alice, {".github/forge.yml": content}, branch)
            story.pass_over(pull)
            [check] = story.github.check_runs(repository, sha, config_texts.CHECK_NAME)
            assert (line in (check.summary or "")) == is_told
    drop_database(url)
