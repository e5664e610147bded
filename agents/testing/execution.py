"""Runs one command of a repository in a checkout, with the operator's programs and, if allowed, the network."""

import re

from agents.testing.runners.runner import ProjectCommand
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.runs.testing import LONGEST_OUTPUT
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from workspace.checkout import Checkout
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.sandbox import Completed

_INSTALLED = re.compile(
    r"^\s*(?:(?:at|from)\s|#\d+\s|/).*(?:/gems/|/(?:site|dist)-packages/|/node_modules/|\bnode:\w).*:\d+.*\n?",
    re.MULTILINE,
)
_SHORT = 15  # characters of a line that says little by itself
_IN_FOLDER = ("sh", "-c", 'cd "$0" && exec "$@"')
_OWN_PACKAGES = {"PIP_BREAK_SYSTEM_PACKAGES": "1"}
"""Lets pip install into the home of the commands, although Debian's Python is externally managed (PEP 668)."""
_FEW_RETRIES = {
    "BUNDLE_RETRY": "0",
    "CARGO_NET_RETRY": "0",
    "PIP_RETRIES": "1",  # with none it would not say why it finds nothing
    "UV_HTTP_RETRIES": "0",
    "YARN_HTTP_RETRY": "0",
    "npm_config_fetch_retries": "0",
}
"""Where there is no network, managers of packages say so at once: npm alone would wait 70 seconds."""


async def execute(
    command: ProjectCommand, checkout: Checkout, toolbox: Toolbox, configured: Commands, seconds: float
) -> tuple[Completed, str]:
    """How it ended, and why it had no network although it should have had it; empty if that is not so.

    :param configured: the commands in the repository's configuration on its default branch.
    :raises ToolError: no sandbox here contains untrusted code, or the sandbox could not be started.
    """
    asks = command.kind == "setup" and configured.network
    lacks = checkout.why_no_network(toolbox.proxy) if asks else ""
    proxy = toolbox.proxy if asks and not lacks else None
    environment = {
        **_OWN_PACKAGES,
        **({} if proxy else _FEW_RETRIES),
        **dict(command.environment),
        "PATH": f"{checkout.home_inside}/.local/bin:{build_path(toolbox.reads)}",
    }
    words = (*_IN_FOLDER, f"./{command.folder}", *command.words) if command.folder else command.words
    done = await checkout.run(words, seconds=seconds, environment=environment, reads=toolbox.reads, proxy=proxy)
    return done, lacks


def read_ends(*printed: bytes) -> str:
    """The end of each stream of a command, without invisible characters and credentials.

    Where not all of it has room, equal lines stand there once, and no stream takes the room of another.
    """
    texts = [_read(each, 4 * LONGEST_OUTPUT) for each in printed if each]
    if sum(len(text) + 1 for text in texts) > LONGEST_OUTPUT:
        texts = [_drop_repeated(_read(each, 40 * LONGEST_OUTPUT)) for each in printed if each]
    room = LONGEST_OUTPUT
    for left, text in enumerate(sorted(texts, key=len)):
        share = (room - 1) // (len(texts) - left)
        at = texts.index(text)
        texts[at] = redact_outgoing(text[-4 * LONGEST_OUTPUT :])[-share:]
        room -= len(texts[at]) + 1
    return "\n".join(texts)


def _read(printed: bytes, most: int) -> str:
    return strip_invisible(printed[-most:].decode(errors="replace"))


def _drop_repeated(text: str) -> str:
    """The text without lines that were there before; what is short, as a brace, stays."""
    seen: set[str] = set()
    kept: list[str] = []
    for line in text.split("\n"):
        if line not in seen:
            kept.append(line)
        if len(line.strip()) > _SHORT:
            seen.add(line)
    return "\n".join(kept)


def drop_frames(text: str) -> str:
    """A text without frames in installed packages, of a runner mostly; as it is where it has nothing else."""
    own = _INSTALLED.sub("", text)
    return own if own.strip() else text
