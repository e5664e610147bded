"""What a set-up command can reach through the one address that the operator names, and what it leaves behind."""

import socket
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from agents.testing import tester
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.errors import ToolError
from domain.review.review import RiskLevel
from domain.runs.testing import TestRun
from tests.unit.sandbox.machine import has_bubblewrap, is_gone, mark_seconds
from tests.unit.workspace.registries import WHEEL, Registry, serve_registry
from tests.unit.workspace.remotes import AUTHORIZATION, Author, serve
from workspace.checkout import Checkout, check_out
from workspace.git import Git
from workspace.mirror import Mirrors
from workspace.objects import Objects
from workspace.sandbox import probing
from workspace.sandbox.registry_proxy import BOUNDS, INSIDE, Address
from workspace.sandbox.sandbox import LANDLOCK, LIMITS, Completed, Sandbox

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

PIP = ("python3", "-m", "pip", "--disable-pip-version-check", "--no-input")
needs_pip = pytest.mark.skipif(not Path("/usr/lib/python3/dist-packages/pip").is_dir(), reason="no pip for all here")


@pytest.fixture
async def registry() -> AsyncGenerator[Registry]:
    async with serve_registry() as registry:
        yield registry


async def at(level: int) -> Sandbox:
    every = await probing.make_sandbox()
    return Sandbox([known for known in every.levels if known.level <= level], every.account)


@asynccontextmanager
async def checkout_of(author: Author, level: int = 3, sha: str = "") -> AsyncGenerator[Checkout]:
    sha = sha or author.commit({"file.txt": "content\n"})
    async with check_out(Objects(Git(author.remote)), sha, await at(level)) as checkout:
        yield checkout


async def python(checkout: Checkout, script: str, registry: Registry | None) -> Completed:
    proxy = registry.address if registry else None
    return await checkout.run(["python3", "-c", script], seconds=60, proxy=proxy)


def text(done: Completed) -> str:
    return done.stdout.data.decode(errors="replace").strip()


# T-R9: what a set-up gets


FETCH = """
import os, urllib.request
for url in (os.environ["FORGE_REGISTRY"] + "/hello", "http://packages.example/hello", "https://packages.example/"):
    try:
        print(urllib.request.urlopen(url, timeout=10).read().decode())
    except OSError as error:
        print(error)
"""


async def test_t_r9_a_set_up_reaches_the_registry_and_what_the_proxy_lets_through(
    author: Author, registry: Registry
) -> None:
    async with checkout_of(author) as checkout:
        done = await python(checkout, FETCH, registry)
    hello = "hello from the registry"
    assert text(done) == f"{hello}\n{hello}\n<urlopen error Tunnel connection failed: 403 Forbidden>", done
    own, through, secret = (line.rsplit(" ", 1)[0] for line in registry.requests)
    assert (own, through) == ("GET /hello", "GET http://packages.example/hello")
    assert secret == "CONNECT packages.example:443"


@needs_pip
async def test_t_r9_pip_installs_from_the_registry_and_tests_use_it(author: Author, registry: Registry) -> None:
    async with checkout_of(author) as checkout:
        script = " && ".join(
            " ".join((*PIP, *words, "--no-deps", '--index-url "$FORGE_REGISTRY/simple"', "tiny"))
            for words in (("download", "--dest", "wheels"), ("install", "--target", "library"))
        )
        done = await checkout.run(["sh", "-c", script], seconds=120, proxy=registry.address)
        assert done.status == 0, done.stderr.data
        used = await checkout.run(
            ["python3", "-c", "import os, tiny; print(tiny.GREETING, os.listdir('wheels'))"],
            seconds=30,
            environment={"PYTHONPATH": "library"},
        )
        assert text(used) == f"installed ['{WHEEL}']"


async def test_t_r9_a_command_starts_as_it_would_without_the_network(author: Author, registry: Registry) -> None:
    """Its status, its arguments, its signals and its open files are its own."""
    own = ["sh", "-c", "grep Sig /proc/self/status; ls /proc/self/fd"]
    async with checkout_of(author) as checkout:
        without, within = [await checkout.run(own, seconds=30, proxy=proxy) for proxy in (None, registry.address)]
        assert text(without) == text(within) != ""
        for proxy in (None, registry.address):
            done = await checkout.run(["sh", "-c", 'echo "$1|$2"; exit 7', "sh", "a b", "$x"], seconds=30, proxy=proxy)
            assert (done.status, text(done)) == (7, "a b|$x")
            assert (await checkout.run(["no-such-program"], seconds=30, proxy=proxy)).status == 127


