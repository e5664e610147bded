"""Runs git so that no content of a repository can make it run something else."""

import asyncio
import os
import re
import resource
import shutil
import signal
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from domain.errors import CodeAccessError, Recovery

MEGABYTE = 1_000_000

# Configuration of every git process, given with its command; it overrides every file.
_SETTINGS: Mapping[str, str] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.askPass": "",
    "core.sshCommand": "false",
    "credential.helper": "",
    "diff.renames": "true",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "http.followRedirects": "false",  # a redirect could lead to an internal host, or carry the credential elsewhere
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "protocol.http.allow": "always",
    "protocol.https.allow": "always",
    "protocol.version": "2",
    "safe.directory": "*",  # it protects from a repository's own configuration, which has no effect here
    "submodule.recurse": "false",
}
_ENVIRONMENT: Mapping[str, str] = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ATTR_NOSYSTEM": "1",
}
# The operator decides how to reach the remote; nothing else of Forge's own environment is passed on.
_LONGEST_END = 16_384  # bytes of what git says when it fails: as much of its beginning and of its end
_NETWORK = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO")


class TooLarge(CodeAccessError):
    """git wrote more than it may; a retry would not help."""

    recovery = Recovery.stop


class Unrelated(CodeAccessError):
    """Head and base have no common ancestor, or several; a retry would not help."""

    recovery = Recovery.stop


class GitFailure(Exception):
    """What git printed when it failed, without credentials: the cause of a ``CodeAccessError``."""


def read_stderr(error: CodeAccessError) -> str:
    """What git printed when it failed."""
    return str(error.__cause__) if isinstance(error.__cause__, GitFailure) else ""


@dataclass(frozen=True, slots=True)
class GitOutput:
    """How a git command ended; ``stderr`` is without credentials, and a long one is cut to its ends."""

    code: int
    stdout: bytes
    stderr: str


class Git:
    """The git program, bound to one repository.

    :param repository: the git directory; None for commands that need none.
    :param program: path of the executable, found on PATH by default.
    :param hide: texts that must not appear in a message: credentials, and places on this machine.
    """

    memory = 2_000 * MEGABYTE
    """Bytes of memory of one command: a few nested trees can stand for more files than there is room for."""

    def __init__(self, repository: Path | None, *, program: str | None = None, hide: Sequence[str] = ()) -> None:
        self.repository = repository
        self.program = program or _program()
        self._hide = (*hide, *([str(repository)] if repository else []))

    async def run(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        expect: Collection[int] = (0,),
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        network: bool = False,
        cwd: Path | None = None,
        seconds: float = 60,
        most: int = 64 * MEGABYTE,
        largest_file: int | None = None,
        keep_open: Sequence[int] = (),
    ) -> GitOutput:
        """Run one command to its end.

        :param expect: exit codes that are results; any other raises ``CodeAccessError``.
        :param settings: configuration for this command alone; it may hold a credential.
        :param seconds: after this time the whole process group is ended.
        :param most: bytes of output; more raises ``TooLarge``.
        :param largest_file: bytes the command may write to one file (a pack); more raises ``TooLarge``.
        :param keep_open: file descriptors the process inherits.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                self.program,
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd or self.repository,
                env=self._environment(settings or {}, environment or {}, network),
                start_new_session=True,
                pass_fds=keep_open,
                restore_signals=largest_file is None,  # Python ignores SIGXFSZ, so git gets an error and reports it
            )
        except (FileNotFoundError, NotADirectoryError):
            raise CodeAccessError("The repository is no longer there.", "It is fetched anew the next time.") from None
        _limit(process.pid, self.memory, largest_file)
        try:
            async with asyncio.timeout(seconds):
                stdout, stderr, _ = await asyncio.gather(
                    _read(process.stdout, most), _read_ends(process.stderr), _feed(process.stdin, stdin)
                )
                code = await process.wait()
        except TimeoutError:
            raise CodeAccessError(
                f"git {_verb(arguments)} took longer than {seconds:g} seconds and was ended."
            ) from None
        finally:
            await _terminate(process)
        text = self._without_secrets(stderr)
        if code not in expect:
            raise _failure(_verb(arguments), code, text) from GitFailure(text)
        return GitOutput(code, stdout, text)

    def _environment(self, settings: Mapping[str, str], extra: Mapping[str, str], network: bool) -> dict[str, str]:
        given = {name: os.environ[name] for name in _network_names() if name in os.environ} if network else {}
        repository = {"GIT_DIR": str(self.repository)} if self.repository else {}
        return {
            "PATH": _search_path(),
            **_ENVIRONMENT,
            **repository,
            **given,
            **_as_environment({**_SETTINGS, **settings}),
            **extra,
        }

    def _without_secrets(self, stderr: bytes) -> str:
        text = stderr.decode("utf-8", "replace")
        for secret in self._hide:
            text = text.replace(secret, "…")
        return re.sub(r"[^\x20-\x7e\n…]", "?", text).strip()


_OVER_FILE_SIZE = re.compile(r"died of signal 25|File too large")  # SIGXFSZ, EFBIG
_OUT_OF_MEMORY = re.compile(r"out of memory|cannot allocate memory", re.IGNORECASE)


def _failure(verb: str, code: int, text: str) -> CodeAccessError:
    if _OVER_FILE_SIZE.search(text):
        return TooLarge("The objects to fetch are larger than Forge accepts.")
    if _OUT_OF_MEMORY.search(text):
        return TooLarge("git needs more memory than Forge gives it.")
    line = next((line for line in text.splitlines() if line.startswith(("fatal:", "error:"))), f"exit code {code}")
    return CodeAccessError(f"git {verb} failed ({line[:300]}).")


def _verb(arguments: Sequence[str | bytes]) -> str:
    return next((word for word in arguments if isinstance(word, str) and not word.startswith("-")), "")


def _program() -> str:
    found = shutil.which("git", path=_search_path())
    if found is None:
        raise CodeAccessError("The program git was not found.", "Install git 2.39 or newer.")
    return found


def _search_path() -> str:
    """PATH without relative folders, because the current folder may be anyone's."""
    return os.pathsep.join(part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part[:1] == "/")


