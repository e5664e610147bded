"""Follows the pages of installing on clean machines: `python -m tests.install [plain] [systemd] [docker] [kubernetes]`.

Each way gets a machine of its own: a Debian in a folder that boots, in a network of its own. What is not done as the
page says, because it cannot be done here, is printed by name, after a “!”.
"""

import argparse
import asyncio
import shutil
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from github.registration import load_permissions
from simulator import Simulator
from tests.install import docker_way, kubernetes_way, machine, network, plain_way, systemd_way
from tests.install.known import APP_ID, BLOCKS, Way
from tests.install.machine import CleanMachine, MachineError
from tests.install.reader import FORGE, BrokenPromiseError, Reader, say

Follow = Callable[[Reader], Awaitable[None]]
WAYS: Mapping[Way, Follow] = {
    Way.plain: plain_way.follow,
    Way.systemd: systemd_way.follow,
    Way.docker: docker_way.follow,
    Way.kubernetes: kubernetes_way.follow,
}
_PORT = 8200
"""Where the simulated GitHub listens for containers, too."""


def main() -> int:
    arguments = _read_arguments()
    if (obstacle := machine.find_obstacle()) is not None:
        sys.stderr.write(f"The pages cannot be followed here: {obstacle}.\n")
        return 2
    if not arguments.inside:
        again = [sys.executable, "-m", "tests.install", "--inside", f"--cache={arguments.cache}", *arguments.ways]
        return network.run_inside(again)
    network.wait_for_network()
    ways = [Way(each) for each in arguments.ways] or list(WAYS)
    if Way.kubernetes in ways and (obstacle := kubernetes_way.find_obstacle()) is not None:
        say(f"! {Way.kubernetes} is left out: {obstacle}")
        ways.remove(Way.kubernetes)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    certificate = machine.make_certificate(arguments.cache)
    tree = machine.make_tree(arguments.cache / machine.RELEASE, certificate.with_name(f"{certificate.name}.crt"))
    failed = [way for way in ways if not asyncio.run(_follow_way(way, tree, certificate))]
    _tell_what_stands_apart(ways)
    say(f"{len(ways) - len(failed)} followed, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return 1 if failed else 0


async def _follow_way(way: Way, tree: Path, certificate: Path) -> bool:
    """Whether the pages were right on a new machine."""
    say(f"{way}")
    begun = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="clean-machine-", dir=tree.parent))
    try:
        async with _serve_github(certificate) as github:
            clean = await asyncio.to_thread(CleanMachine, tree, folder)
            with clean:
                await WAYS[way](Reader(clean, github, _choose_values(way, github)))
    except (MachineError, BrokenPromiseError, TimeoutError, AssertionError) as error:
        say(f"  ✗ {error}")
        return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"  done in {time.monotonic() - begun:.0f} s")
    return True


@asynccontextmanager
async def _serve_github(certificate: Path) -> AsyncGenerator[Simulator]:
    """A simulated GitHub behind TLS that containers of the machine reach as well, by the machine's address."""
    secured = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secured.load_cert_chain(certificate)
    # The App is as “Before you begin” wants it; the page makes the webhook secret later.
    permissions, webhook = load_permissions(), f"{FORGE}/webhook"
    async with Simulator(webhook_url=webhook, webhook_secret="not yet made", permissions=permissions) as github:
        inner = github.port

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                there, back = await asyncio.open_connection("127.0.0.1", inner)
            except ConnectionRefusedError:  # the end: the machine goes after its GitHub
                writer.close()
                return
            await asyncio.gather(_copy(reader, back), _copy(there, writer))

        async with await asyncio.start_server(pass_on, "0.0.0.0", _PORT, ssl=secured):
            github.world.url = f"https://{network.ADDRESS}:{_PORT}"
            yield github


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


def _choose_values(way: Way, github: Simulator) -> dict[str, str]:
    """What a reader fills in. The simulated GitHub is one of an Enterprise Server, whose address is a setting."""
    address = f"FORGE_GITHUB_API_URL={github.api_url}\nFORGE_GITHUB_WEB_URL={github.url}"
    return {
        APP_ID: str(github.app.id) if way is Way.kubernetes else f"{github.app.id}\n{address}",
        "PATH": "/root/sample",
        "OWNER": "octo-org",
        "REPO": "tools",
        "$WEBHOOK_SECRET": "a-secret-of-the-page",
        "$DATABASE_URL": "postgresql://forge:secret@postgres/forge",
    }


def _tell_what_stands_apart(ways: list[Way]) -> None:
    for (page, section, number), known in BLOCKS.items():
        if known.apart and known.way in {*ways, Way.nobody}:
            say(f"! {page}, “{section}”, {number}, is not followed as it stands: {known.apart}")


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.install", description=__doc__)
    parser.add_argument("ways", nargs="*", metavar="WAY", help=f"one of {', '.join(WAYS)}; none: all of them")
    parser.add_argument("--cache", type=Path, default=Path("/var/tmp/forge-clean-machine"), help="keeps the Debian")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := [each for each in arguments.ways if each not in set(WAYS)]:
        parser.error(f"there is no way {', '.join(unknown)}; choose of {', '.join(WAYS)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