async def test_t_r9_without_a_python_inside_nothing_starts(author: Author, registry: Registry) -> None:
    """The repository's own program must not be given what it takes to open the port."""
    async with checkout_of(author) as checkout:
        words, nowhere = ("/bin/sh", "-c", "echo ran"), {"PATH": "/nowhere"}
        done = await checkout.run(words, seconds=30, environment=nowhere, proxy=registry.address)
    assert (done.status, text(done)) == (127, "")
    assert b"There is no python3 inside" in done.stderr.data


async def test_t_r9_a_proxy_that_is_down_is_said(author: Author) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = Address(*server.getsockname())
    async with checkout_of(author) as checkout:
        done = await checkout.run(["python3", "-c", FETCH], seconds=30, proxy=address)
    assert done.status == 0
    assert done.stderr.data.decode().splitlines()[-1].startswith("The registry proxy could not be reached (")


# T-S4: what else it reaches


REACH = """
import socket, sys
def reach(family, address):
    try:
        with socket.socket(family) as connection:
            connection.settimeout(2)
            connection.connect(address)
        print("reached", address)
    except OSError:
        pass
port, path, abstract = int(sys.argv[1]), sys.argv[2], sys.argv[3]
addresses = ("127.0.0.1", port), ("169.254.169.254", 80), ("10.0.0.1", 80), ("1.1.1.1", 53)
for address in addresses:
    reach(socket.AF_INET, address)
reach(socket.AF_INET6, ("::1", port))
reach(socket.AF_INET, ("127.0.0.1", 3128))
for address in (path, "\\0" + abstract, "/var/run/docker.sock", "/run/docker.sock"):
    reach(socket.AF_UNIX, address)
try:
    socket.getaddrinfo("example.org", 80)
    print("resolved")
except OSError:
    pass
try:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    print("raw")
except OSError:
    pass
print("done")
"""


async def test_t_s4_nothing_but_the_proxy_can_be_reached(author: Author, registry: Registry, place: Path) -> None:
    path, abstract = str(place / "socket"), f"forge-{uuid.uuid4()}"
    with ExitStack() as stack:
        for address in (path, "\0" + abstract):
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(address)
            listening.listen()
        Path(path).chmod(0o777)
        port = str(stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1])
        async with checkout_of(author) as checkout:
            words = ("python3", "-c", REACH, port, path, abstract)
            done = await checkout.run(words, seconds=60, proxy=registry.address)
            assert text(done) == f"reached {INSIDE}\ndone"
            assert text(await checkout.run(words, seconds=60)) == "done"
        for address in (path, "\0" + abstract):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(address)  # they do listen


@pytest.mark.parametrize("level", [LIMITS, LANDLOCK])
async def test_t_s4_below_level_3_there_is_none(author: Author, registry: Registry, level: int) -> None:
    async with checkout_of(author, level) as checkout:
        with pytest.raises(ToolError, match="level"):
            await python(checkout, "print()", registry)
        assert f"this is level {level}" in checkout.why_no_network(registry.address)
    assert registry.requests == []


# T-S2, T-S3: floods, and what outlives it


async def test_t_s2_a_flood_of_connections_is_held_back_and_only_for_itself(author: Author, registry: Registry) -> None:
    script = f"""
import socket, time
held = []
for _ in range(150):
    connection = socket.socket()
    connection.settimeout(2)
    try:
        connection.connect({INSIDE!r})
    except OSError:
        break
    held.append(connection)
time.sleep(1)
print(len(held))
"""
    async with checkout_of(author) as first, checkout_of(author) as second:
        flood = await python(first, script, registry)
        assert int(text(flood)) > BOUNDS.at_once
        assert registry.most == BOUNDS.at_once
        done = await python(second, FETCH, registry)
        assert text(done).startswith("hello")


async def test_t_s3_no_process_and_no_connection_survives(author: Author, registry: Registry) -> None:
    marker = mark_seconds(140)
    script = f"""
import os, socket, subprocess
connection = socket.create_connection({INSIDE!r})
subprocess.Popen(["setsid", "sh", "-c", "trap '' TERM HUP; sleep {marker}"], pass_fds=[connection.fileno()])
connection.sendall(b"GET")
print("ended")
"""
    async with checkout_of(author) as checkout:
        assert text(await python(checkout, script, registry)) == "ended"
        assert await is_gone(marker)
        await registry.closed.wait()
    assert registry.requests == []