def _network_names() -> Iterable[str]:
    return (*_NETWORK, *(name.lower() for name in _NETWORK if name.endswith("PROXY")))


def _as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Configuration as variables (git-config(1), GIT_CONFIG_COUNT), so that it is on no command line and on no disk."""
    numbered = enumerate(settings.items())
    pairs = {
        f"GIT_CONFIG_{part}_{i}": text
        for i, item in numbered
        for part, text in zip(("KEY", "VALUE"), item, strict=True)
    }
    return {"GIT_CONFIG_COUNT": str(len(settings)), **pairs}


def _limit(pid: int, memory: int, largest_file: int | None) -> None:
    if hasattr(resource, "prlimit"):  # Linux
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (memory, memory))
            if largest_file is not None:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest_file, largest_file))


async def _read(stream: asyncio.StreamReader | None, most: int) -> bytes:
    assert stream is not None
    data = bytearray()
    while chunk := await stream.read(1 << 18):
        data += chunk
        if len(data) > most:
            raise TooLarge(f"git printed more than {most:,} bytes: the change is too large to be looked into.")
    return bytes(data)


async def _read_ends(stream: asyncio.StreamReader | None) -> bytes:
    """The first and the last part of an output of any size."""
    assert stream is not None
    head, tail = bytearray(), b""
    while chunk := await stream.read(1 << 14):
        room = _LONGEST_END - len(head)
        head += chunk[:room]
        tail = (tail + chunk[room:])[-_LONGEST_END:] if len(chunk) > room else tail
    return bytes(head) + tail


async def _feed(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    assert stream is not None
    with suppress(BrokenPipeError, ConnectionResetError):  # its exit code says why
        stream.write(data)
        await stream.drain()
    stream.close()


async def _terminate(process: asyncio.subprocess.Process) -> None:
    """End the process and its group if they still run: first so that git removes its temporary files, then by force."""
    if process.returncode is not None:
        return
    _signal(process.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(1):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
