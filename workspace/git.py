"""Runs git so that nothing a repository contains can make it run something else, and reads changes out of objects."""

import asyncio
import os
import re
import resource
import shutil
import signal
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from domain.changes import Change, FileChange, FileVersions
from domain.errors import CodeAccessError, Recovery
from workspace.diff import (
    CLAIMS_GENERATED,
    DEFAULT,
    Attributes,
    Entry,
    Limits,
    Patch,
    Skipped,
    choose,
    pair,
    parse_patch,
    parse_raw,
    printable,
    rename_candidates,
    skipped_by_content,
    summarised,
    within_diff,
    within_sizes,
)

MEGABYTE = 1_000_000

# Given to every git process as configuration of the command, which wins over every file.
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
    "http.followRedirects": "false",  # a redirect could lead to an inner host, or carry the credential elsewhere
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "protocol.http.allow": "always",
    "protocol.https.allow": "always",
    "protocol.version": "2",
    "safe.directory": "*",  # what it protects from, a repository's own configuration, is neutralised here
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
# How to reach the remote is the operator's business; nothing else of Forge's own environment is passed on.
_NETWORK = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO")

_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "-O/dev/null", "--ignore-submodules=none")


class TooLarge(CodeAccessError):
    """git wrote more than it may; the same again would not help."""

    recovery = Recovery.stop


class Unrelated(CodeAccessError):
    """Head and base have no common ancestor; the same again would not help."""

    recovery = Recovery.stop


class Refusal(Exception):
    """What git printed when it failed, without credentials: the cause of a ``CodeAccessError``."""


def said(error: CodeAccessError) -> str:
    """What git printed when it failed."""
    return str(error.__cause__) if isinstance(error.__cause__, Refusal) else ""


@dataclass(frozen=True, slots=True)
class Output:
    """How a git command ended."""

    code: int
    stdout: bytes


class Git:
    """The git program, bound to one repository.

    :param repository: the git directory; commands that need none are given ``None``.
    :param program: path of the executable, found on PATH by default.
    :param hide: texts that may not appear in a message: credentials, and places on this machine.
    """

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
    ) -> Output:
        """Run one command to its end.

        :param expect: exit codes that are answers; any other raises ``CodeAccessError``.
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
                restore_signals=largest_file is None,  # Python ignores SIGXFSZ: git then sees an error and says it
            )
        except (FileNotFoundError, NotADirectoryError):
            raise CodeAccessError("The repository is no longer there.", "It is fetched anew the next time.") from None
        if largest_file is not None:
            _limit_file_size(process.pid, largest_file)
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
            await _end(process)
        if code not in expect:
            text = self._without_secrets(stderr)
            raise _failure(_verb(arguments), code, text) from Refusal(text)
        return Output(code, stdout)

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


def _failure(verb: str, code: int, text: str) -> CodeAccessError:
    if _OVER_FILE_SIZE.search(text):
        return TooLarge("What git was asked to bring is larger than Forge takes in.")
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
    """PATH without relative folders: the current folder may be anyone's."""
    return os.pathsep.join(part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part[:1] == "/")


def _network_names() -> Iterable[str]:
    return (*_NETWORK, *(name.lower() for name in _NETWORK if name.endswith("PROXY")))


def _as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Configuration as variables (git-config(1), GIT_CONFIG_COUNT): on no command line and on no disk."""
    numbered = enumerate(settings.items())
    pairs = {
        f"GIT_CONFIG_{part}_{i}": text
        for i, item in numbered
        for part, text in zip(("KEY", "VALUE"), item, strict=True)
    }
    return {"GIT_CONFIG_COUNT": str(len(settings)), **pairs}


def _limit_file_size(pid: int, most: int) -> None:
    if hasattr(resource, "prlimit"):  # Linux
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))


async def _read(stream: asyncio.StreamReader | None, most: int) -> bytes:
    assert stream is not None
    data = bytearray()
    while chunk := await stream.read(1 << 18):
        data += chunk
        if len(data) > most:
            raise TooLarge(f"git printed more than {most:,} bytes: the change is too large to be looked into.")
    return bytes(data)


async def _read_ends(stream: asyncio.StreamReader | None, most: int = 16_384) -> bytes:
    """The first and the last part of an output of any size."""
    assert stream is not None
    head, tail = bytearray(), b""
    while chunk := await stream.read(1 << 14):
        room = most - len(head)
        head += chunk[:room]
        tail = (tail + chunk[room:])[-most:] if len(chunk) > room else tail
    return bytes(head) + tail


async def _feed(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    assert stream is not None
    with suppress(BrokenPipeError, ConnectionResetError):  # its exit code says why
        stream.write(data)
        await stream.drain()
    stream.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process and its group if they still run: first so that git removes its temporary files, then for sure."""
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


# --- reading -----------------------------------------------------------------------------------------------


