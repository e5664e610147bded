"""Runs the simulator on its own: `python -m simulator --port 8100 --webhook-url http://127.0.0.1:3000/webhook`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from simulator.server import Simulator

_SHOP = {
    "README.md": "# Shop\n\nA sample to review.\n",
    ".github/workflows/look.yml": """name: Look
on: [push]
permissions: {}
jobs:
  look:
    runs-on: ubuntu-latest
    timeout-minutes: 5
    steps:
      - run: echo nothing to do yet
""",
    "shop/__init__.py": "",
    "shop/cart.py": '''"""What is in a cart, and what it costs."""


def total(prices: list[int]) -> int:
    """The sum of the prices in cents."""
    return sum(prices)
''',
}
"""What is in a new repository of the viewer."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simulator", description="A local GitHub with one App.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--data-dir", type=Path, help="where the bare repositories are kept")
    parser.add_argument("--webhook-url")
    parser.add_argument("--webhook-secret", default="simulator-secret")
    parser.add_argument("--app-id", type=int, default=424242)
    parser.add_argument("--private-key-path", type=Path, help="the App's key in PEM; written there when it is missing")
    parser.add_argument(
        "--repository",
        action="append",
        default=[],
        help="create OWNER/NAME with the App installed; with --viewer, without the App, for the viewer to install it",
    )
    parser.add_argument("--viewer", help="login of the person at the browser, who owns the repositories")
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    key: Path | None = arguments.private_key_path
    simulator = Simulator(
        arguments.data_dir,
        arguments.webhook_url,
        arguments.webhook_secret,
        port=arguments.port,
        app_id=arguments.app_id,
        private_key_pem=key.read_text() if key and key.exists() else None,
    )
    if key and not key.exists():
        key.touch(mode=0o600)
        key.write_text(simulator.app.private_key_pem)
    async with simulator:
        sys.stdout.write(f"API {simulator.api_url} · App {simulator.app.id}\n")
        if arguments.viewer:
            _seat_viewer(simulator, arguments.viewer, arguments.repository or [f"{arguments.viewer}/shop"])
        else:
            for full_name in arguments.repository:
                simulator.install(simulator.create_repository(full_name))
        sys.stdout.flush()
        await _until_stopped()


def _seat_viewer(simulator: Simulator, login: str, repositories: list[str]) -> None:
    """Let a person at a browser do everything from the App's registration on, and print where."""
    viewer, maintainer = simulator.user(login), simulator.user("maintainer")
    simulator.sign_in.follows_pages = True
    sys.stdout.write(f"GitHub's address: {simulator.url} · you are {login} there\n")
    for full_name in repositories:
        repository = simulator.create_repository(full_name, files=_SHOP)
        if repository.owner is not viewer.account:
            repository.owner.owners.add(viewer.account.id)
        simulator.grant(repository, viewer, "admin")
        simulator.grant(repository, maintainer, "maintain")  # for what the author of a change may not do
        sys.stdout.write(f"Repository: {simulator.url}/{full_name}\n")


async def _until_stopped() -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()


if __name__ == "__main__":
    asyncio.run(_serve(_arguments()))
