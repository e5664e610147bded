"""Runs one command of a repository in a checkout, with the operator's programs and, if allowed, the network.

Checkouts are given what set-ups of the default branch downloaded, by a key of all that decides what that is.
"""

import hashlib
import json
import platform
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from agents.testing.command_detection import detect
from agents.testing.runners.runner import ProjectCommand, list_needed
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.errors import CodeAccessError, ToolError
from domain.paths import is_lock, is_manifest
from domain.runs.testing import LONGEST_OUTPUT
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from workspace.checkout import Checkout, check_out
from workspace.dependency_cache import CacheEntry
from workspace.mirror import Mirror
from workspace.safe_copy import Size
from workspace.sandbox.bubblewrap import PATH, build_path
from workspace.sandbox.sandbox import Completed
from workspace.snapshot import Snapshot, SnapshotFile

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

_VERSION = 1  # of the key and of the entries
_PROGRAMS = ("python3", "node", "go", "cargo", "ruby", "java", "dotnet", "php")
"""What was built with another version of one of these would not fit."""


def compute_key(
    setups: Collection[ProjectCommand], files: Mapping[str, SnapshotFile], has_network: bool, level: int, programs: str
) -> str:
    """The key of a set-up.

    :param files: path → file, of the commit.
    :param has_network: whether its configuration asks for the network.
    :param level: of the sandbox in which it runs.
    :param programs: the programs that run it; see :func:`describe_programs`.
    :returns: 64 hexadecimal digits.
    """
    words = [word for command in setups for word in command.words]
    named = {part.removeprefix("./") for word in words for part in word.split()}
    counts = [
        (path, file.mode, file.blob)
        for path, file in sorted(files.items())
        if is_manifest(path) or is_lock(path) or path in named
    ]
    told = [_VERSION, [command.words for command in setups], counts, has_network, level, programs]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def describe_programs(reads: Sequence[Path]) -> str:
    """The platform of this machine, and the programs that a set-up finds on it.

    :param reads: folders of programs that the operator named.
    """
    folders = [*(folder / "bin" for folder in reads), *map(Path, PATH.split(":"))]
    found = [_describe_program(name, folders) for name in _PROGRAMS]
    return " ".join([platform.machine(), *platform.libc_ver(), *filter(None, found)])


def _describe_program(name: str, folders: Sequence[Path]) -> str:
    """The path, size and modification time of a program; empty if there is none."""
    for folder in folders:
        path = (folder / name).resolve()
        if path.is_file():
            found = path.stat()
            return f"{path} {found.st_size} {found.st_mtime_ns}"
    return ""


_SECONDS = 900.0
"""The time limit of each command that fills the cache."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _DefaultSetup:
    """A commit of the default branch, its set-up commands, and their cache key."""

    commit: str
    setups: Sequence[ProjectCommand]
    key: str


class Dependencies:
    """The access of one test job to its repository's cache. No failure in it ends the job.

    :param commands: those in the repository's configuration on its default branch.
    """

    def __init__(self, mirror: Mirror, toolbox: Toolbox, commands: Commands) -> None:
        self._mirror = mirror
        self._toolbox = toolbox
        self._commands = commands
        self._default: _DefaultSetup | None = None
        self._kept: CacheEntry | None = None

    async def find_cached(self) -> None:
        """Look up the entry for the present default branch."""
        filling = self._toolbox.cache_warmer
        if filling is None:
            return
        try:
            self._default = await self._load_default_setup()
        except CodeAccessError as error:
            log.warning("dependencies.unknown", repository=self._mirror.repository_id, reason=str(error))
        if self._default is not None:
            self._kept = filling.cache.find(self._mirror.repository_id, self._default.key)

    async def install(self, checkout: Checkout) -> bool:
        """Copy the entry into a checkout in which nothing has run yet. Returns whether there is a copy."""
        if self._kept is None:
            return False
        is_furnished = await checkout.install_cache(self._kept)
        if not is_furnished:
            log.warning("dependencies.not_given", repository=self._mirror.repository_id)
        return is_furnished

    def disable(self) -> None:
        """Give no further checkout a copy."""
        self._kept = None

    def warm_cache(self) -> None:
        """Fill the cache in the background, if :meth:`find_cached` found no entry."""
        filling, default = self._toolbox.cache_warmer, self._default
        if filling is None or default is None or self._kept is not None:
            return
        filling.start(self._mirror.repository_id, default.key, lambda: self._fill(default))

    async def _load_default_setup(self) -> _DefaultSetup | None:
        """The set-up of the default branch; None if there is no branch or no set-up."""
        commit = await self._mirror.fetch_default()
        if commit is None:
            return None
        files = (await Snapshot.of(self._mirror, commit)).files
        contents = await self._mirror.read(commit, list_needed(files))
        manifests = {path: content.decode(errors="replace") for path, content in contents.items()}
        setups = detect([*files], manifests, self._commands, "").setups
        level = self._toolbox.sandbox.strongest().level
        found = compute_key(setups, files, self._commands.network, level, describe_programs(self._toolbox.reads))
        return _DefaultSetup(commit, setups, found) if setups else None

    async def _fill(self, default: _DefaultSetup) -> Size:
        """Set up a fresh checkout of the default branch, and keep what that downloaded.

        :raises ToolError: the set-up failed.
        :raises NotCopied: the downloads cannot be kept.
        """
        filling = self._toolbox.cache_warmer
        assert filling is not None
        async with check_out(self._mirror, default.commit, self._toolbox.sandbox) as checkout:
            for command in default.setups:
                done, _ = await execute(command, checkout, self._toolbox, self._commands, _SECONDS)
                if done.status != 0 and not command.folder:
                    raise ToolError(f"The set-up of the default branch failed (exit status {done.status}).")
            return await filling.cache.keep(self._mirror.repository_id, default.key, checkout.home, checkout.owner)


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
