"""A simulated GitHub with people who have tokens, and `forge review --pr` and the action in front of it."""

import asyncio
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from ruamel.yaml import YAML

from bot.cli.pull_request import action, command
from bot.cli.review import find_exit_code
from domain.errors import ForgeError
from simulator.server import Simulator
from simulator.state import PullRequest, Repository
from simulator.user import User

ROOT = Path(__file__).parents[2]
FLAWED = "import os\n\n\ndef run(text):\n    return eval(text)\n"
BROKEN = "def run():\n    return missing\n"
READS = {"contents": "read", "pull_requests": "read"}
WRITES = {"contents": "read", "pull_requests": "write"}
_EXPRESSION = re.compile(r"\$\{\{\s*([^}]+?)\s*\}\}")


class Told(NamedTuple):
    """What a process answered and printed."""

    code: int
    printed: str
    errors: str


class JobResult(NamedTuple):
    """What a job of GitHub Actions left.

    :param outputs: of the action, by name.
    """

    code: int
    log: str
    outputs: Mapping[str, str]
    summary: str


@dataclass
class Desk:
    """A private repository with two people: ann may write, bob may read."""

    github: Simulator
    folder: Path
    shelf: Repository
    ann: User
    bob: User
    environment: dict[str, str] = field(default_factory=dict[str, str])

    async def propose(
        self, files: Mapping[str, str | bytes | None], branch: str = "topic", base: str = "main"
    ) -> PullRequest:
        """A pull request by ann."""
        await self.ann.push(self.shelf, branch, dict(files), base=base)
        return await self.ann.open_pull_request(self.shelf, branch, base=base, title="Add lines")

    async def propose_from_fork(self, files: Mapping[str, str | bytes | None]) -> PullRequest:
        """A pull request by somebody new."""
        self.shelf.private = False
        zoe = self.github.user("zoe")
        fork = await zoe.fork(self.shelf)
        await zoe.push(fork, "topic", dict(files), base="main")
        return await zoe.open_pull_request(self.shelf, "topic", head_repo=fork, title="Add lines")

    def locate(self, pull: PullRequest) -> str:
        return f"{self.github.url}/{pull.repository.full_name}/pull/{pull.number}"

    async def start_review(self, target: PullRequest | str, *arguments: str, token: str = "") -> Told:
        """`forge review --pr` as a person starts it, with a bare environment in a folder of somebody else's."""
        url = target if isinstance(target, str) else self.locate(target)
        given = {**self.environment, "PYTHONPATH": str(ROOT), "GH_ENTERPRISE_TOKEN": token}
        command = [sys.executable, "-m", "bot", "review", "--pr", url, *arguments]
        return await run_process(command, given, self.folder)

    async def review(
        self,
        target: PullRequest | str,
        *,
        token: str = "",
        post: bool = False,
        by_verdict: bool = False,
        ask_model: bool = False,
        variables: Mapping[str, str] = {},
    ) -> Told:
        """The same in this process, which is much quicker, with other variables of the environment."""
        url = target if isinstance(target, str) else self.locate(target)
        printed, errors = io.StringIO(), io.StringIO()
        for name in ("GH_TOKEN", "GITHUB_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITHUB_ACTIONS"):
            os.environ.pop(name, None)
        os.environ.update({"GH_ENTERPRISE_TOKEN": token, **variables})
        with redirect_stdout(printed), redirect_stderr(errors):
            try:
                work = command.run(url, "text", command.PostingOptions(post, by_verdict), ask_model=ask_model)
                code = find_exit_code(await work)
            except ForgeError as error:
                errors.write(str(error))
                code = 2
        return Told(code, printed.getvalue(), errors.getvalue())

    async def act(
        self,
        pull: PullRequest,
        token: str,
        event: str = "pull_request",
        inputs: Mapping[str, str] = {},
        *,
        as_process: bool = False,
        **more: str,
    ) -> JobResult:
        """Play the action for a pull request, as a runner does.

        :param more: other variables of the environment by their names.
        :param as_process: run the script of its step; otherwise what that starts, in this process, which is quicker.
        """
        job = _Job(self, token, dict(inputs))
        event_told = {"action": "opened", "number": pull.number, "pull_request": {"number": pull.number}}
        (job.folder / "event.json").write_text(json.dumps(event_told))
        told = {"GITHUB_EVENT_NAME": event, "GITHUB_REPOSITORY": pull.repository.full_name, **more}
        return await job.play(told, as_process=as_process)


