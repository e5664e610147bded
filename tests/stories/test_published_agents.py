"""Agents that others publish carry out a task as docs/agents.md sets them up; only their model is scripted."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.llm.models import Models
from agents.llm.scripted import Reply, Says, ScriptedModel, Uses
from tests.databases import create_database
from tests.stories.driver import open_story
from tests.toolchain import toolchain
from tests.world.command_line_agent import CART, REPORT, TESTS
from tests.world.issues import TASK, get_pull_request, open_issue, plan
from tests.world.verification import get_outcome
from workspace.safe_copy import temporary_folder

pytestmark = pytest.mark.deep

PYTHON = "/usr/bin/python3"  # which every account can reach
MINI = (
    "env MSWEA_CONFIGURED=true MSWEA_COST_TRACKING=ignore_errors mini -y --exit-immediately -m openai/forge -t {task}"
)
AIDER = (
    "aider --model openai/forge --message-file {task_file} --yes-always --no-git --no-check-update --no-analytics "
    "--no-show-model-warnings shop/cart.py tests/test_cart.py"
)
CLAUDE = "claude -p --dangerously-skip-permissions {task}"
OPENCODE = "opencode run -m anthropic/claude-sonnet-4-5 {task}"
CODEX = (
    "sh -c 'exec codex exec -m forge --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox "
    "-c model_provider=forge -c model_providers.forge.name=Forge -c model_providers.forge.wire_api=responses "
    '-c model_providers.forge.base_url=$OPENAI_BASE_URL -c model_providers.forge.env_key=OPENAI_API_KEY "$0"\' {task}'
)
WRITE = f"cat > shop/cart.py <<'EOF'\n{CART}EOF\ncat > tests/test_cart.py <<'EOF'\n{TESTS}EOF\n"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
LISTING = f"shop/cart.py\n```\n{CART}```\n\ntests/test_cart.py\n```\n{TESTS}```\n"


@pytest.fixture
def tools(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder in which the agent is installed."""
    if not Path(PYTHON).exists():
        pytest.skip(f"there is no {PYTHON} here")
    with temporary_folder("agent") as folder:
        folder.chmod(0o755)
        wanted = request.param
        if wanted.startswith("npm:"):
            if shutil.which("npm") is None:
                pytest.skip("there is no npm here")
            install = ["npm", "install", "--global", "--silent", "--prefix", str(folder), wanted.removeprefix("npm:")]
        else:
            subprocess.run([PYTHON, "-m", "venv", folder], check=True, umask=0o022)
            install = [f"{folder}/bin/pip", "install", "--quiet", wanted]
        done = subprocess.run(install, capture_output=True, text=True, check=False, umask=0o022)
        if done.returncode:
            pytest.skip(f"{request.param} could not be installed: {done.stderr[-300:]}")
        yield folder


def run_command(command: str, tool: str = "bash", argument: str = "command") -> Uses:
    described = {"description": "go on"} if tool == "Bash" else {}
    return Uses([(tool, {argument: command, **described})], text="THOUGHT: go on")


def work_with(tool: str, argument: str = "command") -> list[Reply]:
    """What an agent is told: its commands, and that it is done. The first comes twice: some ask for a title beside."""
    commands = (WRITE, WRITE, f"echo '{json.dumps(REPORT)}' > $FORGE_REPORT")
    return [*(run_command(each, tool, argument) for each in commands), Says("Done.")]


@pytest.mark.parametrize(
    ("tools", "command", "answers"),
    [
        (
            "mini-swe-agent>=2.4,<3",
            MINI,
            [run_command(WRITE), run_command(f"echo '{json.dumps(REPORT)}' > $FORGE_REPORT"), run_command(SUBMIT)],
        ),
        ("aider-chat>=0.86,<1", AIDER, [Says(LISTING), Says("Done.")]),
        ("npm:@openai/codex@0.171", CODEX, work_with("exec_command", "cmd")),
        ("npm:opencode-ai@1.18", OPENCODE, work_with("bash")),
        ("npm:@anthropic-ai/claude-code@2.1.197", CLAUDE, work_with("Bash")),
    ],
    indirect=["tools"],
)
async def test_a_published_agent_carries_out_a_task(
    tmp_path: Path, tools: Path, command: str, answers: list[Reply]
) -> None:
    model = ScriptedModel().when(TASK, *answers)
    configuration = f"execution: {{mode: interactive}}\nagents: {{implementer: {{command: {json.dumps(command)}}}}}\n"
    places = (toolchain(), tools)
    url, models = create_database("sqlite", tmp_path), Models.only(model.language_model)
    async with open_story(url, tmp_path, models=models, sandbox_tools=places) as story:
        asked = await open_issue(story, **{".github/forge.yml": configuration})
        model.when("Title: Discounts", plan())
        await asked.comment(asked.alice, "/forge run")
        assert not story.gates(asked.issue), [each.body for each in story.questions(asked.issue)]
        pull = get_pull_request(asked)
        story.pass_over(pull)
        assert await get_outcome(story) == ("completed", "proposed")
        changed = [each.path for each in asked.repository.git.diff(pull.base_sha, pull.head_sha)]
        assert changed == ["shop/cart.py", "tests/test_cart.py"]