class Code(Protocol):
    """A repository that a change and its contents can be read from."""

    async def change(self, merge_base: str, head: str, limits: Limits = DEFAULT) -> Change:
        """What differs between two commits (or trees), with hunks as GitHub numbers them."""
        ...

    async def versions(self, files: Iterable[FileChange]) -> dict[str, FileVersions]:
        """The contents of changed text files on both sides, by path at head."""
        ...

    async def read(self, tree: str, paths: Sequence[str]) -> dict[str, bytes]:
        """Small files of a commit or tree by path, as far as they exist there."""
        ...


class Objects:
    """Reads a bare repository whose configuration is our own. Nothing is ever checked out."""

    absent = "its content is not in the repository (a partial clone)"

    def __init__(self, git: Git) -> None:
        self.git = git

    async def bring(self, blobs: Collection[str]) -> None:
        """Make missing blobs available, as far as that is possible. Here: not at all."""

    async def merge_base(self, base: str, head: str) -> str:
        """The best common ancestor. Without one GitHub shows no diff either, so that is an error."""
        found = await self.git.run("merge-base", "--end-of-options", base, head, expect=(0, 1))
        if found.code == 1:
            raise Unrelated(
                f"{head[:10]} and its base {base[:10]} have no common ancestor, so there is nothing to compare.",
                "Rebase the branch onto its base.",
            )
        return found.stdout.decode().strip()

    async def change(self, merge_base: str, head: str, limits: Limits = DEFAULT) -> Change:
        """What differs between two commits or trees.

        Blobs are brought twice at most, each time in one request: first what the names ask for and what
        git compares to find renames, then what only the attributes made necessary.
        """
        entries = await self._entries(merge_base, head, "-M100%")
        attribute_files = await self._attribute_files(merge_base, entries)
        candidates = rename_candidates(entries, limits)
        look, _ = choose(entries, Attributes(), limits)
        sizes = await self._sizes({*_blobs(look), *_blobs(candidates), *attribute_files.values()})
        attributes = await self._attributes(attribute_files, sizes)
        entries = await self._paired(merge_base, head, entries, candidates, sizes)

        look, skipped = choose(entries, attributes, limits)
        if unknown := {blob for blob in _blobs(look) if blob not in sizes}:
            sizes |= await self._sizes(unknown)
        look, too_large = within_sizes(look, sizes, limits, self.absent)
        look, unreadable = await self._readable(look, attributes)
        files, too_long = within_diff(look, await self._patches(look), limits)
        return Change(
            merge_base=merge_base,
            head_sha=head,
            files=tuple(files),
            not_looked_at=summarised([*skipped, *too_large, *unreadable, *too_long], limits),
            total_files=len(entries),
            additions=sum(file.additions for file in files),
            deletions=sum(file.deletions for file in files),
            paths=tuple(entry.name for entry in entries),
        )

    async def versions(self, files: Iterable[FileChange]) -> dict[str, FileVersions]:
        """Contents of both sides by path at head."""
        files = list(files)
        wanted = {blob for file in files for blob in (file.old_blob, file.new_blob) if blob}
        contents = await self.contents(wanted)
        if lost := wanted - contents.keys():
            await self.bring(lost)
            contents |= await self.contents(lost)
        if wanted - contents.keys():
            raise CodeAccessError("Some of the changed files could not be read from the repository.")
        return {
            file.path: FileVersions(
                base=contents[file.old_blob] if file.old_blob else None,
                head=contents[file.new_blob] if file.new_blob else None,
            )
            for file in files
        }

    async def read(self, tree: str, paths: Sequence[str]) -> dict[str, bytes]:
        """Small files of a commit or tree by path, as far as they exist there; no links, nothing over a megabyte."""
        named = await self._named(tree, [path.encode() for path in paths])
        sizes = await self._sizes(set(named.values()))
        contents = await self.contents({blob for blob in named.values() if sizes.get(blob, MEGABYTE) < MEGABYTE})
        return {path: contents[blob] for path, blob in named.items() if blob in contents}

    async def contents(self, blobs: Collection[str]) -> dict[str, bytes]:
        """The contents of those blobs that are here."""
        if not blobs:
            return {}
        output = (await self.git.run("cat-file", "--batch", stdin=_lines(blobs), most=256 * MEGABYTE)).stdout
        found: dict[str, bytes] = {}
        at = 0
        while at < len(output):
            end = output.index(b"\n", at)
            name, *described = output[at:end].decode().split(" ")
            at = end + 1
            if len(described) == 2:
                size = int(described[1])
                found[name] = output[at : at + size]
                at += size + 1
        return found

    async def sizes(self, objects: Collection[str]) -> dict[str, int]:
        """The sizes in bytes of those objects that are here."""
        if not objects:
            return {}
        listed = await self.git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=_lines(objects))
        pairs = (line.split(" ") for line in listed.stdout.decode().splitlines())
        return {name: int(size) for name, size in pairs if size != "missing"}

    async def _sizes(self, blobs: Collection[str]) -> dict[str, int]:
        """The sizes of blobs, after bringing those that are missing."""
        sizes = await self.sizes(blobs)
        if missing := set(blobs) - sizes.keys():
            await self.bring(missing)
            sizes |= await self.sizes(missing)
        return sizes

    async def _entries(self, old: str, new: str, *options: str, only: Sequence[bytes] = ()) -> list[Entry]:
        compared = await self.git.run(
            *("diff-tree", "-r", "-z", "--raw", "--no-abbrev", *_DIFF, *options),
            *("--end-of-options", old, new, "--", *only),
        )
        return parse_raw(compared.stdout)

    async def _attribute_files(self, tree: str, entries: Sequence[Entry]) -> dict[str, str]:
        """The ``.gitattributes`` of the tree that concern the entries: directory → blob."""
        paths = sorted(_attribute_paths(entries), key=lambda path: path.count(b"/"))
        named = await self._named(tree, _fitting(paths))
        return {path.removesuffix(".gitattributes"): blob for path, blob in named.items()}

    async def _named(self, tree: str, paths: Sequence[bytes]) -> dict[str, str]:
        """The regular files with these paths in a tree: path → blob."""
        listed = await self.git.run("ls-tree", "-z", "--full-tree", "--end-of-options", tree, "--", *paths)
        found: dict[str, str] = {}
        for line in listed.stdout.split(b"\0"):
            meta, _, path = line.partition(b"\t")
            if path and meta.startswith(b"100"):
                found[path.decode()] = meta.decode().split(" ")[2]
        return found

    async def _attributes(self, files: Mapping[str, str], sizes: Mapping[str, int]) -> Attributes:
        small = {directory: blob for directory, blob in files.items() if sizes.get(blob, MEGABYTE) < MEGABYTE}
        contents = await self.contents(set(small.values()))
        return Attributes({directory: contents[blob] for directory, blob in small.items()})

    async def _paired(
        self, old: str, new: str, entries: Sequence[Entry], candidates: Sequence[Entry], sizes: Mapping[str, int]
    ) -> list[Entry]:
        """The entries with renames that were edited too (git's and GitHub's default: half alike)."""
        here = [entry for entry in candidates if all(blob in sizes for blob in entry.blobs)]
        paths = [entry.path for entry in here]
        if len({entry.letter for entry in here}) < 2 or _fitting(paths) != paths:
            return list(entries)
        return pair(entries, await self._entries(old, new, "-M50%", "-l1000", only=paths))

    async def _readable(self, entries: Sequence[Entry], attributes: Attributes) -> tuple[list[Entry], list[Skipped]]:
        contents = await self.contents(set(_blobs(entries)))
        look: list[Entry] = []
        skipped: list[Skipped] = []
        for entry in entries:
            base, head = (contents[blob] if blob else None for blob in (entry.old_blob, entry.new_blob))
            if reason := skipped_by_content(entry, base, head, attributes):
                skipped.append(Skipped(entry.name, reason, matters=reason == CLAIMS_GENERATED and base is None))
            else:
                look.append(entry)
        return look, skipped

    async def _patches(self, entries: Sequence[Entry]) -> dict[int, Patch]:
        """The hunks of each entry, by its place.

        The blobs are compared under numbers instead of names, in two trees made for the purpose outside the
        repository: no name can confuse the output, no attribute applies, and renames are as they were decided.
        """
        if not entries:
            return {}
        assert self.git.repository is not None
        with tempfile.TemporaryDirectory(prefix="forge-") as objects:
            environment = {
                "GIT_OBJECT_DIRECTORY": objects,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.git.repository / "objects"),
            }
            sides = _tree([entry.old_blob for entry in entries]) + _tree([entry.new_blob for entry in entries])
            made = await self.git.run("mktree", "--batch", "--missing", stdin=sides, environment=environment)
            old, new = made.stdout.decode().split()
            patch = await self.git.run(
                *("diff-tree", "-p", "-U3", "--inter-hunk-context=0", "--diff-algorithm=default", "--indent-heuristic"),
                *("--no-renames", "--src-prefix=a/", "--dst-prefix=b/", *_DIFF, "--end-of-options", old, new),
                environment=environment,
                most=256 * MEGABYTE,
            )
        return parse_patch(patch.stdout)


def _tree(blobs: Iterable[str | None]) -> bytes:
    """Input for ``mktree --batch``: each blob under its number, and an empty line."""
    return b"".join(b"100644 blob %s\t%d\n" % (blob.encode(), i) for i, blob in enumerate(blobs) if blob) + b"\n"


def _blobs(entries: Iterable[Entry]) -> Iterable[str]:
    return (blob for entry in entries for blob in entry.blobs)


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _attribute_paths(entries: Iterable[Entry]) -> set[bytes]:
    found = {b".gitattributes"}
    for entry in entries:
        if printable(entry.path).encode() != entry.path:
            continue
        parts = entry.path.split(b"/")[:-1]
        found |= {b"/".join(parts[:depth]) + b"/.gitattributes" for depth in range(1, len(parts) + 1)}
    return found


def _fitting(paths: Sequence[bytes], most: int = MEGABYTE) -> list[bytes]:
    """As many paths as fit on a command line."""
    fitting: list[bytes] = []
    for path in paths:
        most -= len(path) + 9
        if most < 0:
            break
        fitting.append(path)
    return fitting