async def test_t_s3_time_ends_it_with_its_connections(author: Author, registry: Registry) -> None:
    script = f"import socket; connection = socket.create_connection({INSIDE!r}); connection.recv(1)"
    async with checkout_of(author) as checkout:
        started = time.monotonic()
        done = await checkout.run(["python3", "-c", script], seconds=2, proxy=registry.address)
        assert (done.status, time.monotonic() - started < 10) == (None, True)
        await registry.closed.wait()
    assert registry.most == 1


async def test_t_s3_nobody_inside_can_take_the_port_over(author: Author, registry: Registry) -> None:
    """Otherwise one package could answer for the registry to what is installed after it."""
    script = f"""
import socket
for name in ("SO_REUSEADDR", "SO_REUSEPORT"):
    with socket.socket() as mine:
        mine.setsockopt(socket.SOL_SOCKET, getattr(socket, name), 1)
        for host in ("127.0.0.1", "0.0.0.0"):
            try:
                mine.bind((host, {INSIDE[1]}))
                mine.listen()
                print("mine", name, host)
            except OSError:
                pass
"""
    async with checkout_of(author) as checkout:
        done = await python(checkout, script + FETCH, registry)
    assert text(done).splitlines()[0] == "hello from the registry", done


# T-S6: what one set-up leaves another


@needs_pip
async def test_t_s6_no_set_up_finds_the_downloads_of_another(author: Author, registry: Registry) -> None:
    """Not even of the same commit: a cache that code of a pull request wrote is no cache to believe."""
    sha = author.commit({"requirements.txt": "tiny==1.0\n"})
    poison = 'mkdir -p "$HOME/.cache/pip" && echo poison | tee "$HOME/.cache/pip/x" "$HOME/.npmrc" > poisoned'
    script = f'find "$HOME" . -name "*.whl" -o -name x -o -name .npmrc -o -name poisoned; {poison}'
    fetch = (*PIP, "download", "--no-deps", "--dest", "wheels", "-r", "requirements.txt")
    for _ in range(2):
        async with checkout_of(author, sha=sha) as checkout:
            found = await checkout.run(["sh", "-c", script], seconds=30)
            assert text(found) == ""
            line = f'{" ".join(fetch)} --index-url "$FORGE_REGISTRY/simple"'
            done = await checkout.run(["sh", "-c", line], seconds=60, proxy=registry.address)
            assert done.status == 0, done.stderr.data
    assert sum(WHEEL in line for line in registry.requests) == 2


# The tester gives the network to the set-up only, and only if both want it


async def _run_tests(author: Author, place: Path, commands: Commands, toolbox: Toolbox) -> TestRun:
    base = author.commit({"a.py": "x = 1\n"})
    head = author.commit({"a.py": "x = 2\n", "tests/test_a.py": "def test_a():\n    pass\n"})

    async def tell(_: str) -> None:
        pass

    async with serve(author.remote.parent) as remote:
        mirror = await Mirrors(place / "mirrors", seconds=20).mirror(1, remote.url, AUTHORIZATION)
        for sha in (base, head):
            await mirror.fetch(sha, sha, 1)
        change = await mirror.change(base, head)
        return await tester.Tester(mirror, toolbox, commands, tell).test(change, RiskLevel.high)


@pytest.mark.parametrize("network", [True, False])
@pytest.mark.parametrize("named", [True, False])
async def test_t_r9_only_a_set_up_has_the_network_and_only_if_both_allow_it(
    author: Author, registry: Registry, place: Path, network: bool, named: bool
) -> None:
    fetch = f"import socket; socket.socket().connect_ex({INSIDE!r})\n"
    reach = f"import socket; assert socket.socket().connect_ex({INSIDE!r})\n"
    author.commit({"fetch.py": fetch, "reach.py": reach})
    commands = Commands(setup="python3 fetch.py", test="python3 reach.py", lint="python3 reach.py", network=network)
    async with Toolbox.start(proxy=registry.address if named else None) as toolbox:
        run = await _run_tests(author, place, commands, toolbox)
    setup, *others = run.commands
    assert [other.exit_status for other in others] == [0, 0], run
    assert (setup.kind, registry.most) == ("setup", int(network and named))
    lacks = "It had no network: the operator of Forge gives the sandbox none (docs/security.md)."
    assert setup.report_problem == (lacks if network and not named else "")
