"""Sets up Forge from the terminal: in a browser, by hand, or one stored setting at a time."""

import asyncio
import sys

from bot import interrupts
from bot.cli.output import output
from bot.cli.process import stop_signal
from bot.listener import HeldPort
from bot.logging import configure
from bot.settings import Installation, check_stored, lacks_app, list_named, load
from bot.setup.site import set_up
from domain.errors import ConfigurationError

_MANUAL = """\
To create the App by hand:

1. On GitHub: Settings (of yourself or the organisation) > Developer settings > GitHub Apps > New GitHub App.
   Homepage URL: any. Webhook URL: https://YOUR-HOST/webhook, or the address of a relay's channel. Webhook secret:
   what `openssl rand -hex 32` prints. Callback URL, for the dashboard: https://YOUR-HOST/dashboard/signed-in.
   Setup URL: https://YOUR-HOST, which says to who installs the App what happens then.
2. Permissions and events: those of app.yml, which explains each of them.
3. Create it, generate a private key, and note the App ID and, for the dashboard, the client ID and a client secret.
4. Give Forge the settings, in the environment, in .env, or as files in FORGE_SECRETS_DIR:
   FORGE_APP_ID, FORGE_PRIVATE_KEY_PATH, FORGE_WEBHOOK_SECRET, FORGE_PUBLIC_URL; for the dashboard FORGE_CLIENT_ID and
   FORGE_CLIENT_SECRET; ANTHROPIC_API_KEY or OPENAI_API_KEY; for a relay FORGE_WEBHOOK_RELAY; for an Enterprise Server
   FORGE_GITHUB_API_URL=https://HOST/api/v3 and FORGE_GITHUB_WEB_URL=https://HOST.
5. `forge doctor` says what is missing. Then install the App on repositories and start `forge serve`.
"""
_LARGEST = 100_000  # characters of a value


def complete(held: HeldPort) -> bool:
    """Set Forge up in a browser if it has no App yet; returns whether it can go on.

    :param held: keeps the port, so that whoever finishes waits there for Forge.
    :raises ConfigurationError: if a setting is wrong.
    """
    return not lacks_app() or _run(held)


def run_alone() -> None:
    """Set Forge up in a browser, also again, and say what comes next.

    :raises ConfigurationError: if a setting is wrong.
    """
    if _run():
        with output() as console:
            console.print("Forge is set up. Start it with `forge serve`.", highlight=False)


def _run(held: HeldPort | None = None) -> bool:
    settings = load(Installation)
    configure(settings.log_format)
    interrupts.raise_again()
    return asyncio.run(_serve(settings, held))


async def _serve(settings: Installation, held: HeldPort | None) -> bool:
    return await set_up(settings, stop_signal(), held=held)


def print_manual() -> None:
    """Say how to create the App by hand."""
    with output() as console:
        console.out(_MANUAL, highlight=False, end="")


def rotate_key() -> None:
    """Encrypt the stored credentials with a new key.

    :raises ConfigurationError: there is no new key, or something cannot be read or written.
    """
    settings = load(Installation)
    settings.make_data_dir()
    settings.store.rotate_key()
    with output() as console:
        console.print(
            f"The credentials in {settings.store.file} are encrypted with the first key in {settings.store.key_file}.",
            highlight=False,
            soft_wrap=True,
        )


def store(name: str) -> None:
    """Store a setting whose value is read from standard input, or remove it if that is empty.

    :param name: as in the environment.
    :raises ConfigurationError: there is no such setting, or the value is wrong.
    """
    settings = load(Installation)
    value = sys.stdin.read(_LARGEST + 1).strip()
    if len(value) > _LARGEST:
        raise ConfigurationError(f"The value of {name} is longer than {_LARGEST} characters.", "Check what was piped.")
    check_stored(name, value)
    settings.make_data_dir()
    settings.store.save({name: value})
    with output() as console:
        done = "is stored and counts from the next start" if value else "is stored no longer"
        if name in list_named():
            done += ", but it is also set outside the store, and that wins"
        console.print(f"{name} {done}.", highlight=False, soft_wrap=True)
