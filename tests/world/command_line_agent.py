"""A small command-line agent that a repository of a story brings with it, and its configuration."""

import json

from pydantic import JsonValue

from agents.llm.scripted import Says, ScriptedModel
from tests.stories.driver import Story
from tests.world.issues import IssueScene, get_pull_request, open_issue, plan

AGENT = '''\
"""Asks its model what to do, and does it: writes files, runs commands, reports."""
import json, os, subprocess, sys, urllib.request

task = open(sys.argv[1]).read()
messages = [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": task}]
body = {"model": "any", "messages": messages}
sent = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body).encode(),
    {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
)
try:
    answer = json.load(urllib.request.urlopen(sent))
except urllib.error.HTTPError as error:
    sys.exit(error.read().decode())
said = json.loads(answer["choices"][0]["message"]["content"])
for path, text in said.get("files", {}).items():
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    open(path, "w").write(text)
for path in said.get("undo", []):
    os.unlink(path)
for command in said.get("commands", []):
    subprocess.run(command, shell=True)
if "report" in said:
    json.dump(said["report"], open(os.environ["FORGE_REPORT"], "w"))
sys.exit(said.get("status", 0))
'''

CONFIGURATION = """\
execution: {mode: interactive}
agents:
  implementer: {command: "python3 tools/agent.py {task_file}"}
"""

FILES = {".github/forge.yml": CONFIGURATION, "tools/agent.py": AGENT}

CART = "def total(prices, discount=0):\n    return sum(prices) * (1 - discount)\n"
TESTS = (
    "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\n"
    "def test_discount():\n    assert total([10], discount=0.5) == 5\n"
)
DISCOUNT: dict[str, JsonValue] = {"shop/cart.py": CART, "tests/test_cart.py": TESTS}
REPORT: dict[str, JsonValue] = {"summary": "`total` takes a discount.", "is_done": True}


def says(**what: JsonValue) -> Says:
    """What its model answers."""
    return Says(json.dumps(what))


async def run_issue(story: Story, model: ScriptedModel, **files: str) -> IssueScene:
    """Somebody asks for an issue to be carried out by it."""
    asked = await open_issue(story, **{**FILES, **files})
    model.when("Title: Discounts", plan())
    await asked.comment(asked.alice, "/forge run")
    return asked


def list_changed(asked: IssueScene) -> list[str]:
    """The files that differ in the pull request."""
    pull = get_pull_request(asked)
    return [each.path for each in asked.repository.git.diff(pull.base_sha, pull.head_sha)]