@asynccontextmanager
async def open_desk(folder: Path, files: Mapping[str, str] | None = None) -> AsyncGenerator[Desk]:
    """Open a GitHub with `files` on the default branch."""
    home = folder / "home"
    home.mkdir()
    async with Simulator() as github:
        ann, bob = github.user("ann"), github.user("bob")
        shelf = github.create_repository("acme/shelf", dict(files or {"a.py": "x = 1\n"}), private=True)
        github.grant(shelf, ann, "write")
        github.grant(shelf, bob, "read")
        yield Desk(github, home, shelf, ann, bob, {"PATH": os.environ["PATH"], "HOME": str(home)})


async def run_process(command: list[str], environment: Mapping[str, str], folder: Path) -> Told:
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, env=dict(environment), cwd=folder, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    printed, errors = await process.communicate()
    return Told(process.returncode or 0, printed.decode(), errors.decode())


def load_action() -> dict[str, Any]:
    """`action.yml`."""
    reader: Any = YAML(typ="safe")
    return cast("dict[str, Any]", reader.load((ROOT / "action.yml").read_text(encoding="utf-8")))


class _Job:
    """A job on a runner. Forge is there already: only the steps that install it are left out."""

    def __init__(self, desk: Desk, token: str, inputs: dict[str, str]) -> None:
        self._desk = desk
        self._action = load_action()
        count = len(list(desk.folder.glob("job-*")))
        self.folder = desk.folder / f"job-{count}"
        self._values = {"github.token": token, "steps.python.outputs.python-path": sys.executable}
        for name, described in self._action["inputs"].items():
            self._values[f"inputs.{name}"] = inputs.get(name, self._fill(str(described["default"])))
        self._install()

    def _install(self) -> None:
        """A program in the place of the environment that the action makes."""
        program = self.folder / "temp" / "forge" / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text(
            f'#!/bin/sh\n[ "$1 $2 $3" = "-I -m bot" ] || exit 99\nshift 3\ncd {ROOT}\n'
            f'exec {sys.executable} -m bot "$@"\n'
        )
        program.chmod(0o755)

    def _fill(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self._values[found[1]], text)

    async def play(self, variables: Mapping[str, str], *, as_process: bool) -> JobResult:
        step = next(each for each in self._action["runs"]["steps"] if each.get("id") == "review")
        environment = {
            **self._desk.environment,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_SERVER_URL": self._desk.github.url,
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "RUNNER_TEMP": str(self.folder / "temp"),
            **variables,
            **{name: self._fill(str(value)) for name, value in step["env"].items()},
        }
        for name in ("output", "summary"):
            (self.folder / name).touch()
        if as_process:
            script = self.folder / "step.sh"
            script.write_text(self._fill(step["run"]))
            shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
            told = await run_process(shell, environment, self.folder)
        else:
            told = await _run_here(environment)
        outputs = read_outputs((self.folder / "output").read_text())
        for name, described in self._action["outputs"].items():
            assert _EXPRESSION.fullmatch(described["value"]), name
        return JobResult(told.code, told.printed + told.errors, outputs, (self.folder / "summary").read_text())


async def _run_here(environment: Mapping[str, str]) -> Told:
    """`forge action` in this process; `tests/conftest.py` restores the environment after each test."""
    os.environ.clear()
    os.environ.update(environment)
    printed, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(errors):
        code = await action.run()
    return Told(code, printed.getvalue(), errors.getvalue())


def read_outputs(text: str) -> dict[str, str]:
    """What a step handed on, by name."""
    lines = iter(text.splitlines())
    found: dict[str, str] = {}
    for line in lines:
        name, _, end = line.partition("<<")
        value: list[str] = []
        while (part := next(lines)) != end:
            value.append(part)
        found[name] = "\n".join(value)
    return found
