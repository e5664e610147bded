"""Builds and deploy commands in the real sandbox: what they get, what counts, and what people are told."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from agents.deployment import CommandOutcome, Deployer
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.deployments.deployment import NO_ACCESS, DeployAccess
from tests.toolchain import toolchain
from tests.unit.sandbox.machine import has_bubblewrap, has_landlock
from tests.unit.workspace.remotes import AUTHORIZATION, Author, serve
from workspace.mirror import Mirrors
from workspace.sandbox import probing
from workspace.sandbox.probing import Wanted
from workspace.sandbox.worker_pool import WorkerPool

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

Run = Callable[..., Awaitable[CommandOutcome]]
INPUTS = {"environment": "staging", "ref": "1234abc", "percentage": "25", "deployment": "01M8-25"}
SHOW = "import sys\nprint(sys.argv[1:])\n"
PASSES = "raise SystemExit(0)\n"


@pytest.fixture
async def make(tmp_path: Path) -> AsyncGenerator[Callable[..., Awaitable[tuple[Deployer, str]]]]:
    """Makes the deployer of a repository with some files, and their commit."""
    (tmp_path / "remotes").mkdir()
    author = Author(tmp_path / "remotes" / "repo.git")
    async with serve(author.remote.parent) as remote:

        async def make(
            files: Mapping[str, str], level: Wanted = "bwrap", commands: Mapping[str, str] | None = None
        ) -> tuple[Deployer, str]:
            sha = author.commit(files)
            mirror = await Mirrors(tmp_path / "mirrors", seconds=20).mirror(1, remote.url, AUTHORIZATION)
            await mirror.fetch(sha, sha, 1)
            sandbox = await probing.make_sandbox(wanted=level)
            toolbox = Toolbox(WorkerPool("nothing here needs one"), sandbox, reads=(toolchain(),))
            return Deployer(mirror, toolbox, Commands.model_validate(commands or {})), sha

        yield make


@pytest.fixture
def deploy(make: Callable[..., Awaitable[tuple[Deployer, str]]]) -> Run:
    """Runs a deploy command of a repository."""

    async def deploy(
        line: str,
        files: Mapping[str, str],
        access: DeployAccess = NO_ACCESS,
        seconds: float = 60,
        inputs: Mapping[str, str] = INPUTS,
        level: Wanted = "bwrap",
        commands: Mapping[str, str] | None = None,
    ) -> CommandOutcome:
        deployer, sha = await make(files, level, commands)
        return await deployer.deploy(sha, line, inputs, access, seconds)

    return deploy


@pytest.fixture
def build(make: Callable[..., Awaitable[tuple[Deployer, str]]]) -> Run:
    """Builds a repository by its ``build.py``."""

    async def build(script: str, artifact: str | None = "dist/*.whl") -> CommandOutcome:
        deployer, sha = await make({"build.py": script})
        return await deployer.build(sha, "python3 build.py", artifact)

    return build


@pytest.mark.parametrize(
    "script",
    [
        "",
        "open('dist/shop.txt', 'w').write('x')",
        "open('dist/shop.whl', 'w')",
        "open('x', 'w').write('x'); os.symlink('../x', 'dist/shop.whl')",
        "os.symlink('/etc', 'dist/etc.whl')",
        "os.mkfifo('dist/shop.whl')",
        "os.mkdir('dist/shop.whl')",
    ],
    ids=["missing", "another", "empty", "link", "link to a folder", "pipe", "folder"],
)
async def test_a_build_that_leaves_nothing_has_failed(build: Run, script: str) -> None:
    ended = await build(f"import os\nos.mkdir('dist')\n{script}\n")
    assert ended.problem == "The build left no file that matches dist/*.whl and is not empty"


async def test_a_build_that_leaves_what_it_is_for_is_good(build: Run) -> None:
    write = "import os\nos.mkdir('dist')\nopen('dist/a.whl', 'w')\nopen('dist/b.whl', 'w').write('x')\nprint('built')\n"
    ended = await build(write)
    assert (ended.is_successful, ended.output) == (True, "built")
    odd = await build(f"{write}open(b'dist/\\xff', 'w').write('x')\n")
    assert odd.is_successful


async def test_a_build_below_more_folders_than_a_path_can_name_is_looked_through(build: Run) -> None:
    deep = (
        "import os\nfor _ in range(25):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)\nopen('x.txt', 'w').close()\n"
    )
    assert (await build(deep)).problem
    above = "import os\nos.mkdir('dist')\nopen('dist/a.whl', 'w').write('x')\n"
    assert not (await build(above + deep)).problem


async def test_a_build_of_nothing_in_particular_needs_to_succeed_only(build: Run) -> None:
    assert (await build(PASSES, None)).is_successful
    assert (await build("raise SystemExit(3)\n", None)).problem == "python3 ended with status 3"


async def test_placeholders_are_replaced_and_nothing_else(deploy: Run) -> None:
    line = "python3 show.py {environment} {ref} --share={percentage}% {deployment} '{ref} {percentage}' {other} {{ref}}"
    ended = await deploy(line, {"show.py": SHOW})
    words = ["staging", "1234abc", "--share=25%", "01M8-25", "1234abc 25", "{other}", "{1234abc}"]
    assert (ended.problem, ended.output) == ("", str(words))


async def test_an_input_with_odd_characters_stays_one_word(deploy: Run) -> None:
    odd = "a b'; touch hacked #\"$(id)`id`\n{percentage} *"
    ended = await deploy("python3 show.py {ref}", {"show.py": SHOW}, inputs={**INPUTS, "ref": odd})
    assert ended.output == str([odd])


async def test_a_command_that_takes_too_long_is_stopped(deploy: Run) -> None:
    ended = await deploy("python3 slow.py", {"slow.py": "import time\ntime.sleep(600)\n"}, seconds=1)
    assert ended.problem == "python3 was stopped: it took more than 1 s, or wrote too much"
    assert ended.began


async def test_of_what_a_command_prints_the_end_is_kept(deploy: Run) -> None:
    ended = await deploy("python3 much.py", {"much.py": "print('x' * 100_000)\nprint('the end')\n"})
    assert (len(ended.output), ended.output[-8:]) == (3_000, "\nthe end")


async def test_what_a_command_was_told_is_not_repeated(deploy: Run) -> None:
    secrets = {"A": "sesame", "B": "sesame-open", "C": "line one\nline two\n", "D": "käse"}
    script = (
        "import os, sys\nfor name in 'ABCD':\n    print(name, os.environ[name])\n"
        "print('E', 'ses\\u200bame', file=sys.stderr)\nprint('F \\x1b[31mses', 'ame\\x1b[0m', sep='\\x1b[1m')\n"
    )
    ended = await deploy("python3 tell.py", {"tell.py": script}, DeployAccess(secrets=secrets))
    assert ended.problem == ""
    assert sorted(ended.output.split("\n")) == [
        "",
        *(f"{name} [secret]" for name in "AB"),
        "C [secret]",
        *(f"{name} [secret]" for name in "DEF"),
    ]


async def test_a_secret_is_in_no_command_line_of_the_machine(deploy: Run) -> None:
    secret = "open-sesame-7381"
    look = asyncio.create_task(_find_in_command_lines(secret))
    script = "import os, time\ntime.sleep(2)\nprint(len(os.environ['TOKEN']))\n"
    ended = await deploy("python3 wait.py", {"wait.py": script}, DeployAccess(secrets={"TOKEN": secret}))
    look.cancel()
    assert ended.output == "16"
    assert look.cancelling(), "it was found"


async def _find_in_command_lines(text: str) -> None:
    """Ends if a process of this machine has a text in its command line."""
    while True:
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if text.encode() in process.read_bytes():
                    return
            except OSError:
                continue
        await asyncio.sleep(0.05)


async def test_a_command_reaches_its_one_address_and_is_told_of_no_proxy(deploy: Run) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello " + await reader.readline())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    script = """
import os, socket
host, port = os.environ["FORGE_TARGET"].split(":")
with socket.create_connection((host, int(port))) as target:
    target.sendall(b"you\\n")
    print(target.recv(100).decode().strip())
