"""Writes the files of a commit to a folder in which the repository's own commands run, in the sandbox.

    parent       belongs to Forge, so that no command can replace the folders in it
    ├── code     the files, without .git; Forge never runs git here, because a .git written by others can run code
    ├── results  what commands leave for Forge to read
    └── home     HOME and TMPDIR of the commands

Commands can change all three folders, and each command finds what the earlier ones left. The home begins empty, or with
a copy of what set-ups of the default branch downloaded.
"""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from domain.errors import ToolError
from workspace.dependency_cache import CacheEntry
from workspace.git import Git, TooLarge
from workspace.objects import Objects
from workspace.safe_copy import NotCopied, open_file, open_folder, remove_tree, temporary_folder
from workspace.sandbox.accounts import UnixAccount
from workspace.sandbox.processes import ProgramControl
from workspace.sandbox.registry_proxy import Address
from workspace.sandbox.sandbox import BUBBLEWRAP, LANDLOCK, Completed, Quota, Sandbox, SandboxCommand

_CODE, _RESULTS, _HOME = "code", "results", "home"
_MEGABYTE = 1 << 20
_MEMORY = 4096 * _MEGABYTE  # of all processes of a command together
_TOGETHER = 5_000  # blobs fetched in one request
_SECONDS = 300
# Overrides every attribute that makes git write anything else than what is committed.
_ATTRIBUTES = "* !text !eol !crlf !ident !filter !working-tree-encoding\n"
_SETTINGS = {"core.symlinks": "false", "core.fileMode": "true", "core.autocrlf": "false", "core.eol": "lf"}
# A shell inside finds the program: a search from outside could open a file of the host.
_INSIDE = ("/bin/sh", "-c", 'exec "$@"', "sh")
_AS_FILE = "Let the command leave it as a regular file."


@dataclass(frozen=True, slots=True)
class CheckoutBounds:
    """The limits of a commit that is checked out.

    :param files: files and folders.
    :param bytes: of all files together.
    :param depth: folders within each other.
    """

    files: int = 50_000
    bytes: int = 500 * _MEGABYTE
    depth: int = 50


BOUNDS = CheckoutBounds()
QUOTA = Quota(bytes=1_000_000_000, files=200_000)
"""The limits of a checkout, including everything that its commands leave there."""