print([name for name in os.environ if "PROXY" in name.upper() or "REGISTRY" in name])
"""
    async with server:
        access = DeployAccess("127.0.0.1", server.sockets[0].getsockname()[1])
        ended = await deploy("python3 ask.py", {"ask.py": script}, access)
    assert (ended.problem, ended.output) == ("", "hello you\n[]")


async def test_an_address_that_nobody_answers_at_is_told_without_the_address(deploy: Run) -> None:
    script = """
import socket
with socket.create_connection(("127.0.0.1", 3128)) as target:
    try:
        print("answered", target.recv(1))
    except ConnectionResetError:
        print("reset")
"""
    ended = await deploy("python3 ask.py", {"ask.py": script}, DeployAccess("127.0.0.1", 1))
    assert ended.output.split("\n\n\n") == [
        "reset",
        "The one address that may be reached could not be reached (Connection refused).",
    ]


async def test_without_an_address_nothing_is_reached(deploy: Run) -> None:
    script = "import os, socket\nprint('FORGE_TARGET' in os.environ)\nsocket.create_connection(('127.0.0.1', 3128))\n"
    ended = await deploy("python3 ask.py", {"ask.py": script})
    assert ended.problem == "python3 ended with status 1"
    assert ended.output.startswith("False\n")
    assert "ConnectionRefusedError" in ended.output


@pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")
@pytest.mark.parametrize(
    ("access", "lacks"),
    [
        (DeployAccess("127.0.0.1", 1), "It had no network"),
        (DeployAccess(secrets={"TOKEN": "sesame"}), "It was not told its secrets"),
    ],
)
async def test_at_level_2_nothing_begins_that_needs_more(deploy: Run, access: DeployAccess, lacks: str) -> None:
    needs = "sandbox level 3 (install bubblewrap where Forge runs)"
    ended = await deploy("python3 show.py", {"show.py": SHOW}, access, level="landlock")
    assert (ended.problem, ended.began) == (f"{lacks}: that needs {needs}, and this is level 2", False)
    assert (await deploy("python3 show.py", {"show.py": SHOW}, level="landlock")).is_successful


async def test_a_set_up_that_fails_lets_nothing_begin(deploy: Run) -> None:
    ended = await deploy("python3 show.py", {"show.py": SHOW}, commands={"setup": "python3 missing.py"})
    assert ended.problem == "The set-up of the repository failed: python3 missing.py"
    assert ("missing.py" in ended.output, ended.began) == (True, False)


async def test_a_commit_that_is_not_there_is_told(make: Callable[..., Awaitable[tuple[Deployer, str]]]) -> None:
    deployer, _ = await make({"show.py": SHOW})
    ended = await deployer.deploy("0" * 40, "python3 show.py", INPUTS, NO_ACCESS, 60)
    assert (ended.is_successful, ended.began) == (False, False)
    assert not ended.problem.endswith(".")
    assert (await deployer.build("0" * 40, "python3 show.py", None)).problem == ended.problem


async def test_a_credential_is_hidden_before_the_text_is_cut_in_its_middle(deploy: Run) -> None:
    token = "ghp_" + "a1B2" * 9
    script = f"print('{token}' + ' ' + 'x' * 2_990)\n"
    ended = await deploy("python3 leak.py", {"leak.py": script})
    assert "a1B2" not in ended.output


async def test_a_deploy_command_finds_what_the_build_left(
    make: Callable[..., Awaitable[tuple[Deployer, str]]],
) -> None:
    built = "import os, pathlib\npathlib.Path('made.txt').write_text(os.environ.get('TOKEN', 'told nothing'))\n"
    deployer, sha = await make({"build.py": built, "put.py": "print(open('made.txt').read())\n"})
    access = DeployAccess(secrets={"TOKEN": "only-for-deploying"})
    ended = await deployer.deploy(sha, "python3 put.py", INPUTS, access, 60, "python3 build.py")
    assert (ended.problem, ended.output) == ("", "told nothing")
    failed = await deployer.deploy(sha, "python3 put.py", INPUTS, access, 60, "python3 missing.py")
    assert failed.problem == "The build before it failed: python3 ended with status 2"
    assert not failed.began