class Checkout:
    """The files of one commit, in which the repository's own commands run.

    :param folder: the parent.
    :param quota: the limits of the files after a command, including those that were there before.
    """

    def __init__(self, folder: Path, sandbox: Sandbox, quota: Quota = QUOTA) -> None:
        self.level = sandbox.strongest().level
        self._folder = folder
        self._sandbox = sandbox
        self._quota = quota

    @property
    def code(self) -> Path:
        """The folder with the files of the commit, as Forge sees it."""
        return self._folder / _CODE

    @property
    def code_inside(self) -> Path:
        """Where programs see the files of the commit."""
        return self._inside(_CODE)

    @property
    def home(self) -> Path:
        """The home folder of the commands, as Forge sees it."""
        return self._folder / _HOME

    @property
    def home_inside(self) -> Path:
        """Where programs see their home folder."""
        return self._inside(_HOME)

    @property
    def account(self) -> UnixAccount | None:
        """The account that commands run under; None if it is Forge's own."""
        return self._sandbox.account

    @property
    def keeps_secrets(self) -> bool:
        """Whether nobody else on this machine can read the variables of a command."""
        return self.level == BUBBLEWRAP

    @property
    def owner(self) -> int:
        """The account (uid) that owns everything the commands make."""
        account = self._sandbox.account
        return os.geteuid() if account is None else account.uid

    @property
    def results_inside(self) -> Path:
        """Where programs see the folder for results."""
        return self._inside(_RESULTS)

    async def run(
        self,
        argv: Sequence[str],
        *,
        seconds: float,
        environment: Mapping[str, str] | None = None,
        reads: Sequence[Path] = (),
        proxy: Address | None = None,
        control: ProgramControl | None = None,
    ) -> Completed:
        """Run a command in the folder with the code, at the strongest sandbox level of this machine.

        :param argv: program and arguments; the program is looked up inside the sandbox.
        :param seconds: wall-clock limit.
        :param environment: further variables; secrets at level 3 only, see :attr:`keeps_secrets`.
        :param reads: folders of the host it may read and execute from.
        :param proxy: the only address it may reach; see :meth:`why_no_network`.
        :param control: pauses it while it runs.
        :raises ToolError: no level here contains untrusted code, or the sandbox could not be started.
        """
        if self.level < LANDLOCK:
            raise ToolError(
                "A repository's own commands run at sandbox level 2 or 3 only, and neither works here.",
                "Install bubblewrap (`apt-get install bubblewrap`) or use a kernel with Landlock; "
                "`forge doctor` shows which level works.",
            )
        if not argv:
            raise ToolError("There is no command to run.", "Name a program.")
        command = SandboxCommand(
            (*_INSIDE, *argv),
            self._folder,
            seconds=seconds,
            resident=_MEMORY,
            reads=tuple(reads),
            writable=(_CODE, _RESULTS, _HOME),
            quota=self._quota,
            start=_CODE,
            file_bytes=256 * _MEGABYTE,
            open_files=1024,
            environment={**(environment or {}), **self._environment()},
            proxy=proxy,
            control=control,
        )
        return await self._sandbox.run(command, self.level)

    def give_file(self, name: str, content: bytes) -> Path:
        """Put a file beside the three folders, where commands can read it and nothing else; its path as they see it.

        :param name: without any folder; another file of that name is replaced.
        :raises ToolError: it cannot be written.
        """
        path, account = self._folder / name, self._sandbox.account
        try:
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            if account is not None:
                os.chown(path, -1, account.gid)
            path.chmod(0o640)
        except OSError as error:
            message = f"The file {name} could not be written ({error.strerror})."
            raise ToolError(message, "Give Forge room on its disk.") from None
        return self._inside(name)

    async def install_cache(self, kept: CacheEntry) -> bool:
        """Put a copy of a cache entry in place of the home, before anything runs. Returns whether that was possible.

        The copy does not count against the quota.
        """
        account = self._sandbox.account
        fresh = self._folder / "given"
        try:
            fresh.mkdir(mode=0o700)
            given = await kept.copy_to(fresh, account)
            if account is not None:
                os.chown(fresh, account.uid, account.gid)
            fresh.rename(self.home)
        except (NotCopied, OSError):
            await asyncio.to_thread(remove_tree, fresh)
            return False
        self._quota = Quota(self._quota.bytes + given.bytes, self._quota.files + given.files)
        return True

    def why_no_network(self, proxy: Address | None) -> str:
        """Why a command cannot be given an address to reach, and what to do about it; empty if it can."""
        if proxy is None:
            return "It had no network: the operator of Forge gives the sandbox none (docs/security.md)."
        if self.level != BUBBLEWRAP:
            needs = "sandbox level 3 (install bubblewrap where Forge runs)"
            return f"It had no network: that needs {needs}, and this is level {self.level}."
        return ""

    async def result(self, name: str, most: int) -> bytes | None:
        """A file that a command left directly in the folder for results; None if there is none of that name.

        :param name: of the file, without any folder.
        :param most: its largest size in bytes.
        :raises ToolError: the file is larger, not a regular one, or cannot be read; or the name is invalid.
        """
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            raise ToolError(f"{name!r} is not the name of a file among the results.", "Use a name without folders.")
        return await asyncio.to_thread(_read, self._folder / _RESULTS, name, most)

    def may_have_result(self, name: str) -> bool:
        """Whether something of that name is directly in the folder for results, or nobody can say."""
        try:
            (self._folder / _RESULTS / name).lstat()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    async def remove_result(self, name: str) -> None:
        """Remove a file among the results, if a command left one of that name."""
        with suppress(OSError):  # whatever else it is stays, and cannot be read as a result
            await asyncio.to_thread((self._folder / _RESULTS / name).unlink)

    def _inside(self, name: str) -> Path:
        return self._sandbox.path_inside(self._folder, self.level) / name

    def _environment(self) -> dict[str, str]:
        home = str(self.home_inside)
        return {"CI": "true", "FORGE_RESULTS": str(self.results_inside), "HOME": home, "TMPDIR": home}


@asynccontextmanager
async def check_out(
    objects: Objects, commit: str, sandbox: Sandbox, *, bounds: CheckoutBounds = BOUNDS, quota: Quota = QUOTA
) -> AsyncGenerator[Checkout]:
    """Check out a commit into a temporary folder, which is removed at the end with all changes.

    Every file is written byte by byte as it is committed, a symbolic link as a file with its target, a submodule as an
    empty folder. No attribute takes effect, and nothing is run.

    :param commit: a commit or tree that the repository has; missing blobs are fetched.
    :raises CodeAccessError: it is too large, holds a path that cannot be written, or could not be fetched.
    """
    await _fetch_blobs(objects, commit, bounds)
    stack = ExitStack()
    try:
        folder = stack.enter_context(sandbox.folder())
        for name in (_CODE, _RESULTS, _HOME):
            (folder / name).mkdir(mode=0o700)
        await write_files(objects.git, commit, folder / _CODE)
        if sandbox.account is not None:
            await asyncio.to_thread(_give_to_account, folder, sandbox.account)
        yield Checkout(folder, sandbox, quota)
    finally:
        await asyncio.to_thread(stack.close)


async def _fetch_blobs(objects: Objects, commit: str, bounds: CheckoutBounds) -> None:
    """Fetch all blobs of a commit, if they are within the bounds.

    :raises CodeAccessError: they are not, or some are not available.
    """
    listed = await objects.git.run("ls-tree", "-r", "-t", "-z", "--full-tree", "--end-of-options", commit)
    lines = listed.stdout.split(b"\0")[:-1]
    if len(lines) > bounds.files:
        raise _too_large(f"more than {bounds.files:,} files and folders")
    if any(line.count(b"/") > bounds.depth for line in lines):
        raise _too_large(f"more than {bounds.depth} folders within each other")
    described = (line.partition(b"\t")[0].decode().split(" ") for line in lines)
    blobs = [name for _, kind, name in described if kind == "blob"]
    wanted = sorted(set(blobs))
    sizes: dict[str, int] = {}
    for start in range(0, len(wanted), _TOGETHER):
        sizes |= await objects.available(wanted[start : start + _TOGETHER])
        if sum(sizes.get(blob, 0) for blob in blobs) > bounds.bytes:
            raise _too_large(f"more than {bounds.bytes:,} bytes")
    if missing := len(wanted) - len(sizes):
        raise TooLarge(
            f"{missing:,} of the files of {commit[:10]} cannot be written: for each, {objects.absent}.",
            "Let the repository's own tests run elsewhere.",
        )


def _too_large(what: str) -> TooLarge:
    return TooLarge(
        f"The commit holds {what}, which is more than Forge checks out.",
        "Let the repository's own tests run elsewhere.",
    )


async def write_files(git: Git, commit: str, folder: Path, only: Collection[str] | None = None) -> None:
    """Write files of a commit, whose blobs the repository has, to an empty folder, as :func:`check_out` says.

    git does this from a repository of our own that borrows the objects; there our attributes override the commit's.

    :param only: the paths of files in the commit; all by default.
    :raises CodeAccessError: the commit holds a path that cannot be written.
    """
    with temporary_folder("index") as own:
        ours = await make_repository(own, git, [str(folder)], "sha256" if len(commit) == 64 else "sha1")
        (own / "info" / "attributes").write_text(_ATTRIBUTES)
        places = {"GIT_OBJECT_DIRECTORY": f"{git.repository}/objects", "GIT_WORK_TREE": str(folder)}
        which = ("--all",) if only is None else ("-z", "--stdin")
        named = "".join(f"{path}\0" for path in only or ()).encode("utf-8", "surrogateescape")
        for command in (("read-tree", "--end-of-options", commit), ("checkout-index", *which, "--quiet")):
            stdin = named if command[0] == "checkout-index" else b""
            await ours.run(*command, stdin=stdin, cwd=folder, environment=places, settings=_SETTINGS, seconds=_SECONDS)


async def make_repository(folder: Path, git: Git, hide: Sequence[str], shape: str = "sha1") -> Git:
    """An empty repository of our own in an empty folder.

    :param git: the program, and a place that messages do not tell.
    :param hide: further ones.
    :param shape: of the names of objects.
    :raises CodeAccessError: git cannot make it.
    """
    made = Git(folder, program=git.program, hide=[*hide, str(git.repository)])
    await made.run("init", "--quiet", "--bare", "--template=", "--initial-branch=none", f"--object-format={shape}")
    (folder / "info").mkdir(exist_ok=True)
    return made


def _give_to_account(parent: Path, account: UnixAccount) -> None:
    """Give everything below a folder to an account; nobody else has changed anything there yet."""
    for folder, folders, files in os.walk(parent):
        for name in (*folders, *files):
            os.chown(Path(folder, name), account.uid, account.gid, follow_symlinks=False)


def _read(folder: Path, name: str, most: int) -> bytes | None:
    """Reads a regular file from a folder in which untrusted code may have left anything."""
    with ExitStack() as stack:
        try:
            within = stack.enter_context(open_folder(folder))
            opened = stack.enter_context(open_file(name, within))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ToolError(f"The result {name} could not be read ({error.strerror}).", _AS_FILE) from None
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise ToolError(f"The result {name} is not a regular file.", _AS_FILE)
        with os.fdopen(os.dup(opened), "rb") as file:
            content = file.read(most + 1)
    if len(content) > most:
        raise ToolError(f"The result {name} has more than {most:,} bytes.", "Let the command write a smaller one.")
    return content
